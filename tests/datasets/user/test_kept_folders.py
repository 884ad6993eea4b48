"""Folders of pictures as configs: what they remember, what is kept of them, and what happens when they change."""

import dataclasses
import json
import os
import shutil
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

from tests.datasets.user.picture_folders import GRAY, put, read, with_labels
from tests.told import told_to
from unbraid._internal import files
from unbraid.datasets import Factor, FromFolder, image_store, pictures
from unbraid.datasets.user import folder_survey
from unbraid.errors import DataError

# ---- config, change, cache


def test_a_config_survives_json_and_names_what_the_folder_held(pictures):
    dataset = FromFolder(str(pictures))
    again = FromFolder(**json.loads(json.dumps(dataclasses.asdict(dataset.pinned()))))
    assert again == dataset.pinned() == FromFolder(str(pictures)).pinned()
    assert len(again.sha256) == 64
    torch.testing.assert_close(again.load().pixels, dataset.load().pixels)


def test_a_config_finds_its_folder_from_every_other(pictures, monkeypatch):
    csv = with_labels(pictures, range(6), header="file,size")
    monkeypatch.chdir(pictures.parent)
    assert FromFolder("pictures", "labels.csv") == FromFolder(str(pictures), csv)


def same_size(path):
    """Written again with other pixels in as many bytes."""
    before = path.stat().st_size
    Image.fromarray(255 - np.asarray(read(path))).save(path)
    os.utime(path, (2e9, 2e9))
    assert path.stat().st_size == before


