import os

import numpy as np
import pytest
from PIL import Image

from tests.datasets.mutants import flips
from unbraid.datasets import file_stamps
from unbraid.datasets.dataset import Factor
from unbraid.datasets.user import folder_survey
from unbraid.datasets.user.folder_survey import PictureFolder
from unbraid.errors import DataError

PIXELS = np.arange(20, dtype=np.uint8).reshape(4, 5)


@pytest.fixture
def place(tmp_path):
    """Three pictures, written long ago, and labels for two of them."""
    folder = tmp_path / "pictures"
    (folder / "inside").mkdir(parents=True)
    for name in ("b.png", "a.png", "inside/c.bmp"):
        Image.fromarray(PIXELS).save(folder / name)
    (tmp_path / "labels.csv").write_text("file,size\nb.png,4\ninside/c.bmp,2\n")
    for path in (*folder.rglob("*.*"), tmp_path / "labels.csv"):
        os.utime(path, (1e9, 1e9))
    return PictureFolder(folder, tmp_path / "labels.csv", recursive=True)


def test_pictures_are_listed_by_name_with_their_stamps(place):
    listed = folder_survey.listing(place)
    assert [member.name for member in listed.members()] == ["a.png", "b.png", "inside/c.bmp"]
    assert listed.stamps == {name: file_stamps.stamp(place.folder / name) for name in listed.stamps}
    assert {stamp[1] for stamp in listed.stamps.values()} == {10**18}
    assert listed.is_settled


@pytest.mark.parametrize("touched", ["pictures/a.png", "labels.csv"])
def test_the_stamp_changes_when_something_is_written(place, touched):
    before = folder_survey.listing(place)
    assert folder_survey.listing(place) == before
    os.utime(place.folder.parent / touched)
    after = folder_survey.listing(place)
    assert after.stamp != before.stamp
    assert not after.is_settled


def test_pictures_with_labels_are_used(place):
    used = folder_survey.labeled(place, folder_survey.listing(place))
    assert [member.name for member in used.members] == ["b.png", "inside/c.bmp"]
    assert used.table.values.tolist() == [[1], [0]]
    assert used.table.factors == (Factor("size", 2),)


def test_a_survey_is_remembered_as_it_was(place):
    found = folder_survey.survey(place)
    assert (found.num_images, found.factor_table) == (2, (Factor("size", 2),))
    assert found.shapes.counts == (((1, 4, 5), 2, "b.png"),)
    assert folder_survey.remembered(place) == found
    assert folder_survey.remembered(PictureFolder(place.folder, None, recursive=True)) is None


def test_no_flipped_bit_of_what_is_remembered_is_believed(place, cache):
    found = folder_survey.survey(place)
    (memory,) = (cache / "known").iterdir()
    for flipped in flips(memory.read_bytes()):
        memory.write_bytes(flipped)
        assert folder_survey.remembered(place) in (None, found)


def test_the_checksum_is_of_names_contents_and_labels_that_are_used(place):
    before = folder_survey.survey(place).sha256
    Image.fromarray(255 - PIXELS).save(place.folder / "a.png")  # has no label
    assert folder_survey.survey(place).sha256 == before
    Image.fromarray(255 - PIXELS).save(place.folder / "b.png")
    changed = folder_survey.survey(place).sha256
    assert changed != before
    place.csv.write_text("file,size\nb.png,4\ninside/c.bmp,3\n")
    assert folder_survey.survey(place).sha256 not in (before, changed)


def test_pictures_that_were_written_since_they_were_listed_are_refused(place):
    listed = folder_survey.listing(place)
    assert len(list(listed.contents(listed.members()))) == 3
    os.utime(place.folder / "b.png")
    with pytest.raises(DataError, match=r"b\.png"):
        list(listed.contents(listed.members()))
    (place.folder / "b.png").unlink()
    with pytest.raises(DataError, match=r"b\.png cannot"):
        list(listed.contents(listed.members()))


def test_labels_whose_name_no_file_can_have_are_refused(place):
    with pytest.raises(DataError, match=r"read \(embedded null"):
        folder_survey.listing(PictureFolder(place.folder, place.folder / "a\0b.csv", recursive=True))
