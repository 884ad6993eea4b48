import math

import numpy as np
import pytest
import torch

from unbraid.datasets.synthetic import shading
from unbraid.datasets.synthetic.shading import (
    AMBIENT,
    FRAME,
    MAX_ELEVATION,
    NORMAL_UNIT,
    POSITION_UNIT,
    Surface,
    draw,
    points_of,
    spacing_for,
)

FRONT = torch.tensor([[0.0, 0.0, 1.0]], dtype=torch.float64)


def ball(center=(0.0, 0.0, 0.0), radius=1.0, albedo=1.0, spot=None):
    """A ball; `spot` is the direction of a black spot on it."""

    def direction(polar, longitude):
        return np.stack([np.sin(polar) * np.sin(longitude), np.cos(polar), np.sin(polar) * np.cos(longitude)])

    def paint(polar, longitude):
        shade = np.full_like(polar, albedo)
        if spot is not None:
            shade[np.array(spot) @ direction(polar, longitude) > math.cos(0.3)] = 0.0
        return shade

    return Surface(lambda polar, longitude: np.array(center)[:, None] + radius * direction(polar, longitude), paint)


def drawn(surfaces, azimuth=0.0, elevation=0.0, lamps=FRONT, resolution=64):
    return draw(points_of(surfaces, spacing_for(resolution)), azimuth, [elevation], lamps, resolution)[0]


def centers(resolution):
    """x to the right and y up, at the middle of each pixel."""
    middle = (np.arange(resolution) + 0.5) / resolution * 2 * FRAME - FRAME
    return np.meshgrid(middle, -middle)


# ---- against formulas


@pytest.mark.parametrize("lamp", [(0, 0, 1), (1, 0, 0), (-0.6, 0, 0.8), (0.48, 0.6, 0.64), (0, -1, 0), (0, 0, -1)])
@pytest.mark.parametrize(("azimuth", "elevation"), [(0.0, 0.0), (1.2, 0.4), (-0.7, -0.5)])
def test_a_ball_is_shaded_by_lamberts_law_wherever_it_is_turned(lamp, azimuth, elevation):
    image = (
        drawn([ball(albedo=0.8)], azimuth, elevation, torch.tensor([lamp], dtype=torch.float64))[0]
        .numpy()
        .astype(float)
    )
    x, y = centers(64)
    inside = x**2 + y**2 < 0.9**2
    normal = np.stack([x, y, np.sqrt(np.maximum(1 - x**2 - y**2, 0))])
    expected = 255 * 0.8 * (AMBIENT + (1 - AMBIENT) * np.maximum(np.tensordot(lamp, normal, 1), 0))
    # A point lies up to 0.7 of a sample off its middle, where the normal differs by up to 0.03; over the four samples
    # it is less.
    assert np.abs(image - expected)[inside].max() < 6
    assert np.abs(image - expected)[inside].mean() < 1.5
    assert (image[x**2 + y**2 > 1.05**2] == 0).all()


def test_white_in_full_light_is_255_and_in_the_shade_the_ambient_part():
    image = drawn([ball()])[0]
    assert image[32, 32] == 255
    behind = drawn([ball()], lamps=-FRONT)[0]
    assert behind[32, 32] == round(255 * AMBIENT)
    assert behind[behind > 0].max() == round(255 * AMBIENT)


def test_the_area_of_a_ball_is_that_of_its_disc():
    covered = drawn([ball()], lamps=-FRONT)[0].double().sum() / round(255 * AMBIENT)
    disc = math.pi * (64 / (2 * FRAME)) ** 2
    # A sample counts if any point falls into it: half a sample more all round, of 51 across.
    assert disc <= covered <= disc * (1 + 0.5 / 25.6) ** 2


# ---- which way is up


@pytest.mark.parametrize(
    ("azimuth", "elevation", "spot", "place"),
    [
        (0.0, 0.0, (0, 0, 1), (0.0, 0.0)),
        (math.pi / 4, 0.0, (0, 0, 1), (math.sqrt(0.5), 0.0)),  # the front turns to the right
        (-math.pi / 4, 0.0, (0, 0, 1), (-math.sqrt(0.5), 0.0)),
        (math.pi / 2, 0.0, (-1, 0, 0), (0.0, 0.0)),  # until the left side is in front
        (0.0, MAX_ELEVATION, (0, 0, 1), (0.0, -0.5)),  # seen from above, the front goes down
        (0.0, MAX_ELEVATION, (0, 1, 0), (0.0, math.sqrt(0.75))),  # and the top comes forward
        (math.pi / 2, MAX_ELEVATION, (-1, 0, 0), (0.0, -0.5)),  # the azimuth is taken first
    ],
)
def test_a_spot_goes_where_the_angles_take_it(azimuth, elevation, spot, place):
    image = drawn([ball(spot=spot)], azimuth, elevation, -FRONT)[0].double().numpy()
    x, y = centers(64)
    dark = (image == 0) & (x**2 + y**2 < 0.93**2)
    assert dark.sum() > 10
    assert (x[dark].mean(), y[dark].mean()) == pytest.approx(place, abs=0.09)


