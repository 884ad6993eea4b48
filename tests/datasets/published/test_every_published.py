"""What is asked of every dataset that is read from published files."""

from typing import Literal, get_origin, get_type_hints

import pytest

from tests.discovery import concrete_subclasses
from unbraid._internal.names import kebab_case
from unbraid.datasets.published.converted import ConvertedDataset
from unbraid.errors import DataError, SpecError

EVERY = concrete_subclasses(ConvertedDataset)
every = pytest.mark.parametrize("cls", EVERY, ids=lambda cls: cls.__name__)


@every
@pytest.mark.usefixtures("no_data_folder")
def test_missing_files_are_named_with_the_ways_to_get_and_to_name_them(cls, cache):
    with pytest.raises(DataError) as error:
        cls().load()
    message, publication = str(error.value), cls.publication
    place = str(cache / "files" / publication.subfolders[0])
    for part in (*(file.name for file in cls().needed_files), place, f"{cls.__name__}(root=...)", "--dataset.root"):
        assert part in message
    has_url = any(file.url for file in cls().needed_files)
    assert (f"unbraid datasets fetch {kebab_case(cls)}" if has_url else publication.how_to_get) in message
    assert not has_url or publication.license in message


@every
def test_a_folder_is_found_from_every_other(cls, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert cls(root="data") == cls(root=str(tmp_path / "data"))
    assert cls().root is None
    with pytest.raises(SpecError, match="root is ''"):
        cls(root="")


@pytest.mark.parametrize(
    ("cls", "field"),
    [(cls, name) for cls in EVERY for name, hint in get_type_hints(cls).items() if get_origin(hint) is Literal],
    ids=lambda value: getattr(value, "__name__", value),
)
def test_a_choice_that_does_not_exist_is_refused(cls, field):
    # With types checked, as in these tests, the signature speaks first.
    with pytest.raises((SpecError, TypeError), match=field):
        cls(**{field: "no such choice"})


@every
def test_before_they_are_converted_the_images_are_described_as_published(cls):
    dataset = cls()
    assert not dataset.is_converted
    assert dataset.num_images == dataset.published_num_images > 1000
    channels, height, width = dataset.image_shape
    assert channels in (1, 3)
    assert height == width in (28, 64)
    assert all(factor.size > 1 for factor in dataset.factors)


@every
def test_a_file_under_a_published_name_is_refused_before_it_is_parsed(cls, tmp_path, monkeypatch):
    """Unless its owner publishes no checksum."""
    for file in cls().needed_files:
        (tmp_path / file.name).write_bytes(b"something else")
    monkeypatch.setattr(cls, "plan", lambda *_: (_ for _ in ()).throw(DataError("was parsed")))
    has_checksum = all(file.checksum for file in cls().needed_files)
    match = r"expected .* as published" if has_checksum else "was parsed"
    with pytest.raises(DataError, match=match):
        cls(root=str(tmp_path)).load()
    assert not cls(root=str(tmp_path)).is_converted
