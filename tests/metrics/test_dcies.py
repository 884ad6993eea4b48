"""Explicitness of probes: the area under known curves, and factors that take more or less capacity."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from unbraid import Codes
from unbraid._internal import row_draws
from unbraid.codes import CodesOptions
from unbraid.errors import CodesError, SpecError
from unbraid.metrics import DCIES
from unbraid.metrics.dcies import explicitness
from unbraid.metrics.predicting.prediction_tasks import prediction_tasks
from unbraid.metrics.reductions.statistics import Statistics
from unbraid.metrics.selection import select

QUICK = DCIES(hidden=(0, 16), num_steps=150, learning_rate=0.03, batch_size=128)
SIZES = torch.tensor([1.0, 2.0, 4.0, 5.0]).double()
ONE = torch.ones(1).double()


def of(*losses, guess=1.0):
    return float(explicitness(torch.tensor([losses]).double(), SIZES, guess * ONE))


# Known curves


def test_a_flat_curve_scores_one_whatever_its_height():
    assert of(0.3, 0.3, 0.3, 0.3) == of(0.0, 0.0, 0.0, 0.0) == of(1.0, 1.0, 1.0, 1.0) == 1


def test_a_straight_descent_from_guessing_to_zero_scores_zero():
    assert of(1.0, 0.75, 0.25, 0.0) == pytest.approx(0)
    assert of(0.5, 0.375, 0.125, 0.0, guess=0.5) == pytest.approx(0)


def test_a_loss_that_falls_at_the_very_end_scores_towards_minus_one():
    """The area of the trapezoids is 3 + 1/2 of 4."""
    assert of(1.0, 1.0, 1.0, 0.0) == pytest.approx(1 - 2 * 3.5 / 4)


def slow(losses, guess):
    """The published code's loop, in plain numbers."""
    least = [min(*losses[: i + 1], guess) for i in range(len(losses))]
    x = SIZES.tolist()
    area = sum((least[i] + least[i + 1] - 2 * min(least)) / 2 * (x[i + 1] - x[i]) for i in range(len(x) - 1))
    return 1 - 2 * area / ((x[-1] - x[0]) * guess)


@settings(max_examples=20)
@given(losses=st.lists(st.floats(0, 2), min_size=4, max_size=4), guess=st.sampled_from([0.5, 1.0]))
def test_it_is_the_area_of_the_running_minimum_and_lies_in_its_bounds(losses, guess):
    value = of(*losses, guess=guess)
    assert value == pytest.approx(slow(losses, guess))
    assert -1 <= value <= 1


# Factors


def test_a_factor_on_a_line_is_explicit_and_one_on_a_ring_is_not():
    rng = np.random.default_rng(0)
    angle, inside = rng.uniform(0, 2 * np.pi, 600), np.arange(600) % 2
    ring = (2.0 - inside)[:, None] * np.stack([np.cos(angle), np.sin(angle)], axis=1)
    factors = {"x": ring[:, 0], "inside": inside, "side": (ring[:, 1] > 0).astype(int)}
    score = QUICK(Codes.from_arrays(ring, factors=factors, options=CodesOptions(unordered=["side"])))
    assert score.per_factor["x"] > 0.95
    assert score.per_factor["inside"] < 0.3
    assert score.per_factor["side"] > 0.9
    assert score.parts["informativeness"].value > 0.85
    assert score.value == pytest.approx(sum(score.per_factor.values()) / 3)
    assert score.interval[0] < score.value < score.interval[1]
    # Two regressions of two latents: (2 + 1) each; classes: 3 x 2. With 16 units: 3 x 16 + 17 x (1 + 1 + 2).
    assert score.tables["log_parameters"].exp().tolist() == pytest.approx([12, 3 * 48 + 17 * 4])
    assert score.tables["loss"].shape == (3, 2)


def test_explicitness_of_noise_is_undefined_or_carries_a_note():
    rng = np.random.default_rng(0)
    for seed in range(3):
        codes = Codes.from_arrays(rng.normal(size=(900, 2)), factors={"v": rng.normal(size=900)})
        score = DCIES(hidden=(0, 16), num_steps=50, seed=seed)(codes)
        assert "predicts v " in " ".join(score.notes)
        assert score.parts["informativeness"].value < 0.1


