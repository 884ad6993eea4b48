"""How likely combinations of factors are, as numbers and as a picture."""

import math

import numpy as np
import pytest
import torch

from unbraid.data.dataset import Factor, FactorImages
from unbraid.data.selected import weighted
from unbraid.errors import SpecError
from unbraid.report import drawing
from unbraid.report.joint_map import JointMap, draw_joint_map, map_of_images, maps_of_joint
from unbraid.sampling import ChenDesign, Correlated, Product, Table, UniformJoint

AZIMUTH, ELEVATION, LIGHT, NAME = (
    Factor("azimuth", 5),
    Factor("elevation", 4),
    Factor("light", 3),
    Factor("name", 2, ordered=False),
)


def grid(*factors):
    rows = torch.cartesian_prod(*(torch.arange(factor.size) for factor in factors))
    return FactorImages.of_table(torch.zeros(len(rows), 1, 2, 2, dtype=torch.uint8), rows, factors)


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
def test_the_numbers_of_a_table_are_told_in_words(shown, words):
    assert shown.words == words


def test_a_joint_of_two_factors_is_its_own_map():
    joint = ChenDesign("D", ("elevation", "azimuth"))
    (shown,) = maps_of_joint(joint, (AZIMUTH, NAME, ELEVATION), "asked for")
    assert shown.factors == (ELEVATION, AZIMUTH)
    torch.testing.assert_close(shown.table, joint.table((4, 5)))


def test_of_one_factor_the_map_is_a_row():
    (shown,) = maps_of_joint(Table(("light",), (1.0, 2.0, 1.0)), (AZIMUTH, LIGHT), "asked for")
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
    shown = map_of_images(weighted(images, joint), ["elevation", "azimuth"], "among the images")
    torch.testing.assert_close(shown.table, joint.table((4, 5)))
    assert map_of_images(images, ["light", "azimuth"], "").words.endswith("all equally likely")


@pytest.mark.parametrize(
    ("names", "complaint"),
    [
        (["azimuth"], "two factors"),
        (["light", "light"], "two factors"),
        (["azimuth", "hue"], "no factor 'hue'"),
        (["azimuth", "size"], "continuous"),
    ],
)
def test_a_map_needs_two_factors_that_can_be_counted(names, complaint):
    images = grid(AZIMUTH, LIGHT)
    continuous = FactorImages.of_table(images.pixels, images.values.double(), (AZIMUTH, Factor("size", 0)))
    with pytest.raises(SpecError, match=complaint):
        map_of_images(continuous if "size" in names else images, names, "")


def colours(picture):
    return {colour for _, colour in picture.getcolors(picture.width * picture.height)}


def test_the_first_factor_runs_to_the_right_and_the_second_up():
    table = np.zeros((3, 3))
    table[2, 0] = 1.0  # the last value of the first, the first of the second: at the lower right
    picture = np.asarray(draw_joint_map(joint_map(table, LIGHT, LIGHT)))
    rows, columns = np.nonzero((picture == drawing.heat(1.0)).all(axis=2)[: picture.shape[0] * 2 // 3])
    assert (np.ptp(rows) + 1, np.ptp(columns) + 1) == (96, 96)
    cells_left, cells_top = columns.min() - 2 * 96, rows.min() - 2 * 96
    assert (picture[cells_top + 48, cells_left + 20] == 255).all()


def test_what_is_likelier_is_darker_and_what_is_alike_is_halfway():
    assert drawing.heat(0.5) in colours(draw_joint_map(joint_map(np.full((3, 4), 1 / 12), LIGHT, ELEVATION)))
    uneven = colours(draw_joint_map(joint_map([[0.8, 0.1], [0.1, 0.0]], NAME, NAME)))
    assert {drawing.heat(1.0), drawing.heat(0.1 / 0.8), drawing.heat(0.0)} <= uneven


@pytest.mark.parametrize("sizes", [(1, 1), (2, 700), (1393, 31), (21, 11), (7, 1)])
def test_any_table_has_room(sizes):
    table = torch.full(sizes, 1 / math.prod(sizes), dtype=torch.float64)
    factors = tuple(Factor(f"factor_{place}", size) for place, size in enumerate(sizes if sizes[1] > 1 else sizes[:1]))
    picture = draw_joint_map(JointMap("A title", factors, table))
    assert picture.width <= 1000
    assert picture.height <= 1200


def test_values_that_have_no_room_are_taken_together():
    table = torch.zeros(1000, 2, dtype=torch.float64)
    table[999, 1] = 1.0
    assert drawing.heat(1.0) in colours(draw_joint_map(joint_map(table, Factor("identity", 1000), NAME)))
