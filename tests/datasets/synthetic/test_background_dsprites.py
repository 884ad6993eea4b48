import dataclasses

import numpy as np
import pytest
import torch
from PIL import Image

from unbraid._internal import draws
from unbraid.datasets import BackgroundDSprites
from unbraid.datasets.synthetic import dsprites_variants
from unbraid.datasets.synthetic.dsprites_variants import random_bytes, texture
from unbraid.errors import DataError, SpecError

GRID = {"resolution": 16, "num_scales": 2, "num_orientations": 3, "num_positions": 4}
GRADIENT = np.stack(np.broadcast_arrays(np.arange(60)[:, None] * 4, np.arange(80) * 3, 50), axis=2).astype(np.uint8)


@pytest.fixture
def picture(tmp_path):
    Image.fromarray(GRADIENT).save(tmp_path / "picture.png")
    return tmp_path / "picture.png"


def expected_image(picture, mask, row, seed=0):
    """One image, pixel by pixel."""
    _, height, width = picture.shape
    side = mask.shape[-1]
    u = draws.uniform(torch.tensor([seed]), "background-dsprites/place", row, (2,))[0]
    top, left = int(u[0] * (height - side + 1)), int(u[1] * (width - side + 1))
    color = random_bytes(seed, "background-dsprites/colour", torch.tensor([row]), 3)[0]
    image = torch.empty(3, side, side, dtype=torch.uint8)
    for channel in range(3):
        for y in range(side):
            for x in range(side):
                tinted = (int(picture[channel, top + y, left + x]) + int(color[channel]) + 1) // 2
                image[channel, y, x] = 255 - tinted if mask[y, x] else tinted
    return image


def test_a_patch_is_tinted_and_the_sprite_inverts_it(picture):
    for dataset in (BackgroundDSprites(**GRID, seed=3), BackgroundDSprites(**GRID, seed=3, background=str(picture))):
        pixels, masks = dataset.load().pixels, dataset.sprites.load().pixels
        for row in (0, 100, 287):
            torch.testing.assert_close(
                pixels[torch.tensor(row)], expected_image(dataset.picture(), masks[torch.tensor(row)][0], row, seed=3)
            )


