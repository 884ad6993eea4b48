import numpy as np
import pytest
import torch

from unbraid._internal import draws
from unbraid.datasets import BackgroundDSprites, ColorDSprites, NoisyDSprites
from unbraid.datasets.synthetic.dsprites_variants import random_bytes
from unbraid.errors import SpecError

GRID = {"resolution": 16, "num_scales": 2, "num_orientations": 3, "num_positions": 4}
VARIANTS = [ColorDSprites, NoisyDSprites, BackgroundDSprites]
every_variant = pytest.mark.parametrize("variant", VARIANTS, ids=lambda cls: cls.__name__)


@every_variant
def test_it_has_the_factors_of_dsprites_and_three_channels(variant):
    dataset = variant(**GRID)
    images, plain = dataset.load(), dataset.sprites.load()
    assert (
        images.pixels.shape == images.pixels[:].shape == (288, 3, 16, 16) == (dataset.num_images, *dataset.image_shape)
    )
    torch.testing.assert_close(images.values, plain.values)
    assert images.factor_table == plain.factor_table


@every_variant
def test_an_image_is_the_same_in_every_batch(variant):
    pixels = variant(**GRID).open().pixels
    every = pixels[:]
    torch.testing.assert_close(
        pixels[torch.tensor([[7, 200, 7], [-1, 0, 287]])], every[torch.tensor([[7, 200, 7], [287, 0, 287]])]
    )
    torch.testing.assert_close(pixels[torch.tensor(7)], every[7])
    torch.testing.assert_close(pixels[5:20:3], every[5:20:3])
    torch.testing.assert_close(pixels[torch.tensor([3, 4], dtype=torch.int32)], every[3:5])
    assert pixels[torch.empty(0, dtype=torch.int64)].shape == (0, 3, 16, 16)
    with pytest.raises(IndexError):
        pixels[torch.tensor([288])]


@every_variant
def test_rows_may_be_a_number_or_a_list(variant):
    pixels = variant(**GRID).open().pixels
    every = pixels[:]
    assert torch.equal(pixels[3], every[3])
    assert torch.equal(pixels[-1], every[-1])
    assert torch.equal(pixels[[0, 5]], every[[0, 5]])
    with pytest.raises(IndexError):
        pixels[288]


@every_variant
def test_what_is_random_comes_from_the_seed_and_nothing_else(variant):
    first, again, other = (variant(**GRID, seed=seed).open().pixels[:] for seed in (0, 0, 1))
    torch.testing.assert_close(first, again)
    assert (first != other).flatten(1).any(dim=1).float().mean() > 0.99


@every_variant
def test_a_smaller_grid_shows_the_same_colors_for_the_same_row(variant):
    # The number of the image is what counts, not the sprite on it.
    squares = variant(**{**GRID, "shapes": ("square",)}).open().pixels[:]
    hearts = variant(**{**GRID, "shapes": ("heart",)}).open().pixels[:]
    both = ~(
        variant(**{**GRID, "shapes": ("square",)}).sprites.load().pixels[:]
        ^ variant(**{**GRID, "shapes": ("heart",)}).sprites.load().pixels[:]
    )
    torch.testing.assert_close(squares & both, hearts & both)


@every_variant
def test_it_keeps_bits_and_not_bytes(variant):
    images = variant(**GRID).open()
    assert images.pixels.nbytes < 288 * 16 * 8 + 300_000
    assert (images.streamed_to("cpu").bytes_of(torch.arange(3)) == images.pixels[:3]).all()


@every_variant
def test_images_come_out_on_the_device_that_holds_the_bits(variant):
    # "meta" is a device without memory, and at hand everywhere.
    pixels = variant(**GRID).open().pixels.to("meta")
    assert (pixels.device.type, pixels[:5].device.type, pixels[:5].shape, pixels[:5].dtype) == (
        "meta",
        "meta",
        (5, 3, 16, 16),
        torch.uint8,
    )


@every_variant
@pytest.mark.parametrize("seed", [-1, 2**63, True, 1.0])
def test_a_seed_is_a_whole_number(variant, seed):
    # With types checked, as in these tests, the signature may speak first.
    with pytest.raises((SpecError, TypeError)):
        variant(seed=seed)


