import logging
import os

import numpy as np
import pytest
import torch
from PIL import Image

from tests.datasets.user.picture_folders import COLOR, GENERATOR, GRAY, put, read, with_labels
from unbraid.config import from_json, to_json
from unbraid.datasets import Factor, FromFolder
from unbraid.datasets.dataset import FactorDataset
from unbraid.datasets.user import folder_survey
from unbraid.errors import DataError, SpecError

# ---- images


def test_pictures_come_back_by_name_without_labels(pictures):
    dataset = FromFolder(str(pictures))
    assert (dataset.num_images, dataset.image_shape, dataset.factors) == (6, (1, 5, 7), ())
    images = dataset.load()
    np.testing.assert_array_equal(images.pixels[:, 0], GRAY)
    assert images.values.shape == (6, 0)
    # Once more, now that they are converted.
    assert (dataset.num_images, dataset.image_shape, dataset.factors) == (6, (1, 5, 7), ())


@pytest.mark.parametrize("suffix", [".png", ".bmp", ".tif", ".PNG", ".gif", ".ppm", ".webp", ".tga", ".jpg"])
def test_whatever_pillow_reads_is_a_picture(tmp_path, suffix):
    put(tmp_path / "pictures", COLOR, suffix)
    expected = [read(path).convert("RGB") for path in sorted((tmp_path / "pictures").iterdir())]
    images = FromFolder(str(tmp_path / "pictures")).load()
    np.testing.assert_array_equal(images.pixels, np.moveaxis(expected, 3, 1))
    if suffix not in (".gif", ".webp", ".jpg"):  # which lose something
        np.testing.assert_array_equal(expected, COLOR)


def test_one_picture_in_color_makes_all_of_them_so(pictures):
    put(pictures, COLOR[:1], names=["color.png"])
    images = FromFolder(str(pictures)).load()
    assert images.image_shape == (3, 5, 7)
    np.testing.assert_array_equal(images.pixels[:6], np.repeat(GRAY[:, None], 3, axis=1))
    np.testing.assert_array_equal(images.pixels[6], np.moveaxis(COLOR[0], 2, 0))


def test_channels_overrule_what_the_pictures_have(tmp_path):
    put(tmp_path / "pictures", COLOR)
    images = FromFolder(str(tmp_path / "pictures"), channels=1).load()
    np.testing.assert_array_equal(
        images.pixels[:, 0], [np.asarray(Image.fromarray(image).convert("L")) for image in COLOR]
    )
    put(tmp_path / "gray", GRAY)
    assert FromFolder(str(tmp_path / "gray"), channels=3).load().image_shape == (3, 5, 7)


@pytest.mark.parametrize("sizes", [[(8, 12)], [(8, 12), (16, 9), (8, 8)]])
def test_with_a_resolution_the_central_square_is_resized(tmp_path, sizes):
    shapes = [sizes[k % len(sizes)] for k in range(5)]
    given = [GENERATOR.integers(0, 256, shape, dtype=np.uint8) for shape in shapes]
    put(tmp_path / "pictures", given)
    dataset = FromFolder(str(tmp_path / "pictures"), resolution=4)
    assert dataset.image_shape == (1, 4, 4)
    images = dataset.load()
    for image, (height, width), pixels in zip(given, shapes, images.pixels, strict=True):
        side = min(height, width)
        top, left = (height - side) // 2, (width - side) // 2
        square = Image.fromarray(image[top : top + side, left : left + side])
        np.testing.assert_array_equal(pixels[0], np.asarray(square.resize((4, 4), Image.Resampling.BILINEAR)))


def test_sizes_that_differ_are_refused_with_examples(pictures):
    put(pictures, [np.zeros((9, 9), np.uint8)], names=["odd.png"])
    with pytest.raises(
        DataError,
        match="5 x 7",
    ):
        FromFolder(str(pictures)).open()