def test_every_place_where_a_patch_fits_is_used(picture):
    dataset = BackgroundDSprites(
        resolution=58, num_scales=1, num_orientations=9, num_positions=8, background=str(picture)
    )
    patches = dataset._patches(torch.from_numpy(dataset.picture()), torch.arange(500), 58, 58)
    tops = {int(patch[0, 0, 0]) // 4 for patch in patches}
    lefts = {int(patch[1, 0, 0]) // 3 for patch in patches}
    assert tops == set(range(3))
    assert lefts == set(range(23))


def test_by_default_the_picture_is_a_texture_made_here():
    picture = BackgroundDSprites().picture()
    assert picture.shape == (3, 274, 350)
    assert (picture != BackgroundDSprites(seed=1).picture()).mean() > 0.9


@pytest.mark.parametrize(
    ("size", "expected"), [((700, 500), (3, 250, 350)), ((350, 600), (3, 274, 160)), ((100, 90), (3, 90, 100))]
)
def test_a_large_picture_is_shrunk_and_a_small_one_kept(tmp_path, size, expected):
    Image.new("RGB", size, (10, 200, 30)).save(tmp_path / "picture.jpg")
    picture = BackgroundDSprites(background=str(tmp_path / "picture.jpg")).picture()
    assert picture.shape == expected
    assert np.abs(picture.mean(axis=(1, 2)) - [10, 200, 30]).max() < 3


@pytest.mark.parametrize("mode", ["L", "RGBA", "P", "1"])
def test_pictures_of_every_kind_are_in_color(tmp_path, mode):
    Image.fromarray(GRADIENT).convert(mode).save(tmp_path / "picture.png")
    assert BackgroundDSprites(**GRID, background=str(tmp_path / "picture.png")).load().pixels.shape == (288, 3, 16, 16)


def test_a_picture_without_room_for_a_patch_is_refused(picture):
    with pytest.raises(DataError, match="60 x 80"):
        BackgroundDSprites(num_scales=1, num_orientations=1, background=str(picture)).load()


def test_a_picture_that_has_changed_is_refused(picture):
    dataset = BackgroundDSprites(**GRID, background=str(picture))
    assert len(dataset.background_sha256) == 64
    Image.fromarray(255 - GRADIENT).save(picture)
    with pytest.raises(DataError, match=r"picture\.png has SHA-256"):
        dataset.load()
    assert BackgroundDSprites(**GRID, background=str(picture)) != dataset


def test_what_is_no_picture_is_refused_by_name(tmp_path):
    (tmp_path / "picture.png").write_bytes(b"not a picture")
    with pytest.raises(DataError, match=r"picture\.png"):
        BackgroundDSprites(**GRID, background=str(tmp_path / "picture.png")).load()
    with pytest.raises(DataError, match=r"absent\.png cannot"):
        BackgroundDSprites(**GRID, background=str(tmp_path / "absent.png")).load()


def test_a_picture_is_found_from_every_folder(picture, monkeypatch):
    monkeypatch.chdir(picture.parent)
    assert BackgroundDSprites(background="picture.png") == BackgroundDSprites(background=str(picture))
    # A config that was written down is read where the picture is not.
    dataset = BackgroundDSprites(background="picture.png")
    picture.unlink()
    assert dataclasses.replace(dataset) == dataset


def test_names_that_make_no_sense_are_refused():
    with pytest.raises(SpecError, match="background is ''"):
        BackgroundDSprites(background="")
    with pytest.raises(SpecError, match="without background"):
        BackgroundDSprites(background_sha256="0" * 64)


def test_the_picture_moves_with_the_bits(picture):
    pixels = BackgroundDSprites(**GRID).open().pixels
    assert pixels.to("meta").picture.device.type == "meta"
    assert pixels.nbytes == 288 * 16 * 8 + 3 * dsprites_variants._MAX_HEIGHT * dsprites_variants._MAX_WIDTH


def test_every_channel_runs_from_black_to_white():
    image = texture(0, "somewhere", 100, 130, (32, 16, 8))
    assert image.shape == (3, 100, 130)
    assert image.min(axis=(1, 2)).tolist() == [0, 0, 0]
    assert image.max(axis=(1, 2)).tolist() == [255, 255, 255]


def test_it_is_the_formula_of_its_docstring():
    image = texture(4, "somewhere", 12, 9, (8, 4))
    corners = {
        c: random_bytes(4, f"somewhere/{c}", torch.arange(12 // c + 2), 3 * (-(-9 // c) + 1))
        .reshape(-1, 3, -(-9 // c) + 1)
        .double()
        for c in (8, 4)
    }

    def smooth(t):
        return 3 * t**2 - 2 * t**3

    def value(channel, y, x):
        total = 0.0
        for c, bytes_ in corners.items():
            (i, s), (j, t) = divmod(y, c), divmod(x, c)
            s, t = smooth(s / c), smooth(t / c)
            upper = bytes_[i, channel, j] * (1 - t) + bytes_[i, channel, j + 1] * t
            lower = bytes_[i + 1, channel, j] * (1 - t) + bytes_[i + 1, channel, j + 1] * t
            total += c * float(upper * (1 - s) + lower * s)
        return total

    expected = np.array([[[value(channel, y, x) for x in range(9)] for y in range(12)] for channel in range(3)])
    low, high = expected.min(axis=(1, 2), keepdims=True), expected.max(axis=(1, 2), keepdims=True)
    # The texture rounds down, and this is float64 around it.
    assert np.abs(image - np.floor((expected - low) * 255 / (high - low) + 1e-6)).max() == 0


def test_it_is_smooth():
    image = texture(0, "somewhere", 274, 350, (64, 32, 16, 8)).astype(int)
    steps = np.abs(np.diff(image, axis=1)), np.abs(np.diff(image, axis=2))
    assert max(step.max() for step in steps) < 32


def test_seeds_and_streams_give_others():
    images = [texture(seed, stream, 64, 64, (16,)) for seed, stream in ((0, "a"), (1, "a"), (0, "b"))]
    assert (images[0] != images[1]).mean() > 0.9
    assert (images[0] != images[2]).mean() > 0.9
    np.testing.assert_array_equal(images[0], texture(0, "a", 64, 64, (16,)))