@pytest.mark.parametrize("unordered", [(), ("v",)])
def test_explicitness_of_constant_codes_is_undefined(unordered):
    values = np.arange(600) % 5 // 2  # 0 and 1 twice as often as 2
    score = QUICK(
        Codes.from_arrays(np.zeros((600, 3)), factors={"v": values}, options=CodesOptions(unordered=unordered))
    )
    assert math.isnan(score.value)
    assert math.isnan(score.per_factor["v"])
    assert any("undefined" in note for note in score.notes)


def test_a_factor_that_no_probe_reads_is_left_out_of_the_mean():
    line = np.linspace(-1, 1, 600)
    alone = QUICK(Codes.from_arrays(line[:, None], factors={"v": line}))
    other = np.random.default_rng(0).permutation(np.arange(600) % 2 == 0).astype(int)
    both = QUICK(Codes.from_arrays(np.stack([line, line * 0], axis=1), factors={"v": line, "noise": other}))
    assert math.isnan(both.per_factor["noise"])
    assert both.value == both.per_factor["v"] == pytest.approx(alone.value, abs=0.05)


def test_a_factor_that_never_varies_among_the_test_rows_is_left_out_and_named():
    rng = np.random.default_rng(0)
    v = rng.normal(size=300)
    tasks = prediction_tasks(Statistics(Codes.from_arrays(v[:, None], factors={"v": v})), 10_000, 5_000, 0)
    rare = (v == float(tasks[0].train_labels[0])).astype(float)
    score = QUICK(Codes.from_arrays(np.stack([v, rare], axis=1), factors={"v": v, "rare": rare}))
    assert (score.value, math.isnan(score.per_factor["rare"])) == (score.per_factor["v"], True)
    assert score.parts["informativeness"].value > 0.9
    assert any(note.startswith("rare") for note in score.notes)


def test_no_interval_leaves_its_bounds_and_no_loss_counts_more_than_that_of_guessing():
    """Few rows of noise: a probe overfits, and does worse than to guess."""
    rng = np.random.default_rng(0)
    score = QUICK(Codes.from_arrays(rng.normal(size=(40, 8)), factors={"v": rng.normal(size=40)}))
    assert score.tables["loss"].min() > 1
    assert score.parts["informativeness"].value == 0
    line = rng.normal(size=300)
    exact = QUICK(Codes.from_arrays(line[:, None], factors={"v": line}))
    for value, interval, (low, high) in (
        (exact.value, exact.interval, (-1, 1)),
        *((p.value, p.interval, (0, 1)) for s in (score, exact) for p in s.parts.values()),
    ):
        assert low <= interval[0] <= value <= interval[1] <= high


# What is asked for, and refused


def test_it_is_computed_where_it_is_asked_for_by_name():
    assert "dcies" not in select("all").metrics
    assert select("dcies:num_steps=5").metrics["dcies:num_steps=5"].num_steps == 5


@pytest.mark.parametrize("hidden", [(0,), (8, 8), (32, 8), (-1, 8), (0, 10**6)])
def test_probes_rise_in_size(hidden):
    with pytest.raises(SpecError, match="DCIES: hidden is"):
        DCIES(hidden=hidden)


def test_steps_and_rates_are_positive_and_classes_fit_their_rows():
    with pytest.raises(SpecError, match="num_steps is 0"):
        DCIES(num_steps=0)
    with pytest.raises(SpecError, match="learning_rate is nan"):
        DCIES(learning_rate=math.nan)
    names = np.array([f"v{i}" for i in range(30)])
    with pytest.raises(CodesError, match="DCIES: factor 'v'"):
        QUICK(Codes.from_arrays(np.arange(30.0)[:, None], factors={"v": names}))


def test_a_factor_without_order_that_never_varies_among_the_training_rows_is_left_out_of_both():
    rng = np.random.default_rng(0)
    _, test = row_draws.train_and_test_rows(300, 10_000, 5_000, 0, "prediction")
    rare, v, z = np.zeros(300, dtype=int), rng.integers(0, 2, 300), rng.normal(size=(300, 2))
    rare[test[:5].numpy()] = 1
    score = QUICK(Codes.from_arrays(z, factors={"rare": rare, "v": v}, options=CodesOptions(unordered=["rare", "v"])))
    alone = QUICK(Codes.from_arrays(z, factors={"v": v}, options=CodesOptions(unordered=["v"])))
    assert math.isnan(score.per_factor["rare"])
    assert score.parts["informativeness"].value == pytest.approx(
        float(1 - score.tables["loss"][1].min().clamp(max=0.5))
    )
    assert score.parts["informativeness"].value == pytest.approx(alone.parts["informativeness"].value, abs=0.1)
