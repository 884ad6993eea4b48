import numpy as np
import torch

from unbraid.datasets.drawing.painted_sprites import random_bytes
from unbraid.datasets.drawing.texture import texture


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
