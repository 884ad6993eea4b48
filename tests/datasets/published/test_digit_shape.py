"""Thickness, width and slant of drawn strokes, whose measures are known."""

import numpy as np
import pytest

from unbraid.datasets.published.mnist import digit_shape


def bar(width, height, slant=0.0):
    """A bar in the middle of an image, each row moved by the slant: to the right at the top."""
    image = np.zeros((28, 28), np.uint8)
    top = (28 - height) // 2
    for row in range(height):
        left = round(14 - width / 2 + slant * (height / 2 - row))
        image[top + row, left : left + width] = 255
    return image


@pytest.mark.parametrize("width", [2, 3, 4, 6])
def test_the_thickness_and_the_width_of_a_straight_bar_are_its_width(width):
    thickness, measured, slant = digit_shape(bar(width, 20)[None])[0]
    assert thickness == pytest.approx(width, rel=0.06)  # its corners are rounded
    assert measured == pytest.approx(width, abs=1e-9)
    assert slant == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize("lean", [-0.5, 0.25, 0.5])
def test_the_slant_of_a_leaning_bar_is_its_slope(lean):
    thickness, width, slant = digit_shape(bar(3, 20, lean)[None])[0]
    assert slant == pytest.approx(lean, abs=0.05)
    assert width == pytest.approx(3, abs=0.3)  # rows are moved by whole pixels
    assert thickness == pytest.approx(3 / np.hypot(1, lean), abs=0.5)


def test_a_ring_is_as_thick_as_its_stroke_and_as_wide_as_it_looks():
    y, x = np.mgrid[:28, :28] - 13.5
    radius = np.hypot(x, y)
    ring = np.where((radius > 6) & (radius < 9), 255, 0).astype(np.uint8)
    thickness, width, slant = digit_shape(ring[None])[0]
    assert thickness == pytest.approx(3, abs=0.6)
    assert width == pytest.approx(np.sqrt(12) * np.sqrt((6**2 + 9**2) / 4), abs=0.3)
    assert slant == pytest.approx(0.0, abs=1e-9)


def test_moving_an_image_changes_nothing_and_an_empty_one_has_no_shape():
    image = bar(3, 12)
    moved = np.roll(image, (3, -4), axis=(0, 1))
    first, second, empty = digit_shape(np.stack([image, moved, np.zeros_like(image)]))
    np.testing.assert_allclose(first, second, atol=1e-9)
    assert np.isnan(empty).all()