def test_the_lamp_stays_with_the_viewer():
    lamp = torch.tensor([[1.0, 0.0, 0.0]], dtype=torch.float64)
    for azimuth in (-1.5, 0.0, 1.5):
        image = drawn([ball()], azimuth, 0.3, lamp)[0].double()
        assert image[:, 40:].sum() > 2 * image[:, :24].sum()


def test_what_is_near_hides_what_is_far():
    near, far = ball((0.0, 0.0, 0.6), 0.3, albedo=1.0), ball((0.0, 0.0, -0.6), 0.3, albedo=0.5)
    for image in (drawn([near, far])[0], drawn([far, near])[0]):
        assert image[32, 32] >= 250
    turned = drawn([near, far], azimuth=math.pi / 2)[0]
    # Seen from the side they are beside each other: what was near has gone to the right.
    assert turned[32, 32 + 15] >= 250
    assert 125 <= turned[32, 32 - 16] <= 128


# ---- against a slow computation


def slowly(points, azimuth, elevation, lamp, resolution):
    """One point at a time, in Python's unbounded integers and from the description alone."""
    units = 2**13
    ca, sa, ce, se = (
        round(units * value)
        for value in (math.cos(azimuth), math.sin(azimuth), math.cos(elevation), math.sin(elevation))
    )
    rows = [
        [int(value) for value in row]
        for row in torch.cat([points.positions, points.normals.double(), points.albedos.double()[None]]).T
    ]
    side, best = 2 * resolution, {}
    steepest = [round(units * value) for value in (math.cos(MAX_ELEVATION), math.sin(MAX_ELEVATION))]
    for number, (x, y, z, nx, ny, nz, _) in enumerate(rows):
        if (nz * ca - nx * sa) * steepest[0] + abs(ny) * units * steepest[1] <= 0:
            continue  # it turns its back, at every elevation
        x, z = x * ca + z * sa, z * ca - x * sa
        y, z = y * units * ce - z * se, y * units * se + z * ce
        column = math.floor(x / (POSITION_UNIT * units) / (2 * FRAME / side) + side / 2)
        row = math.floor(-y / (POSITION_UNIT * units**2) / (2 * FRAME / side) + side / 2)
        if 0 <= column < side and 0 <= row < side:
            best[row, column] = max(best.get((row, column), (z, number)), (z, number))
    # Into the frame of the object: back by the elevation, then by the azimuth.
    lx, ly, lz = lamp
    ly, lz = ly * math.cos(elevation) + lz * math.sin(elevation), lz * math.cos(elevation) - ly * math.sin(elevation)
    lx, lz = lx * math.cos(azimuth) - lz * math.sin(azimuth), lz * math.cos(azimuth) + lx * math.sin(azimuth)
    ambient = round(AMBIENT * 4096)
    direction = [round((4096 - ambient) * value) for value in (lx, ly, lz)]
    image = np.zeros((resolution, resolution))
    for (row, column), (_, number) in best.items():
        *_, nx, ny, nz, albedo = rows[number]
        lit = max(0, nx * direction[0] + ny * direction[1] + nz * direction[2]) // NORMAL_UNIT
        image[row // 2, column // 2] += albedo * (ambient + lit)
    return np.floor(image / (4 * 4096) + 0.5).astype(np.uint8)


@pytest.mark.parametrize(("azimuth", "elevation"), [(0.0, 0.0), (0.9, 0.5), (-1.4, -0.2)])
def test_it_draws_what_a_slow_computation_in_integers_draws(azimuth, elevation):
    # One ball reaches out of the frame.
    points = points_of(
        [ball((0.2, 0.1, 0.0), 0.6, 0.9, spot=(0, 0, 1)), ball((-0.9, -0.8, 0.3), 0.7, 0.6)], spacing_for(16)
    )
    lamp = (0.48, 0.6, 0.64)
    fast = draw(points, azimuth, [elevation], torch.tensor([lamp], dtype=torch.float64), 16)[0, 0].numpy()
    np.testing.assert_array_equal(fast, slowly(points, azimuth, elevation, lamp, 16))


def test_several_elevations_and_lamps_are_the_single_drawings(monkeypatch):
    points = points_of([ball(radius=0.8, spot=(0, 0.6, 0.8))], spacing_for(16))
    lamps = torch.eye(3, dtype=torch.float64)
    elevations = [-0.5, 0.0, 0.25]
    together = draw(points, 0.4, elevations, lamps, 16)
    assert together.shape == (3, 3, 16, 16)
    # In pieces of any size.
    monkeypatch.setattr(shading, "_AT_ONCE", 100)
    for elevation, images in zip(elevations, together, strict=True):
        for lamp, image in zip(lamps, images, strict=True):
            assert torch.equal(draw(points, 0.4, [elevation], lamp[None], 16)[0, 0], image)


def test_no_sample_within_a_ball_is_left_out():
    points = points_of([ball(radius=1.1)], spacing_for(32))
    for azimuth, elevation in ((0.0, 0.0), (0.5, 0.3), (-2.0, 0.5), (1.0, -0.4)):
        image = draw(points, azimuth, [elevation], -FRONT, 32)[0, 0]
        x, y = centers(32)
        assert (image.numpy()[x**2 + y**2 < 1.0] == round(255 * AMBIENT)).all()
