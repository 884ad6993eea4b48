from xml.etree import ElementTree

import numpy as np
import pytest
import torch

from tests.show.pages.test_pictures import opened
from unbraid.codes import Codes, CodesOptions
from unbraid.metrics.latent_readings import Reading
from unbraid.show.report.code_plots import PIXELS, code_curves, code_maps


def codes_of(factors, names, mean):
    return Codes.from_arrays(
        torch.tensor(mean),
        std=torch.ones(len(mean), len(mean[0])),
        factors=factors,
        options=CodesOptions(factor_names=names),
    )


def grid():
    """The first latent follows the first factor, the second the second."""
    factors = np.array([[i, j, 0] for i in range(4) for j in range(3)])
    mean = [[float(i) - 1.5, float(j) - 1.0, 0.0] for i in range(4) for j in range(3)]
    return codes_of(factors, ["across", "down", "nothing"], mean)


READINGS = [Reading(0, 2.0), Reading(1, 1.0), Reading(2, 0.0, is_unused=True)]


def heights(curve, tag="polyline"):
    (line,) = ElementTree.fromstring(curve).iter(tag)
    return [float(point.split(",")[1]) for point in line.get("points").split()]


def test_a_latent_that_follows_a_factor_rises_with_it_and_is_flat_along_others():
    made = code_curves(grid(), READINGS)
    assert made.factors == ("across", "down")
    assert [latent for latent, _ in made.rows] == [0, 1]
    follows, ignores = made.rows[0][1]
    steps = np.diff(heights(follows))
    assert steps == pytest.approx([steps[0]] * 3, abs=0.2)
    assert steps[0] < -5  # upwards
    assert len(set(heights(ignores))) == 1


def test_the_band_is_the_spread_of_codes_of_one_value():
    follows, ignores = code_curves(grid(), READINGS).rows[0][1]
    band = heights(follows, "polygon")
    assert band[:4] == band[:3:-1]  # nothing else moves the latent
    upper, *_, lower = heights(ignores, "polygon")
    assert lower - upper > 10


def test_continuous_values_are_binned_and_values_without_an_order_are_dots():
    factors = {"angle": np.linspace(0, 1, 200), "shape": np.array(["a", "b"] * 100)}
    codes = Codes.from_arrays(np.random.default_rng(0).normal(size=(200, 2)), std=np.ones((200, 2)), factors=factors)
    angle, shape = code_curves(codes, READINGS[:2]).rows[0][1]
    assert len(heights(angle)) == 32
    assert len(list(ElementTree.fromstring(shape).iter("circle"))) == 2


def test_without_a_factor_that_varies_there_are_no_curves_and_no_maps():
    codes = Codes.from_arrays(np.eye(6)[:, :2], std=np.ones((6, 2)))
    assert code_curves(codes, READINGS[:2]) is None
    assert code_maps(codes, READINGS[:2]) is None
    assert code_maps(grid(), READINGS[::2]) is None  # one latent alone


def test_a_map_puts_every_image_where_its_code_is_in_the_color_of_its_factor():
    made = code_maps(grid(), READINGS)
    assert (made.across, made.up, [name for name, _ in made.maps]) == (0, 1, ["across", "down"])
    across, down = (np.asarray(opened(sheet)) for _, sheet in made.maps)
    assert (across[..., 3] > 0).sum() == 12 * 4
    corner = PIXELS - 1
    assert across[corner, 0].tolist() == across[0, 0].tolist() == [72, 60, 150, 255]  # the first value, on the left
    assert down[corner, 0].tolist() == down[corner, corner].tolist() != down[0, 0].tolist()
