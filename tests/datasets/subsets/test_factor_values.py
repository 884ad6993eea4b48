"""Splits by the value of a factor."""

import pytest
import torch

from tests.datasets.grid_columns import GRID, GRID_FACTORS, grid
from unbraid.datasets.dataset import Factor
from unbraid.datasets.subsets import ChosenValues, OuterValues, Rows, Threshold, all_but, outer_rows
from unbraid.errors import DataError, SpecError


def test_the_images_with_these_values_and_the_others():
    train, test = (ChosenValues("place", (4, 1), part=part).rows(GRID_FACTORS, GRID) for part in ("train", "test"))
    assert set(GRID[train, 2].tolist()) == {1, 4}
    assert set(GRID[test, 2].tolist()) == {0, 2, 3}


def test_the_first_part_of_the_values_as_kumar_et_al_split_the_chairs_by_model():
    models = grid(809, 2)
    factors = (Factor("model", 809, ordered=False), Factor("elevation", 2))
    train, test = (ChosenValues("model", fraction=0.8, part=part).rows(factors, models) for part in ("train", "test"))
    assert set(models[train, 0].tolist()) == set(range(647))
    assert set(models[test, 0].tolist()) == set(range(647, 809))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, r"values \(.*fraction"),
        ({"values": (1,), "fraction": 0.5}, r"values \(.*fraction"),
        ({"fraction": 1.0}, "0.*1"),
        ({"values": (1, 1)}, "values is 1, 1"),
    ],
)
def test_chosen_values_need_values_or_a_fraction(arguments, message):
    with pytest.raises(SpecError, match=message):
        ChosenValues("place", **arguments)


@pytest.mark.parametrize(
    ("subset", "message"),
    [
        (ChosenValues("place", (5,)), "place.*5.*0.*4"),
        (ChosenValues("place", (-1,)), "place.*-1"),
        (ChosenValues("plaice", (0,)), "'plaice'.*'place'"),
        (ChosenValues("depth", (0,)), "depth is continuous"),
    ],
)
def test_values_and_factors_that_do_not_exist_are_refused_before_the_images_are_loaded(subset, message):
    with pytest.raises(SpecError, match=message):
        subset.check((*GRID_FACTORS, Factor("depth", 0)), 60)


def test_a_factor_that_is_not_known_everywhere_is_refused():
    with pytest.raises(DataError, match="2 images."):
        ChosenValues("shape", (0,)).rows((Factor("shape", 2),), torch.tensor([[0], [-1], [1], [-1]]))


DEPTH = (Factor("depth", 0),)
DEPTHS = torch.tensor([[0.3], [-1.5], [2.0], [0.9], [7.5], [0.31], [-0.2], [4.0], [0.0], [1.0]])


@pytest.mark.parametrize(("side", "expected"), [("below", {0, 1}), ("above", {2, 3})])
def test_a_value_parts_the_values_of_an_ordered_factor(side, expected):
    rows = Threshold("scale", side, value=1.5).rows(GRID_FACTORS, GRID)
    assert set(GRID[rows, 1].tolist()) == expected


def test_what_lies_at_the_threshold_is_above():
    assert set(GRID[Threshold("scale", "above", value=2.0).rows(GRID_FACTORS, GRID), 1].tolist()) == {2, 3}


@pytest.mark.parametrize(("quantile", "count"), [(0.2, 2), (0.29, 2), (0.3, 3), (0.95, 9)])
def test_a_quantile_parts_the_images_of_a_continuous_factor(quantile, count):
    rows = Threshold("depth", quantile=quantile).rows(DEPTH, DEPTHS)
    assert rows.tolist() == DEPTHS[:, 0].argsort()[:count].sort().values.tolist()
    above = Threshold("depth", "above", quantile=quantile).rows(DEPTH, DEPTHS)
    assert sorted([*rows.tolist(), *above.tolist()]) == list(range(10))


@pytest.mark.parametrize("arguments", [{"value": 1.0}, {"quantile": 0.5}])
def test_what_is_not_known_lies_on_neither_side(arguments):
    values = torch.tensor([[float("nan")], [2.0], [0.0], [float("nan")]])
    assert Threshold("depth", "below", **arguments).rows(DEPTH, values).tolist() == [2]
    assert Threshold("depth", "above", **arguments).rows(DEPTH, values).tolist() == [1]


def test_a_value_index_that_is_not_known_lies_on_neither_side():
    sizes, values = (Factor("size", 3),), torch.tensor([[-1], [2], [0], [1]])
    assert Threshold("size", "below", value=1.0).rows(sizes, values).tolist() == [2]
    assert Threshold("size", "below", quantile=0.7).rows(sizes, values).tolist() == [2, 3]


def test_a_quantile_of_what_is_never_known_is_refused():
    with pytest.raises(DataError, match="3 images"):
        Threshold("depth", quantile=0.5).rows(DEPTH, torch.full((3, 1), float("nan")))