@every_variant
def test_the_grid_is_checked_as_that_of_dsprites_is(variant, tmp_path, monkeypatch):
    with pytest.raises(SpecError, match=r"resolution is 7"):
        variant(resolution=7)
    with pytest.raises(SpecError, match="num_scales"):
        variant(num_scales=3, root="anywhere")
    monkeypatch.chdir(tmp_path)
    assert variant(root="data").root == variant(root=str(tmp_path / "data")).root == str(tmp_path / "data")


def test_random_bytes_are_the_bytes_of_hashed_words():
    rows = torch.tensor([5, 6, 7**12])
    found = random_bytes(3, "somewhere", rows, 11)
    for row, octets in zip(rows, found, strict=True):
        words = draws.bits(torch.tensor([3]), "somewhere", int(row), (2,))[0].tolist()
        assert octets.tolist() == list(b"".join(word.to_bytes(8, "little", signed=True) for word in words)[:11])


def test_random_bytes_are_uniform_and_independent():
    octets = random_bytes(0, "anywhere", torch.arange(4096), 64).numpy()
    counts = np.bincount(octets.ravel(), minlength=256)
    # Chi-square with 255 degrees of freedom: mean 255, deviation 22.6.
    assert abs(((counts - 1024) ** 2 / 1024).sum() - 255) < 5 * 22.6
    correlations = np.corrcoef(octets.astype(float), rowvar=False) - np.eye(64)
    assert np.abs(correlations).max() < 5 / 64


COLORED = ColorDSprites(resolution=16, num_scales=2, num_orientations=3, num_positions=4)


def test_each_sprite_has_one_color_on_black():
    images, masks = COLORED.load().pixels[:], COLORED.sprites.load().pixels[:]
    assert not images[(masks == 0).expand_as(images)].any()
    for image, mask in zip(images, masks, strict=True):
        colors = image[:, mask[0] > 0]
        if colors.numel():
            assert (colors == colors[:, :1]).all()


def test_colors_run_from_half_to_full_and_each_is_as_likely():
    dataset = ColorDSprites(num_scales=1, num_orientations=4, shapes=("square",))
    masks = dataset.sprites.load().pixels[:]
    colors = (dataset.load().pixels[:] * (masks > 0)).amax(dim=(2, 3))
    assert (colors.min(), colors.max()) == (128, 255)
    # Of 4096 images the mean of a channel is off by 37 / 64 at one deviation.
    torch.testing.assert_close(
        colors.double().mean(dim=0), torch.full((3,), 191.5, dtype=torch.float64), atol=5 * 37 / 64, rtol=0
    )
    assert (torch.corrcoef(colors.T.double()) - torch.eye(3)).abs().max() < 5 / 64


def test_an_image_can_be_told_by_anyone_who_knows_the_formula():
    word = int(draws.bits(torch.tensor([0]), "colour-dsprites", 100, (1,))[0])
    expected = [128 + (octet >> 1) for octet in word.to_bytes(8, "little", signed=True)[:3]]
    image = ColorDSprites(num_orientations=2, num_positions=8).open().pixels[torch.tensor(100)]
    assert image.amax(dim=(1, 2)).tolist() == expected


NOISY = NoisyDSprites(resolution=16, num_scales=2, num_orientations=3, num_positions=4)


def test_sprites_are_white_and_all_else_is_noise():
    images, masks = NOISY.load().pixels[:], NOISY.sprites.load().pixels[:].expand(-1, 3, -1, -1)
    assert (images[masks > 0] == 255).all()
    noise = images[masks == 0].double()
    # Uniform on 0..255: mean 127.5, deviation 73.9.
    assert abs(noise.mean() - 127.5) < 5 * 73.9 / len(noise) ** 0.5
    assert abs(noise.std() - 73.9) < 0.5
    assert (noise.min(), noise.max()) == (0, 255)


def test_channels_pixels_and_images_have_noise_of_their_own():
    images = NOISY.load().pixels[:].double()
    corner = images[:, :, 0, :2].flatten(1)
    assert (torch.corrcoef(corner.T) - torch.eye(6)).abs().max() < 5 / 288**0.5


def test_odd_sizes_are_filled_too():
    pixels = (
        NoisyDSprites(resolution=9, shapes=("square",), num_scales=1, num_orientations=1, num_positions=2)
        .load()
        .pixels[:]
    )
    assert pixels.shape == (4, 3, 9, 9)
    assert pixels[:, :, -1].double().std() > 40