CHANGES = {
    "added": lambda folder: put(folder, GRAY[:1], names=["new.bmp"]),
    "removed": lambda folder: (folder / "000.bmp").unlink(),
    "renamed": lambda folder: (folder / "000.bmp").rename(folder / "009.bmp"),
    "edited": lambda folder: same_size(folder / "003.bmp"),
    "labels": lambda folder: (folder / "labels.csv").write_text(
        (folder / "labels.csv").read_text().replace("003.bmp,3", "003.bmp,4")
    ),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_a_folder_that_has_changed_is_another_dataset(tmp_path, change):
    folder = put(tmp_path / "pictures", GRAY, ".bmp")
    (folder / "labels.csv").write_text(
        "file,size\n" + "".join(f"{k:03}.bmp,{k}\n" for k in range(6)) + "new.bmp,2\n009.bmp,0\n"
    )
    before = FromFolder(str(folder), str(folder / "labels.csv"))
    before.load()
    checksum = before.pinned().sha256
    change(folder)
    with pytest.raises(DataError, match=f"expected {checksum}"):
        before.load()
    after = FromFolder(str(folder), str(folder / "labels.csv"))
    assert after.pinned() != before.pinned()
    assert len(after.load()) == after.num_images


def test_a_folder_that_was_only_copied_is_not_another(pictures, tmp_path):
    before = FromFolder(str(pictures)).pinned()
    shutil.copytree(pictures, tmp_path / "copy", copy_function=shutil.copyfile)
    copy = FromFolder(str(tmp_path / "copy")).pinned()
    assert copy.sha256 == before.sha256
    before.load()
    for path in pictures.iterdir():
        os.utime(path)
    np.testing.assert_array_equal(before.load().pixels[:, 0], GRAY)
    # The same pictures are converted once.
    assert copy.store == before.store


def test_a_folder_is_looked_through_once(pictures, monkeypatch):
    dataset = FromFolder(str(pictures)).pinned()
    monkeypatch.setattr(folder_survey, "_new_survey", lambda *_: pytest.fail("looked through again"))
    assert FromFolder(str(pictures)).pinned() == dataset
    assert len(dataset.load()) == 6


def test_a_folder_that_was_just_written_is_looked_through_again(pictures, monkeypatch):
    os.utime(pictures / "003.png")
    dataset, looked = FromFolder(str(pictures)).pinned(), []
    look_through = folder_survey._new_survey
    monkeypatch.setattr(folder_survey, "_new_survey", lambda *given: (looked.append(given), look_through(*given))[1])
    assert FromFolder(str(pictures)).pinned() == dataset
    assert len(looked) == 1


def test_the_config_describes_the_images_without_a_look_at_the_folder(pictures, monkeypatch):
    csv = with_labels(pictures, range(6), header="file,size")
    dataset = FromFolder(str(pictures), csv).pinned()
    monkeypatch.setattr(folder_survey, "listing", lambda *_: pytest.fail("listed"))
    assert (dataset.num_images, dataset.image_shape, dataset.factors) == (6, (1, 5, 7), (Factor("size", 6),))


def test_once_converted_the_folder_is_no_longer_needed(pictures):
    dataset = FromFolder(str(pictures))
    dataset.load()
    shutil.rmtree(pictures)
    again = FromFolder(**dataclasses.asdict(dataset.pinned()))
    np.testing.assert_array_equal(again.load().pixels[:, 0], GRAY)
    assert (again.num_images, again.image_shape) == (6, (1, 5, 7))


def test_a_folder_that_is_gone_before_it_is_converted_is_named(pictures):
    dataset = FromFolder(str(pictures))
    shutil.rmtree(pictures)
    with pytest.raises(DataError, match="folder .*pictures"):
        dataset.load()


def test_a_config_may_be_made_before_its_folder(tmp_path):
    dataset = FromFolder(str(tmp_path / "later"))
    assert dataset.sha256 == ""
    with pytest.raises(DataError, match="folder .*later"):
        _ = dataset.num_images
    put(tmp_path / "later", GRAY)
    assert (dataset.num_images, dataset.image_shape, dataset.factors) == (6, (1, 5, 7), ())
    np.testing.assert_array_equal(dataset.load().pixels[:, 0], GRAY)


def test_a_damaged_store_is_made_again(pictures):
    dataset = FromFolder(str(pictures))
    dataset.load()
    (dataset.store.folder / "images.npy").write_bytes(b"damaged")
    np.testing.assert_array_equal(dataset.load().pixels[:, 0], GRAY)


def test_an_interrupted_conversion_goes_on_where_it_stopped(tmp_path, monkeypatch):
    monkeypatch.setattr(image_store, "_SECONDS_BETWEEN_SAVES", -1.0)
    monkeypatch.setattr(pictures, "_PICTURES_PER_BLOCK", 2)
    put(tmp_path / "pictures", [*GRAY, np.zeros((9, 9), np.uint8)])
    dataset = FromFolder(str(tmp_path / "pictures"), resolution=5)
    dataset.pinned()
    decoded, framed = [], pictures.framed

    def interrupted(content, name, framing):
        if Path(name).name == "004.png":
            raise KeyboardInterrupt
        decoded.append(Path(name).name)
        return framed(content, name, framing)

    monkeypatch.setattr(pictures, "framed", interrupted)
    with pytest.raises(KeyboardInterrupt):
        dataset.open()
    assert decoded == ["000.png", "001.png", "002.png", "003.png"]
    monkeypatch.setattr(pictures, "framed", lambda *given: (decoded.append(Path(given[1]).name), framed(*given))[1])
    again = dataset.open()
    assert decoded[4:] == ["004.png", "005.png", "006.png"]
    np.testing.assert_array_equal(again.pixels[:6, 0], GRAY[:, :, 1:6])


def test_whoever_watches_sees_how_far_it_is(pictures):
    seen = []
    with told_to(seen):
        FromFolder(str(pictures)).load()
    assert ("surveying pictures", 6, 6, "pictures") in seen
    assert seen[-1] == ("converting pictures", 6, 6, "images")


def test_a_picture_that_changes_while_it_is_read_is_refused(pictures, monkeypatch):
    dataset = FromFolder(str(pictures))
    dataset.pinned()
    labeled = folder_survey.labeled
    monkeypatch.setattr(folder_survey, "labeled", lambda *given: (labeled(*given), os.utime(pictures / "002.png"))[0])
    with pytest.raises(DataError, match="during the conversion"):
        dataset.load()
    assert dataset.store.record is None


def test_a_cache_that_cannot_be_written_says_how_to_choose_another(pictures, cache):
    cache.write_text("in the way")
    dataset = FromFolder(str(pictures))
    with pytest.raises(DataError, match="UNBRAID_CACHE"):
        dataset.load()


@pytest.mark.parametrize("content", [b"", b"[]", b"{}", b"not json", b'{"format": 1, "shapes": 3}'])
def test_a_damaged_memory_is_forgotten(pictures, cache, content):
    dataset = FromFolder(str(pictures)).pinned()
    (memory,) = (cache / "known").iterdir()
    files.write_bytes(memory, content)
    assert FromFolder(str(pictures)).pinned() == dataset