def test_ties_lie_on_one_side():
    values = torch.tensor([[0], [1], [1], [1], [2]])
    assert Threshold("a", quantile=0.6).rows((Factor("a", 3),), values).tolist() == [0]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "value .* and quantile"),
        ({"value": 1.0, "quantile": 0.5}, "value .* and quantile"),
        ({"value": float("nan")}, "expected a finite number"),
        ({"quantile": 1.0}, "0.*1"),
    ],
)
def test_a_threshold_needs_a_value_or_a_quantile(arguments, message):
    with pytest.raises(SpecError, match=message):
        Threshold("scale", **arguments)


def test_values_without_an_order_are_refused():
    with pytest.raises(
        SpecError,
        match=r"shape .*ChosenValues",
    ):
        Threshold("shape", value=1.0).check(GRID_FACTORS, 60)


FACTORS = (Factor("digit", 3, ordered=False), Factor("thickness", 0))
VALUES = torch.tensor([[0, 9.0], [1, 3.0], [1, 5.0], [1, 1.0], [1, 4.0], [1, 2.0], [2, 8.0]])


@pytest.mark.parametrize(("side", "left_out"), [("high", [2, 4]), ("low", [3, 5])])
def test_the_outer_share_of_the_images_looked_at_is_left_out(side, left_out):
    subset = OuterValues("thickness", "digit", 1, fraction=0.4, side=side)
    kept = subset.rows(FACTORS, VALUES).tolist()
    assert subset.complement().rows(FACTORS, VALUES).tolist() == left_out
    assert sorted(kept + left_out) == list(range(7))


def test_a_factor_without_order_and_a_value_that_is_none_are_refused():
    with pytest.raises(SpecError, match="digit is categorical"):
        OuterValues("digit", "digit", 1).rows(FACTORS, VALUES)
    with pytest.raises(SpecError, match="0 to 2"):
        OuterValues("thickness", "digit", 7).rows(FACTORS, VALUES)
    with pytest.raises(SpecError, match="fraction is 1"):
        OuterValues("thickness", "digit", 7, fraction=1.0)


FEATURE = torch.tensor([0.1, 0.9, 0.5, 0.7, 0.3, 0.8, 0.2, 0.6, 0.4, 0.0, 5.0, -5.0])
AMONG = torch.arange(12) < 10


@pytest.mark.parametrize(("side", "expected"), [("high", [1, 5]), ("low", [0, 9])])
def test_a_fifth_of_the_images_looked_at_is_taken_from_one_end(side, expected):
    assert outer_rows(FEATURE, AMONG, side=side).tolist() == expected


@pytest.mark.parametrize(("fraction", "count"), [(0.1, 1), (0.29, 2), (0.3, 3), (0.99, 9)])
def test_the_fraction_is_of_those_looked_at(fraction, count):
    assert len(outer_rows(FEATURE, AMONG, fraction)) == count


def test_of_equal_features_the_earlier_are_taken():
    assert outer_rows(torch.ones(10), torch.ones(10, dtype=torch.bool), 0.3).tolist() == [0, 1, 2]
    assert outer_rows(torch.ones(10), torch.ones(10, dtype=torch.bool), 0.3, "low").tolist() == [0, 1, 2]


def test_thick_sevens_and_narrow_zeros_are_pruned_and_make_the_test_part(tmp_path, monkeypatch):
    """Section 6.4 of Esmaeili et al., with two latents of a model that is made up."""
    monkeypatch.setenv("UNBRAID_CACHE", str(tmp_path))
    digit, generator = torch.arange(1000) % 10, torch.Generator().manual_seed(0)
    thickness, width = torch.randn(2, 1000, generator=generator)
    pruned = torch.cat([outer_rows(thickness, digit == 7), outer_rows(width, digit == 0, side="low")])
    kept = Rows.from_array(all_but(pruned, 1000))
    train, test = kept.rows((), digit[:, None]), Rows(kept.path, part="test").rows((), digit[:, None])
    assert len(test) == 40
    assert test.tolist() == sorted(pruned.tolist())
    for label, feature, sign in ((7, thickness, 1), (0, width, -1)):
        seen, unseen = (sign * feature[rows[digit[rows] == label]] for rows in (train, test))
        assert (len(seen), len(unseen)) == (80, 20)
        assert float(seen.max()) < float(unseen.min())


@pytest.mark.parametrize("fraction", [0.0, 1.0, float("nan")])
def test_a_fraction_that_is_none_is_refused(fraction):
    with pytest.raises(SpecError, match="0 and 1"):
        outer_rows(FEATURE, AMONG, fraction)


def test_nothing_to_take_is_refused():
    with pytest.raises(DataError, match="10 rows"):
        outer_rows(FEATURE, AMONG, 0.05)


def test_a_feature_that_is_not_finite_is_refused_where_it_is_looked_at():
    with pytest.raises(DataError, match="NaN"):
        outer_rows(torch.where(torch.arange(12) == 3, torch.nan, FEATURE), AMONG)
    assert len(outer_rows(torch.where(torch.arange(12) == 11, torch.nan, FEATURE), AMONG)) == 2
