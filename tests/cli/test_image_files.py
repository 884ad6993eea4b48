"""Pictures from files."""

import numpy as np
import pytest
import torch
from PIL import Image

from unbraid.cli.encode import picture_paths, read_pictures
from unbraid.datasets.pictures import fitted
from unbraid.datasets.user.from_arrays import unlabeled
from unbraid.errors import DataError

GRAY, COLOR = (1, 4, 6), (3, 4, 6)


def test_a_gray_picture_is_read_to_the_byte(tmp_path):
    pixels = np.arange(24, dtype=np.uint8).reshape(4, 6) * 10
    Image.fromarray(pixels).save(tmp_path / "a.png")
    np.testing.assert_array_equal(read_pictures([tmp_path / "a.png"], GRAY).pixels[0, 0], pixels)
    np.testing.assert_array_equal(read_pictures([tmp_path / "a.png"], COLOR).pixels[0], np.stack([pixels] * 3))


def test_a_color_picture_is_read_to_the_byte(tmp_path):
    pixels = np.arange(72, dtype=np.uint8).reshape(4, 6, 3)
    Image.fromarray(pixels).save(tmp_path / "a.png")
    np.testing.assert_array_equal(read_pictures([tmp_path / "a.png"], COLOR).pixels[0], np.moveaxis(pixels, 2, 0))


def test_black_and_white_is_0_and_255(tmp_path):
    Image.fromarray(np.eye(4, 6, dtype=bool)).save(tmp_path / "a.png")
    np.testing.assert_array_equal(read_pictures([tmp_path / "a.png"], GRAY).pixels[0, 0], np.eye(4, 6) * 255)


def test_what_one_can_see_through_lies_on_black(tmp_path):
    pixels = np.full((4, 6, 4), 200, dtype=np.uint8)
    pixels[0, :, 3] = 0
    pixels[1:, :, 3] = 255
    Image.fromarray(pixels).save(tmp_path / "a.png")
    read = read_pictures([tmp_path / "a.png"], GRAY).pixels[0, 0]
    assert read[0].max() == 0
    assert read[1:].min() == 200


def test_sixteen_bits_are_scaled_not_cut(tmp_path):
    pixels = np.full((4, 6), 257 * 100, dtype=np.uint16)
    Image.fromarray(pixels).save(tmp_path / "a.png")
    assert read_pictures([tmp_path / "a.png"], GRAY).pixels.unique().tolist() == [100]


def test_a_photograph_is_turned_upright(tmp_path):
    exif = Image.Exif()
    exif[0x0112] = 6  # the camera was held sideways
    Image.fromarray(np.zeros((6, 4), dtype=np.uint8)).save(tmp_path / "a.jpg", exif=exif)
    assert read_pictures([tmp_path / "a.jpg"], GRAY).image_shape == GRAY


def test_the_pictures_of_a_folder_come_by_name(tmp_path):
    for name in ("b.png", "a.JPG", "c.jpeg", "notes.txt"):
        (tmp_path / name).touch()
    assert [path.name for path in picture_paths([tmp_path])] == ["a.JPG", "b.png", "c.jpeg"]


def test_a_picture_of_another_size_is_refused(tmp_path):
    Image.fromarray(np.zeros((6, 4), dtype=np.uint8)).save(tmp_path / "a.png")
    with pytest.raises(DataError, match="6 x 4"):
        read_pictures([tmp_path / "a.png"], GRAY)


def test_a_picture_of_another_size_is_not_decoded(tmp_path, monkeypatch):
    monkeypatch.setattr("unbraid.datasets.pictures.decode", lambda *_: pytest.fail("was decoded"))
    Image.new("L", (2000, 2000)).save(tmp_path / "large.png")
    with pytest.raises(DataError, match="2000 x 2000"):
        read_pictures([tmp_path / "large.png"], (1, 4, 5))


def test_a_picture_that_is_cut_short_is_refused(tmp_path):
    Image.fromarray(np.random.default_rng(0).integers(0, 255, (4, 6), dtype=np.uint8)).save(tmp_path / "a.png")
    (tmp_path / "a.png").write_bytes((tmp_path / "a.png").read_bytes()[:50])
    with pytest.raises(DataError, match="readable picture"):
        read_pictures([tmp_path / "a.png"], GRAY)


def test_arrays_are_turned_gray_as_pictures_are(tmp_path):
    pixels = np.random.default_rng(0).integers(0, 256, (4, 6, 3), dtype=np.uint8)
    Image.fromarray(pixels).save(tmp_path / "a.png")
    from_array = fitted(unlabeled(pixels[None]), GRAY, "a.npz")
    from_picture = read_pictures([tmp_path / "a.png"], GRAY).pixels
    # pillow rounds in fixed point
    assert (from_array.int() - from_picture.int()).abs().max() <= 1


def test_gray_arrays_are_repeated_for_a_run_on_color():
    pixels = torch.arange(24, dtype=torch.uint8).reshape(1, 4, 6)
    torch.testing.assert_close(fitted(unlabeled(pixels), COLOR, "a.npz"), pixels[:, None].expand(1, 3, 4, 6))
