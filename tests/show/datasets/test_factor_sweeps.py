"""Which images show what a factor does."""

import numpy as np
import pytest
import torch

from unbraid.datasets.dataset import Factor, FactorImages
from unbraid.show.datasets.factor_sweeps import MAX_COLUMNS, evenly, factor_sweeps, sampled_rows


def images_of(factors, sizes, *, weights=None, ordered=True):
    factors = torch.as_tensor(factors)
    table = tuple(Factor(f"factor_{place}", size, ordered) for place, size in enumerate(sizes))
    return FactorImages.from_table(torch.zeros(len(factors), 1, 4, 4, dtype=torch.uint8), factors, table, weights)


def grid(*sizes):
    return images_of(np.indices(sizes).reshape(len(sizes), -1).T, sizes)


@pytest.mark.parametrize("seed", [0, 1, 5])
def test_on_a_grid_every_factor_is_seen_alone(seed):
    images = grid(3, 1, 20, 4)
    swept = factor_sweeps(images, seed)
    assert [sweep.factor.name for sweep in swept.sweeps] == ["factor_0", "factor_2", "factor_3"]
    assert [factor.name for factor in swept.constant] == ["factor_1"]
    anchor = images.values[swept.anchor]
    for sweep, place in zip(swept.sweeps, (0, 2, 3), strict=True):
        assert sweep.is_alone
        assert sweep.width == 1
        assert set(map(len, sweep.rows)) == {1}
        assert sweep.num_values == images.factor_table[place].size
        for value, (row,) in zip(sweep.values, sweep.rows, strict=True):
            expected = anchor.clone()
            expected[place] = int(value)
            assert images.values[row].tolist() == expected.tolist()


def test_an_image_is_not_shown_for_a_factor_that_is_not_known_in_it():
    labels = [[0, 0.5], [1, float("nan")], [-1, 2.0], [2, 1.0]]
    indices, measured = factor_sweeps(images_of(labels, [3, 0])).sweeps
    assert (indices.values, indices.rows, indices.num_values) == ((0.0, 1.0, 2.0), ((0,), (1,), (3,)), 3)
    assert (measured.values, measured.rows) == ((0.5, 1.0, 2.0), ((0,), (3,), (2,)))


def test_of_many_values_some_are_shown_evenly_spaced_with_both_ends():
    sweep = factor_sweeps(grid(40, 2)).sweeps[0]
    assert len(sweep.values) == MAX_COLUMNS
    assert sweep.num_values == 40
    assert (sweep.values[0], sweep.values[-1]) == (0.0, 39.0)
    assert set(np.diff(sweep.values)) == {3.0, 4.0}


@pytest.mark.parametrize(
    ("count", "places"), [(0, []), (1, [0]), (3, [0, 1, 2]), (12, list(range(12))), (23, list(range(0, 23, 2)))]
)
def test_places_are_evenly_spaced(count, places):
    assert evenly(count) == places


def test_another_seed_shows_another_image():
    images = grid(10, 10, 10)
    assert len({factor_sweeps(images, seed).anchor for seed in range(4)}) == 4
    assert factor_sweeps(images, 2) == factor_sweeps(images, 2)


def test_where_labels_do_not_say_all_there_are_images_for_each_value():
    digits = np.repeat(np.arange(10), 7)[:, None]
    swept = factor_sweeps(images_of(digits, [10]))
    (sweep,) = swept.sweeps
    assert swept.anchor is None
    assert not sweep.is_alone
    assert sweep.values == tuple(map(float, range(10)))
    assert (sweep.width, max(map(len, sweep.rows))) == (1, 3)
    for value, rows in zip(sweep.values, sweep.rows, strict=True):
        assert len(set(rows)) == 3
        assert {int(digits[row, 0]) for row in rows} == {int(value)}


def test_of_few_values_several_images_stand_side_by_side():
    attributes = np.tile([[0, 0, 0, 0, 0], [1, 1, 1, 1, 1]], (50, 1))
    sweeps = factor_sweeps(images_of(attributes, [2] * 5)).sweeps
    assert {(sweep.width, tuple(map(len, sweep.rows))) for sweep in sweeps} == {(6, (6, 6))}