def test_folders_inside_are_taken_in_or_not(tmp_path):
    put(tmp_path / "pictures", GRAY, names=["b.png", "a/z.png", "a/b/c.png", "c.png", "a.png", "d/1.png"])
    names = ["a.png", "a/b/c.png", "a/z.png", "b.png", "c.png", "d/1.png"]
    images = FromFolder(str(tmp_path / "pictures")).load()
    order = [4, 2, 1, 0, 3, 5]
    np.testing.assert_array_equal(images.pixels[:, 0], GRAY[order])
    assert sorted(names) == names
    flat = FromFolder(str(tmp_path / "pictures"), recursive=False).load()
    np.testing.assert_array_equal(flat.pixels[:, 0], GRAY[[4, 0, 3]])


def test_what_is_hidden_or_no_picture_is_passed_over_and_counted(pictures, caplog):
    (pictures / "readme.txt").write_text("hello")
    (pictures / "arrays.h5").write_text("hello")
    (pictures / "program.eps").write_text("%!PS")
    (pictures / ".hidden.png").write_text("hello")
    put(pictures / ".thumbnails", GRAY)
    with caplog.at_level(logging.INFO):
        assert FromFolder(str(pictures)).num_images == 6
    assert "6 pictures; 3" in caplog.text


def test_links_to_pictures_are_followed_and_links_to_folders_are_not(tmp_path, pictures):
    put(tmp_path / "elsewhere", GRAY[:1], names=["far.png"])
    (pictures / "link.png").symlink_to(tmp_path / "elsewhere" / "far.png")
    (pictures / "linked").symlink_to(tmp_path / "elsewhere", target_is_directory=True)
    (pictures / "circle").symlink_to(pictures, target_is_directory=True)
    assert FromFolder(str(pictures)).num_images == 7


def test_many_pictures_are_decoded_by_several_threads_to_the_same_bytes(tmp_path, monkeypatch):
    monkeypatch.setattr("unbraid.datasets.pictures._PICTURES_PER_BLOCK", 4)
    monkeypatch.setattr("unbraid.datasets.pictures._PICTURES_PER_JOB", 1)
    monkeypatch.setattr("unbraid.datasets.pictures.usable_cores", lambda: 2)
    put(tmp_path / "pictures", COLOR)
    np.testing.assert_array_equal(FromFolder(str(tmp_path / "pictures")).load().pixels, np.moveaxis(COLOR, 3, 1))


# ---- factors


def test_a_file_of_labels_gives_the_factors(pictures):
    csv = with_labels(
        pictures, [3, 7, 7, -1, 3, 3], ["red", "blue", "red", "red", "blue", "green"], header="file,age,color"
    )
    dataset = FromFolder(str(pictures), csv)
    assert dataset.factors == (Factor("age", 3), Factor("color", 3, ordered=False))
    images = dataset.load()
    assert images.values.tolist() == [[1, 2], [2, 0], [2, 2], [0, 2], [1, 0], [1, 1]]
    assert images.values.dtype == torch.int64
    assert dataset.words == {"color": ("blue", "green", "red")}
    assert dataset.factors == images.factor_table


def test_discrete_and_continuous_factors_stand_beside_each_other(pictures):
    csv = with_labels(pictures, [5, 6, 5, 6, 5, 6], [0.5, 1, 2, 3, 4, 5], header="file,size,depth")
    dataset = FromFolder(str(pictures), csv)
    assert dataset.factors == (Factor("size", 2), Factor("depth", 0))
    images = dataset.load()
    assert images.values.dtype == torch.float64
    assert images.values[:3].tolist() == [[0.0, 0.5], [1.0, 1.0], [0.0, 2.0]]


def test_labels_find_their_pictures_by_name(pictures, caplog):
    csv = pictures.parent / "labels.csv"
    csv.write_text("size,file\n1,004.png\n2,001.png\n3,gone.png\n")
    os.utime(csv, (1e9, 1e9))  # what was just written is looked through again
    dataset = FromFolder(str(pictures), str(csv))
    assert dataset.num_images == 2
    images = dataset.load()
    np.testing.assert_array_equal(images.pixels[:, 0], GRAY[[1, 4]])
    assert images.values.tolist() == [[1], [0]]
    assert caplog.text.count("4 of 6 pictures have no row") == 1
    assert caplog.text.count("1 of 3 rows") == 1


