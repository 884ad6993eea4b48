import torch

from unbraid.datasets import NoisyDSprites

SMALL = NoisyDSprites(resolution=16, num_scales=2, num_orientations=3, num_positions=4)


def test_sprites_are_white_and_all_else_is_noise():
    images, masks = SMALL.load().pixels[:], SMALL.sprites.load().pixels[:].expand(-1, 3, -1, -1)
    assert (images[masks > 0] == 255).all()
    noise = images[masks == 0].double()
    # Uniform on 0..255: mean 127.5, deviation 73.9.
    assert abs(noise.mean() - 127.5) < 5 * 73.9 / len(noise) ** 0.5
    assert abs(noise.std() - 73.9) < 0.5
    assert (noise.min(), noise.max()) == (0, 255)


def test_channels_pixels_and_images_have_noise_of_their_own():
    images = SMALL.load().pixels[:].double()
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