def test_a_value_with_few_images_shows_those_it_has():
    (sweep,) = factor_sweeps(images_of(np.array([[0]] * 30 + [[1]]), [2])).sweeps
    assert sweep.rows[1] == (30,)
    assert len(sweep.rows[0]) == 18


def test_a_continuous_factor_is_shown_from_the_least_value_to_the_greatest():
    values = np.random.default_rng(0).normal(size=(100, 2))
    swept = factor_sweeps(images_of(values, [0, 0]))
    for place, sweep in enumerate(swept.sweeps):
        assert not sweep.is_alone
        assert sweep.num_values == 0
        assert list(sweep.values) == sorted(sweep.values)
        assert (sweep.values[0], sweep.values[-1]) == (values[:, place].min(), values[:, place].max())
        assert [values[row, place] for (row,) in sweep.rows] == list(sweep.values)


def test_measurements_on_a_grid_are_seen_alone():
    angles, hues = (axis.ravel() for axis in np.meshgrid(np.linspace(0, 1, 5), np.linspace(0, 9, 4)))
    swept = factor_sweeps(images_of(np.stack([angles, hues], axis=1), [0, 0]))
    assert [sweep.is_alone for sweep in swept.sweeps] == [True, True]
    assert swept.sweeps[0].values == (0.0, 0.25, 0.5, 0.75, 1.0)


def test_a_factor_without_kin_is_not_alone_though_others_are():
    # The second factor repeats the first, so that neither changes without the other; the third is free.
    combined = np.array([[a, a, b] for a in range(4) for b in range(3)])
    sweeps = factor_sweeps(images_of(combined, [4, 4, 3])).sweeps
    assert [sweep.is_alone for sweep in sweeps] == [False, False, True]


def test_the_image_is_chosen_that_shows_most():
    # A full line of five along the first axis, and a few images off it that have no kin.
    factors = np.array([[value, 0] for value in range(5)] + [[1, 7], [2, 8], [3, 9]])
    swept = factor_sweeps(images_of(factors, [5, 10]))
    assert swept.anchor in (1, 2, 3)
    assert len(swept.sweeps[0].values) == 5


def test_images_that_are_never_drawn_are_not_shown():
    everything = grid(4, 4)
    weights = (everything.values[:, 0] != 2).double() / 12
    swept = factor_sweeps(images_of(everything.values, [4, 4], weights=weights))
    assert swept.sweeps[0].values == (0.0, 1.0, 3.0)
    assert swept.sweeps[0].num_values == 3
    assert all(weights[row] > 0 for sweep in swept.sweeps for rows in sweep.rows for row in rows)
    assert weights[swept.anchor] > 0


def test_without_factors_there_is_nothing_to_sweep():
    swept = factor_sweeps(images_of(np.zeros((6, 0), dtype=np.int64), []))
    assert (swept.sweeps, swept.anchor, swept.constant) == ((), None, ())


def test_a_single_image_has_constant_factors():
    assert factor_sweeps(images_of([[3, 1]], [4, 2])).sweeps == ()


def test_factors_beyond_what_64_bits_can_number_are_told_apart():
    identity = np.arange(64)
    factors = np.stack([identity % 8, identity // 8, *([identity * 0 + 10**17, identity * 10**14] * 4)], axis=1)
    swept = factor_sweeps(images_of(factors, [8, 8, *([10**18] * 8)]))
    assert not any(
        sweep.is_alone for sweep in swept.sweeps
    )  # distinct, but no image differs from another in one factor


def test_samples_are_dealt_once_each_without_weights_and_drawn_by_them_with():
    images = grid(5, 2)
    assert sorted(sampled_rows(images, 36, 0).tolist()) == list(range(10))
    assert len(set(sampled_rows(grid(100), 36, 0).tolist())) == 36
    weights = torch.tensor([0.5, 0.0, 0.5] + [0.0] * 7, dtype=torch.float64)
    drawn = sampled_rows(images_of(images.values, [5, 2], weights=weights), 36, 0)
    assert len(drawn) == 36
    assert set(drawn.tolist()) == {0, 2}