def test_labels_of_other_pictures_are_refused(pictures):
    csv = pictures.parent / "labels.csv"
    csv.write_text("file,size\npictures/000.png,1\n")
    with pytest.raises(DataError, match=r"picture .*'pictures/000\.png'"):
        FromFolder(str(pictures), str(csv)).pinned()


def test_an_empty_label_is_missing(pictures):
    dataset = FromFolder(str(pictures), with_labels(pictures, [5, 7, "", 5, "nan", 9], header="file,size"))
    assert dataset.factors == (Factor("size", 3),)
    assert dataset.load().values[:, 0].tolist() == [0, 1, -1, 0, -1, 2]
    with pytest.raises(DataError, match="'size'"):
        FromFolder(str(pictures), with_labels(pictures, [""] * 6, header="file,size")).pinned()


def test_a_file_of_labels_that_begins_with_a_picture_is_refused(pictures):
    csv = with_labels(pictures, [1, 2, 2, 1, 2, 3], header="file,size")
    text = (pictures.parent / "labels.csv").read_text()
    (pictures.parent / "labels.csv").write_text(text.partition("\n")[2])
    with pytest.raises(
        DataError,
        match=r"labels\.csv",
    ):
        FromFolder(str(pictures), csv).pinned()


def test_a_missing_file_of_labels_is_named(pictures):
    with pytest.raises(DataError, match=r"gone\.csv cannot"):
        FromFolder(str(pictures), str(pictures / "gone.csv")).pinned()


# ---- refusals


def test_pictures_that_are_none_are_refused_by_name(pictures):
    for number in range(5):
        (pictures / f"bad{number}.png").write_bytes(b"not a picture")
    with pytest.raises(
        DataError,
        match=(r"bad0\.png, bad1\.png, bad2\.png"),
    ):
        FromFolder(str(pictures)).open()


def test_pictures_that_are_cut_short_are_refused_by_name_all_at_once(tmp_path):
    pictures = put(tmp_path / "pictures", np.repeat(np.repeat(GRAY, 20, axis=1), 20, axis=2), ".jpg")
    for name in ("001.jpg", "004.jpg"):
        content = (pictures / name).read_bytes()
        (pictures / name).write_bytes(content[: len(content) // 2 + 5])
    dataset = FromFolder(str(pictures))
    with pytest.raises(DataError, match=r"read: 001\.jpg, 004\.jpg\."):
        dataset.load()


def test_a_folder_without_pictures_is_refused(tmp_path):
    (tmp_path / "notes.txt").write_text("hello")
    with pytest.raises(DataError, match="1"):
        FromFolder(str(tmp_path)).pinned()


def test_a_folder_that_may_not_be_read_is_refused(tmp_path, monkeypatch):
    def refuse(path):
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(os, "scandir", refuse)
    with pytest.raises(DataError, match="Permission denied"):
        FromFolder(str(tmp_path)).pinned()


@pytest.mark.parametrize(
    ("fields", "match"),
    [
        ({"path": ""}, "path is ''"),
        ({"path": "a", "csv": ""}, "csv is ''"),
        ({"path": "a", "sha256": "ABC"}, "64 lower-case"),
        ({"path": "a", "resolution": 0}, "resolution is 0"),
        ({"path": "a", "channels": 2}, "channels is 2"),
    ],
)
def test_a_config_that_cannot_be_right_is_refused_when_it_is_made(fields, match):
    with pytest.raises(SpecError, match=match):
        FromFolder(**fields)


def test_construction_reads_no_picture(pictures, monkeypatch):
    def refuse(*_args, **_named):
        raise AssertionError("a folder was read")

    with monkeypatch.context() as patch:
        patch.setattr(folder_survey, "listing", refuse)
        config = FromFolder(str(pictures))
    assert config.num_images == 6


def test_its_json_names_the_pictures_by_their_checksum(pictures):
    config = FromFolder(str(pictures))
    written = from_json(to_json(config), FactorDataset)
    assert len(written.sha256) == 64
    (pictures / "000.png").unlink()
    with pytest.raises(DataError, match="has SHA-256"):
        written.open()
    with pytest.raises(DataError, match="has SHA-256"):
        config.open()
    assert FromFolder(str(pictures)).num_images == 5
