import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unbraid.datasets.synthetic import sprites


def unpacked(words, resolution):
    return (words[..., None] >> np.arange(resolution, dtype=np.uint64)) & np.uint64(1)


def is_inside(column, row, vertices):
    """Even-odd rule at the center of a pixel, in fractions: y1 < Y <= y2 for the edge, left in and right out."""
    x, y = Fraction(2 * column + 1, 2), Fraction(2 * row + 1, 2)
    inside = False
    for (x1, y1), (x2, y2) in zip(vertices, vertices[1:] + vertices[:1], strict=True):
        if y1 > y2:
            x1, y1, x2, y2 = x2, y2, x1, y1
        if y1 < y <= y2 and x >= x1 + (y - y1) * (x2 - x1) / (y2 - y1):
            inside = not inside
    return inside


def slow_drawing(vertices, angle, center_x, center_y, resolution):
    """One pixel at a time, from the description of the original's geometry and with none of the code under test."""
    cos, sin = math.cos(angle), math.sin(angle)
    snapped = [
        (
            Fraction(round(256 * (center_x + x * cos + y * sin)), 256),
            Fraction(round(256 * (center_y - x * sin + y * cos)), 256),
        )
        for x, y in vertices
    ]
    return [[int(is_inside(column, row, snapped)) for column in range(resolution)] for row in range(resolution)]


def slow_outline(shape, resolution):
    pixel = resolution / 64
    if shape == "square":
        corners = [(-9.6, -9.6), (9.6, -9.6), (9.6, 9.6), (-9.6, 9.6)]
    elif shape == "ellipse":
        turns = [2 * math.pi * k / 100 for k in range(100)]
        corners = [(9.6 * 1.33 * math.cos(t), 9.6 / 1.33 * math.sin(t)) for t in turns]
    else:
        turns = [2 * math.pi * k / 150 for k in range(150)]
        corners = [
            (
                9.6 * math.sin(t) ** 3,
                -(19.2 / 29) * (13 * math.cos(t) - 5 * math.cos(2 * t) - 2 * math.cos(3 * t) - math.cos(4 * t)) - 1.44,
            )
            for t in turns
        ]
    return [(pixel * x, pixel * y) for x, y in corners]


@given(
    shape=st.sampled_from(sprites.SHAPES),
    scale=st.floats(0.5, 1.0),
    angle=st.floats(0.0, 2 * math.pi),
    position=st.tuples(st.floats(0.0, 1.0), st.floats(0.0, 1.0)),
    resolution=st.sampled_from([8, 15, 32]),
)
def test_a_pixel_is_white_iff_its_center_is_inside_the_snapped_polygon(shape, scale, angle, position, resolution):
    center_x, center_y = (resolution / 64 * (16 + 32 * p) for p in position)
    vertices = [(scale * x, scale * y) for x, y in slow_outline(shape, resolution)]
    drawn = sprites.draw(np.array(vertices), angle, np.array([center_x]), np.array([center_y]), resolution)
    np.testing.assert_array_equal(
        unpacked(drawn[0, 0], resolution), slow_drawing(vertices, angle, center_x, center_y, resolution)
    )


@pytest.mark.parametrize("shape", sprites.SHAPES)
@pytest.mark.parametrize("resolution", [8, 20, 64])
def test_outlines_are_those_of_the_original_in_proportion_to_the_resolution(shape, resolution):
    # 1e-12: a few roundings of coordinates below 16.
    np.testing.assert_allclose(sprites.outline(shape, resolution), slow_outline(shape, resolution), atol=1e-12)


def test_edges_through_pixel_centers_take_in_the_left_and_the_bottom():
    square = np.array([[-1.5, -1.5], [1.5, -1.5], [1.5, 1.5], [-1.5, 1.5]])
    drawn = unpacked(sprites.draw(square, 0.0, np.array([4.0]), np.array([4.0]), 8)[0, 0], 8)
    expected = np.zeros((8, 8))
    # The edges lie at 2.5 and 5.5, the centers of pixels 2 and 5.
    expected[3:6, 2:5] = 1
    np.testing.assert_array_equal(drawn, expected)


def test_turning_is_counter_clockwise_on_the_screen():
    pointing_right = np.array([[0.0, -1.0], [6.0, 0.0], [0.0, 1.0]])
    turned = unpacked(sprites.draw(pointing_right, math.pi / 2, np.array([8.0]), np.array([8.0]), 16)[0, 0], 16)
    assert turned[:8].sum() > 0
    assert turned[8:].sum() == 0


def test_a_grid_of_centers_is_the_single_drawings_side_by_side():
    heart = sprites.outline("heart", 32)
    xs, ys = np.array([8.0, 11.3, 24.0]), np.array([8.1, 20.7])
    grid = sprites.draw(heart, 1.0, xs, ys, 32)
    assert grid.shape == (3, 2, 32)
    for i, x in enumerate(xs):
        for j, y in enumerate(ys):
            np.testing.assert_array_equal(grid[i, j], sprites.draw(heart, 1.0, np.array([x]), np.array([y]), 32)[0, 0])


def test_a_polygon_that_covers_no_center_is_black():
    speck = np.array([[0.0, 0.0], [0.1, 0.0], [0.1, 0.1]])
    assert not sprites.draw(speck, 0.0, np.array([4.0]), np.array([4.0]), 8).any()
