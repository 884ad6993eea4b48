import errno
import logging
import os
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import ClassVar, final

import numpy as np
import pytest
import torch

from unbraid._internal import files
from unbraid.datasets import image_store
from unbraid.datasets.dataset import Factor
from unbraid.datasets.fetching.verification import Publication, PublishedFile
from unbraid.datasets.image_store import ImageStore, Plan
from unbraid.datasets.published.converted import ConvertedDataset
from unbraid.errors import DataError, SpecError

CONTENT = bytes(range(48))


@final
@dataclass(frozen=True)
class Dots(ConvertedDataset):
    """Two-by-two images, one after another in a file."""

    publication: ClassVar = Publication(
        "Dots",
        "https://example.org/dots",
        "CC0",
        (PublishedFile("dots.bin", "https://example.org/dots.bin"),),
        ("dots", "Dots/raw"),
    )
    conversions: ClassVar[list[Path]] = []

    brightness: int = 1

    @property
    def factors(self):
        return (Factor("number", 12),)

    @property
    def published_num_images(self):
        return 12

    @property
    def image_shape(self):
        return (1, 2, 2)

    def sources(self, folder):
        return (folder / "dots.bin",) if (folder / "dots.bin").is_file() else None

    def plan(self, sources):
        self.conversions.append(sources[0])
        images = np.frombuffer(sources[0].read_bytes(), dtype=np.uint8).reshape(-1, 1, 2, 2) * np.uint8(self.brightness)
        return Plan((1, 2, 2), self.factors, np.arange(len(images))[:, None], lambda start: iter([images[start:]]))


@pytest.fixture(autouse=True)
def none_converted():
    Dots.conversions.clear()


@pytest.fixture
def folder(tmp_path):
    path = tmp_path / "data"
    path.mkdir()
    (path / "dots.bin").write_bytes(CONTENT)
    return path


def test_files_are_converted_once_and_then_opened(folder):
    for _ in range(2):
        images = Dots(root=str(folder)).open()
        assert images.pixels.flatten().tolist() == list(CONTENT)
        assert images.values[:, 0].tolist() == list(range(12))
    assert Dots.conversions == [folder / "dots.bin"]


def test_loading_puts_all_of_it_on_the_device(folder):
    images = Dots(root=str(folder)).load("meta")
    assert {images.pixels.device.type, images.factors[0].values.device.type, images.device.type} == {"meta"}


def test_streamed_pixels_stay_where_they_are(folder):
    images = Dots(root=str(folder)).open()
    streamed = images.streamed_to("cpu")
    assert streamed.is_streamed
    assert streamed.pixels is images.pixels
    assert not streamed.to("cpu").is_streamed
    torch.testing.assert_close(streamed.batch(torch.tensor([[3, 1]])), images.pixels[torch.tensor([[3, 1]])] / 255)


def test_once_converted_the_files_are_not_needed(folder):
    dataset = Dots(root=str(folder))
    dataset.load()
    (folder / "dots.bin").unlink()
    assert len(dataset.load()) == 12


def test_each_choice_of_fields_has_its_own_images(folder):
    plain, bright = Dots(root=str(folder)), Dots(root=str(folder), brightness=2)
    assert bright.open().pixels.flatten().tolist() == [2 * value for value in CONTENT]
    assert plain.open().pixels.flatten().tolist() == list(CONTENT)


def test_a_file_that_has_changed_is_refused_until_that_is_said_to_be_meant(folder, cache):
    dataset = Dots(root=str(folder))
    assert len(dataset.open()) == dataset.num_images == 12
    (folder / "dots.bin").write_bytes(CONTENT[:40])
    with pytest.raises(DataError, match="recorded"):
        dataset.open()
    for record in (cache / "files" / "seen").iterdir():
        record.unlink()
    assert len(dataset.open()) == dataset.num_images == 10
    assert len(Dots.conversions) == 2


def test_files_that_were_only_copied_are_not(folder):
    dataset = Dots(root=str(folder))
    dataset.open()
    os.utime(folder / "dots.bin", ns=(1, 1))
    dataset.open()
    assert len(Dots.conversions) == 1
    assert dataset.store.facts["sources"][0]["stamp"][1] == 1


def test_before_it_is_converted_the_numbers_are_the_published_ones(folder):
    (folder / "dots.bin").write_bytes(CONTENT[:40])
    dataset = Dots(root=str(folder))
    assert (dataset.num_images, dataset.is_converted) == (12, False)
    dataset.open()
    assert (dataset.num_images, dataset.is_converted) == (10, True)


def test_an_interrupted_conversion_goes_on_where_it_stopped(folder, monkeypatch):
    """Though no checksum is published, and the second time the file is compared with the one recorded the first
    time.
    """
    monkeypatch.setattr(image_store, "_SECONDS_BETWEEN_SAVES", -1.0)
    starts = []

    def blocks(start, *, breaks):
        starts.append(start)
        images = np.frombuffer(CONTENT, dtype=np.uint8).reshape(-1, 1, 2, 2)
        yield images[start:5]
        if breaks:
            raise KeyboardInterrupt
        yield images[5:]

    def plan(breaks):
        return lambda self, sources: Plan(
            (1, 2, 2), self.factors, np.arange(12)[:, None], partial(blocks, breaks=breaks)
        )

    monkeypatch.setattr(Dots, "plan", plan(breaks=True))
    with pytest.raises(KeyboardInterrupt):
        Dots(root=str(folder)).open()
    monkeypatch.setattr(Dots, "plan", plan(breaks=False))
    assert Dots(root=str(folder)).open().pixels.flatten().tolist() == list(CONTENT)
    assert starts == [0, 5]


