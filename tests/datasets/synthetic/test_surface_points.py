import math

import numpy as np
import pytest
from scipy.spatial import cKDTree

from unbraid.datasets.synthetic.shading import ALBEDO_UNIT, NORMAL_UNIT, POSITION_UNIT, Surface, points_of


def direction(polar, longitude):
    return np.stack([np.sin(polar) * np.sin(longitude), np.cos(polar), np.sin(polar) * np.cos(longitude)])


def ellipsoid(*axes):
    return Surface(
        lambda polar, longitude: np.array(axes)[:, None] * direction(polar, longitude),
        lambda polar, _: np.full_like(polar, 0.5),
    )


def bumpy(polar, longitude):
    """A ball with a nose: most of the surface is smooth, a little of it steep."""
    x, y, z = direction(polar, longitude)
    return np.stack([x, y, z + 0.3 * np.exp(-((x / 0.1) ** 2) - (y / 0.1) ** 2) * (z > 0)])


SHAPES = {
    "ball": ellipsoid(1.0, 1.0, 1.0),
    "egg": ellipsoid(0.5, 1.5, 0.8),
    "bumpy": Surface(bumpy, lambda polar, _: np.full_like(polar, 0.5)),
}


@pytest.mark.parametrize("name", SHAPES)
@pytest.mark.parametrize("spacing", [0.02, 0.05])
def test_no_place_of_a_surface_is_far_from_a_point(name, spacing):
    points = points_of([SHAPES[name]], spacing).positions.numpy() / POSITION_UNIT
    random = np.random.default_rng(0)
    places = SHAPES[name].place(np.arccos(random.uniform(-1, 1, 20_000)), random.uniform(-math.pi, math.pi, 20_000))
    distance, _ = cKDTree(points.T).query(places.T)
    # The middle of a square of four neighbors is the farthest place; 5 % for the bend within a cell.
    assert distance.max() < 1.05 * spacing * math.sqrt(0.5)


@pytest.mark.parametrize("name", ["ball", "egg"])
def test_points_are_not_wasted(name):
    places = points_of([SHAPES[name]], 0.03)
    # Monte Carlo: the mean stretch of the unit sphere is the area of the surface over 4 pi.
    axes = (1.0, 1.0, 1.0) if name == "ball" else (0.5, 1.5, 0.8)
    a, b, c = (axis**1.6075 for axis in axes)
    area = 4 * math.pi * ((a * b + a * c + b * c) / 3) ** (1 / 1.6075)  # Thomsen's formula, within 1.1 %
    assert area / 0.03**2 < len(places) < 2.5 * area / 0.03**2


def test_a_ball_has_its_places_for_normals():
    points = points_of([ellipsoid(1.0, 1.0, 1.0)], 0.05)
    # Three for the rounding of both and for the step of the difference, of 1024.
    assert (points.normals / NORMAL_UNIT - points.positions / POSITION_UNIT).abs().max() < 3 / NORMAL_UNIT


def test_normals_of_an_egg_are_those_of_the_formula():
    axes = np.array([0.5, 1.5, 0.8])[:, None]
    points = points_of([ellipsoid(*axes[:, 0])], 0.05)
    expected = points.positions.numpy() / POSITION_UNIT / axes**2
    expected /= np.sqrt((expected**2).sum(axis=0))
    np.testing.assert_allclose(points.normals.numpy() / NORMAL_UNIT, expected, atol=4e-3)


def test_everything_is_a_whole_number():
    points = points_of(list(SHAPES.values()), 0.1)
    assert (points.positions == points.positions.round()).all()
    assert (points.normals == points.normals.round()).all()
    assert points.albedos.unique().tolist() == [round(0.5 * ALBEDO_UNIT)]
    assert len(points) == points.positions.shape[1] == points.normals.shape[1]


@pytest.mark.parametrize("name", SHAPES)
def test_each_point_has_its_mirror_image(name):
    points = points_of([SHAPES[name]], 0.05)
    both = np.concatenate([points.positions.numpy(), points.normals.numpy(), points.albedos.numpy()[None]]).T
    assert {tuple(row) for row in both} == {tuple(row) for row in both * [-1, 1, 1, -1, 1, 1, 1]}


def test_points_of_several_surfaces_follow_each_other():
    first, second = points_of([SHAPES["ball"]], 0.1), points_of([SHAPES["egg"]], 0.1)
    both = points_of([SHAPES["ball"], SHAPES["egg"]], 0.1)
    assert len(both) == len(first) + len(second)
    np.testing.assert_array_equal(both.positions[:, len(first) :], second.positions)
