"""How likely combinations of factors are, as numbers and as a picture."""

import base64
import io
import math
from dataclasses import replace
from xml.etree import ElementTree

import numpy as np
import pytest
import torch
from PIL import Image

from unbraid.datasets.dataset import Factor, FactorImages
from unbraid.datasets.weights import ChenDesign, Correlated, JointTable, Product, UniformJoint, image_weights
from unbraid.errors import SpecError
from unbraid.show.datasets.joint_map import JointMap, map_of_images, maps_of_joint

AZIMUTH, ELEVATION, LIGHT, NAME = (
    Factor("azimuth", 5),
    Factor("elevation", 4),
    Factor("light", 3),
    Factor("name", 2, ordered=False),
)


def grid(*factors):
    rows = torch.cartesian_prod(*(torch.arange(factor.size) for factor in factors))
    return FactorImages.from_table(torch.zeros(len(rows), 1, 2, 2, dtype=torch.uint8), rows, factors)


def joint_map(table, *factors):
    return JointMap("", factors, torch.as_tensor(table, dtype=torch.float64))


def test_the_correlation_is_that_of_the_images_drawn_by_the_table():
    table = Correlated(("azimuth", "elevation"), 0.3).table((5, 4))
    a, b = np.indices((5, 4)).reshape(2, -1)
    expected = np.cov(a, b, aweights=table.flatten().numpy())
    assert joint_map(table, AZIMUTH, ELEVATION).correlation == pytest.approx(
        expected[0, 1] / math.sqrt(expected[0, 0] * expected[1, 1])
    )


def test_mutual_information_is_in_nats():
    assert joint_map([[0.5, 0.0], [0.0, 0.5]], NAME, NAME).mutual_information == pytest.approx(math.log(2))
    assert joint_map([[0.06, 0.14], [0.24, 0.56]], NAME, NAME).mutual_information == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize(
    ("shown", "words"),
    [
        (
            joint_map([[0.25, 0.25], [0.25, 0.25]], LIGHT, LIGHT),
            "correlation 0.00, mutual information 0.000 nats, all equally likely",
        ),
        (
            joint_map([[0.4, 0.1], [0.1, 0.4]], LIGHT, LIGHT),
            "correlation 0.60, mutual information 0.193 nats, the most likely 4 times the least",
        ),
        (joint_map([[0.5, 0.0], [0.25, 0.25]], NAME, LIGHT), "mutual information 0.216 nats, 1 of 4 never occur"),
        (joint_map([[0.9999], [0.0001]], NAME), "the most likely 9,999 times the least"),
        (joint_map([[0.5, 0.5], [0.0, 0.0]], LIGHT, LIGHT), "mutual information 0.000 nats, 2 of 4 never occur"),
    ],
)
def test_the_numbers_of_a_table_are_summarized(shown, words):
    assert shown.summary == words


def test_a_joint_of_two_factors_is_its_own_map():
    joint = ChenDesign("D", ("elevation", "azimuth"))
    (shown,) = maps_of_joint(joint, (AZIMUTH, NAME, ELEVATION), "asked for")
    assert shown.factors == (ELEVATION, AZIMUTH)
    torch.testing.assert_close(shown.table, joint.table((4, 5)))


def test_of_one_factor_the_map_is_a_row():
    (shown,) = maps_of_joint(JointTable(("light",), (1.0, 2.0, 1.0)), (AZIMUTH, LIGHT), "asked for")
    assert shown.table.tolist() == [[0.25], [0.5], [0.25]]


def test_of_three_factors_each_pair_is_shown_summed_over_the_third():
    joint = Product((Correlated(("azimuth", "light"), 0.2), UniformJoint(("elevation",))))
    shown = maps_of_joint(joint, (AZIMUTH, ELEVATION, LIGHT), "asked for")
    assert [[factor.name for factor in each.factors] for each in shown] == [
        ["azimuth", "light"],
        ["azimuth", "elevation"],
        ["light", "elevation"],
    ]
    torch.testing.assert_close(shown[0].table, joint.joints[0].table((5, 3)))
    assert all(float(each.table.sum()) == pytest.approx(1) for each in shown)