def test_a_damaged_cache_is_made_again(folder):
    dataset = Dots(root=str(folder))
    dataset.open()
    (dataset.store.folder / "images.npy").write_bytes(b"junk")
    assert dataset.open().pixels.flatten().tolist() == list(CONTENT)


def test_a_damaged_record_is_made_again(folder):
    dataset = Dots(root=str(folder))
    dataset.open()
    rename_the_factor(dataset.store)
    assert dataset.open().factor_table == (Factor("number", 12),)
    assert len(Dots.conversions) == 2


def rename_the_factor(store):
    path = store.folder / "record.json"
    path.write_text(path.read_text().replace('"number"', '"lumber"'))


@pytest.mark.parametrize(
    ("damage", "flaw"),
    [
        (lambda store: (store.folder / "images.npy").write_bytes(b"junk"), "images.npy has 4 bytes"),
        (rename_the_factor, "record.json is damaged"),
    ],
)
def test_a_damaged_cache_without_the_files_says_what_to_do(folder, damage, flaw):
    dataset = Dots(root=str(folder))
    dataset.open()
    damage(dataset.store)
    (folder / "dots.bin").unlink()
    with pytest.raises(DataError, match=rf"dots\.bin.*cannot be used: {flaw}"):
        dataset.open()


def test_places_are_searched_in_order(tmp_path, monkeypatch, cache):
    def put(path, first):
        path.mkdir(parents=True, exist_ok=True)
        (path / "dots.bin").write_bytes(bytes([first]) + CONTENT[1:])

    fetched = cache / "files" / "dots"
    put(fetched, 100)
    monkeypatch.delenv("UNBRAID_DATA", raising=False)
    assert Dots().find() == (fetched / "dots.bin",)
    monkeypatch.setenv("UNBRAID_DATA", str(tmp_path / "env"))
    assert Dots().find() == (fetched / "dots.bin",)
    for place in ("", "Dots/raw", "dots"):
        put(tmp_path / "env" / place, 101)
        assert Dots().find() == (tmp_path / "env" / place / "dots.bin",)
    assert Dots(root=str(tmp_path / "own")).find() is None  # a folder that is named is the only one looked at
    put(tmp_path / "own", 102)
    assert Dots(root=str(tmp_path / "own")).open().pixels[0, 0, 0, 0] == 102


def test_what_is_missing_is_named_with_the_ways_to_get_it(tmp_path, monkeypatch, cache):
    monkeypatch.delenv("UNBRAID_DATA", raising=False)
    with pytest.raises(DataError) as error:
        Dots().load()
    for part in (
        "dots.bin",
        str(cache / "files" / "dots"),
        "unbraid datasets fetch dots",
        "CC0",
        "Dots(root=...)",
        "UNBRAID_DATA",
    ):
        assert part in str(error.value)


def test_where_there_is_no_download_the_owners_way_is_told(monkeypatch, tmp_path):
    closed = replace(
        Dots.publication,
        files=(PublishedFile("dots.bin", None),),
        how_to_get="Ask the owner at example.org for dots.bin.",
    )
    monkeypatch.setattr(Dots, "publication", closed)
    with pytest.raises(DataError, match="example.org for dots.bin"):
        Dots(root=str(tmp_path)).load()


def test_a_file_that_is_not_the_published_one_is_refused_before_it_is_parsed(folder, monkeypatch):
    published = replace(
        Dots.publication,
        files=(PublishedFile("dots.bin", None, checksum=f"sha256:{'0' * 64}", checksum_source="its author"),),
    )
    monkeypatch.setattr(Dots, "publication", published)
    with pytest.raises(DataError, match=r"dots\.bin"):
        Dots(root=str(folder)).load()
    assert Dots.conversions == []


@pytest.mark.parametrize(
    "change", [lambda path: path.write_bytes(CONTENT), lambda path: path.rename(path.parent / "x")]
)
def test_a_file_that_changes_between_its_checksum_and_its_end_never_becomes_a_dataset(folder, monkeypatch, change):
    plan = Dots.plan

    def changed(self, sources):
        change(sources[0])
        sources[0].touch()
        return plan(self, sources)

    monkeypatch.setattr(Dots, "plan", changed)
    dataset = Dots(root=str(folder))
    with pytest.raises(DataError, match=r"dots\.bin"):
        dataset.open()
    assert not dataset.is_converted
    monkeypatch.setattr(Dots, "plan", plan)
    (folder / "dots.bin").write_bytes(CONTENT)
    assert dataset.open().pixels.flatten().tolist() == list(CONTENT)


def test_the_log_says_how_a_file_was_verified(folder, monkeypatch, caplog):
    checksum = f"sha256:{files.sha256(folder / 'dots.bin')}"
    published = replace(
        Dots.publication, files=(PublishedFile("dots.bin", None, checksum=checksum, checksum_source="its author"),)
    )
    monkeypatch.setattr(Dots, "publication", published)
    with caplog.at_level(logging.INFO):
        Dots(root=str(folder)).load()
    assert "its author" in caplog.text


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EROFS, errno.EACCES])
def test_a_cache_that_cannot_be_written_is_told_with_the_way_out(folder, monkeypatch, number):
    def refuse(*_, **__):
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(ImageStore, "make", refuse)
    with pytest.raises(DataError, match="UNBRAID_CACHE"):
        Dots(root=str(folder)).load()


def test_a_finished_cache_is_opened_where_nothing_can_be_written(folder, monkeypatch):
    dataset = Dots(root=str(folder))
    dataset.open()

    def refuse(*_):
        raise OSError(errno.EROFS, "Read-only file system")

    monkeypatch.setattr(files, "atomic_writer", refuse)
    monkeypatch.setattr(files, "locked", refuse)
    assert len(dataset.load()) == 12


def test_an_empty_root_is_refused():
    with pytest.raises(SpecError, match="root is ''"):
        Dots(root="")