def test_of_many_factors_the_first_pairs_are_shown():
    factors = tuple(Factor(name, 2) for name in "abcde")
    assert len(maps_of_joint(UniformJoint(tuple("abcde")), factors, "")) == 3


def test_images_drawn_by_a_table_have_that_table():
    images, joint = grid(AZIMUTH, LIGHT, ELEVATION), Correlated(("elevation", "azimuth"), 0.4)
    drawn = replace(images, weights=image_weights(joint, images.factor_table, images.values))
    shown = map_of_images(drawn, ["elevation", "azimuth"], "among the images")
    torch.testing.assert_close(shown.table, joint.table((4, 5)))
    assert map_of_images(images, ["light", "azimuth"], "").summary.endswith("all equally likely")


@pytest.mark.parametrize(
    ("names", "complaint"),
    [
        (["azimuth"], "azimuth"),
        (["light", "light"], "light, light"),
        (["azimuth", "hue"], "no factor 'hue'"),
        (["azimuth", "size"], "continuous"),
    ],
)
def test_a_map_needs_two_factors_that_can_be_counted(names, complaint):
    images = grid(AZIMUTH, LIGHT)
    continuous = FactorImages.from_table(images.pixels, images.values.double(), (AZIMUTH, Factor("size", 0)))
    with pytest.raises(SpecError, match=complaint):
        map_of_images(continuous if "size" in names else images, names, "")


def drawn(shown):
    return ElementTree.fromstring(f"<div>{shown.svg}</div>")


def opacities(shown):
    """How strongly each cell is colored, from the top and from the left, from 0 to 1."""
    (image,) = drawn(shown).iter("image")
    encoded = image.get("href").removeprefix("data:image/png;base64,")
    return np.asarray(Image.open(io.BytesIO(base64.b64decode(encoded))))[..., 1] / 255


def test_the_first_factor_runs_to_the_right_and_the_second_up():
    table = np.zeros((3, 4))
    table[2, 0] = 1.0  # the last value of the first, the first of the second: at the lower right
    cells = opacities(joint_map(table, LIGHT, ELEVATION))
    assert cells.shape == (4, 3)
    assert cells.argmax() == 11
    assert cells.sum() == 1


def test_the_likelier_the_stronger_and_equal_probabilities_are_halfway():
    even = opacities(joint_map(np.full((3, 4), 1 / 12), LIGHT, ELEVATION))
    assert even == pytest.approx(np.full((4, 3), 0.5), abs=0.003)
    uneven = opacities(joint_map([[0.8, 0.1], [0.1, 0.0]], NAME, NAME))
    assert uneven == pytest.approx(np.array([[0.125, 0.0], [1.0, 0.125]]), abs=0.003)


def test_large_cells_hold_their_number_and_values_have_bars():
    shown = drawn(joint_map([[0.4, 0.1], [0.1, 0.4]], LIGHT, ELEVATION))
    texts = [text.text for text in shown.iter("text")]
    assert texts.count("0.4") == texts.count("0.1") == 2
    assert {"light", "elevation"} <= set(texts)
    assert sum(rect.get("class") == "bar" for rect in shown.iter("rect")) == 4


@pytest.mark.parametrize("sizes", [(1, 1), (2, 700), (1393, 31), (21, 11), (7, 1)])
def test_any_table_has_room(sizes):
    table = torch.full(sizes, 1 / math.prod(sizes), dtype=torch.float64)
    factors = tuple(Factor(f"factor_{place}", size) for place, size in enumerate(sizes if sizes[1] > 1 else sizes[:1]))
    svg = next(drawn(JointMap("A title", factors, table)).iter("svg"))
    assert float(svg.get("width")) <= 500
    assert float(svg.get("height")) <= 500


def test_values_without_a_pixel_of_their_own_are_summed():
    table = torch.zeros(1000, 2, dtype=torch.float64)
    table[999, 1] = 1.0
    cells = opacities(joint_map(table, Factor("identity", 1000), NAME))
    assert cells.shape == (2, 334)
    assert cells[0, -1] == 1.0
