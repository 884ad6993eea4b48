"""Curves whose end is known, with and without noise."""

import math
from dataclasses import replace

import numpy as np
import pytest
import scipy.stats
import torch

from tests.training.runs.finished_runs import SPEC
from unbraid.diagnose import history_check
from unbraid.diagnose.history_check import check_history
from unbraid.objectives import AAE, VAE, AnnealedVAE, FactorVAE
from unbraid.training.runs import History


def over(losses, spec=SPEC, every=1.0):
    rows = [(every * n, float(loss)) for n, loss in enumerate(losses)]
    return check_history(History(("step", "loss"), rows), spec)


def noise(count, seed=0):
    return torch.randn(count, generator=torch.Generator().manual_seed(seed), dtype=torch.float64).tolist()


def moments(count):
    return [(n + 1) / count for n in range(count)]


def decay(count, share, size=100.0, level=20.0):
    """An exponential whose time constant is this share of training."""
    return [level + size * math.exp(-t / share) for t in moments(count)]


@pytest.mark.parametrize("count", [20, 60, 800])
@pytest.mark.parametrize(
    ("share", "state"), [(0.03, "fine"), (0.1, "fine"), (1 / 8, "fine"), (1 / 4, "look"), (1.0, "look"), (5.0, "look")]
)
def test_an_exponential_is_level_once_its_time_is_a_small_share_of_training(count, share, state):
    found = over(decay(count, share))
    assert (found.state, "still falling" in found.sentence) == (state, state == "look")


@pytest.mark.parametrize("seed", range(10))
def test_noise_does_not_hide_what_is_still_gained(seed):
    curve = [20 + 10 / math.sqrt(t) for t in moments(200)]  # a power law never levels off
    found = over([value + 0.3 * each for value, each in zip(curve, noise(200, seed), strict=True)])
    assert (found.state, "still falling" in found.sentence) == ("look", True)
    # From 0.9 to 1 of training it falls by 0.54; 200 rows with this noise tell it to a third.
    assert found.numbers["gained"] == pytest.approx(0.54, abs=0.2)
    assert found.advice == ("Train longer: twice the steps (398 instead of 199). Latents may still change.",)


def test_what_the_last_tenth_brought_is_told():
    assert "2 nats" in over([100 - 0.2 * n for n in range(101)]).sentence
    slowing = over(decay(1000, 1 / 3))
    # 100 (e^-2.7 - e^-3); the line through the last third alone would say 2.6.
    assert slowing.numbers["gained"] == pytest.approx(1.74, rel=0.1)


@pytest.mark.parametrize("count", [20, 30, 100, 500])
def test_constant_noise_is_level(count):
    found = [over([26 + each for each in noise(count, seed)]) for seed in range(60)]
    assert sum(each.state != "fine" for each in found) <= 2  # three questions, each wrong one time in 1,000
    assert "had converged to 2" in found[0].sentence
    assert "no significant trend" in found[0].sentence


def test_a_loss_offset_by_a_constant_is_judged_alike():
    for share, state in ((0.1, "fine"), (0.5, "look")):
        assert over(decay(100, share, level=-60)).state == over(decay(100, share, level=0)).state == state


def test_few_or_uneven_rows_have_no_trend():
    assert over([1.0, 2.0]).sentence == "The history has 2 rows, too few for a trend."
    assert over(decay(19, 1.0)).state == "unknown"
    assert over(decay(20, 1.0)).state == "look"
    rows = [(float(n), 100.0 - n) for n in range(30)] + [(1e6, 20.0)]
    assert check_history(History(("step", "loss"), rows), SPEC).state == "unknown"
    assert check_history(History(), SPEC).state == "unknown"


@pytest.mark.parametrize(
    ("losses", "says"),
    [
        ([100.0 * math.exp(-n / 3) + 5 * max(0, n - 45) for n in range(50)], "was rising at the end"),
        ([10.0 + n for n in range(20)], "was rising at the end"),
        ([10.0 + 40 * (1 - math.exp(-n / 3)) for n in range(50)], "was higher at the end"),
        ([100.0 - n for n in range(48)] + [1e6, 1e9], "was rising at the end"),
        ([20 + 20 * (n / 100 - 0.6) ** 2 + 0.3 * each for n, each in enumerate(noise(100))], "was rising at the end"),
        ([100.0 - n for n in range(30)] + [math.nan] * 3, "not finite from step 30 on"),
        ([math.nan, math.inf], "not finite from step 0 on"),
    ],
)
def test_a_loss_that_rises_or_is_lost_is_looked_at(losses, says):
    found = over(losses)
    assert (found.state, says in found.sentence) == ("look", True)
    assert "smaller learning rate" in found.advice[0]


def test_a_schedule_that_raises_the_loss_is_not_blamed_on_the_learning_rate():
    rising = [10.0 + n for n in range(40)]
    scheduled, constant = (replace(SPEC, objective=objective) for objective in (AnnealedVAE(), VAE()))
    assert "has a schedule" in over(rising, scheduled).advice[0]
    assert "learning rate (" in over(rising, constant).advice[0]


def test_numbers_that_were_not_finite_on_the_way_are_left_out():
    losses = decay(60, 0.1)
    losses[30] = math.nan
    assert over(losses).state == "fine"


@pytest.mark.parametrize(
    ("objective", "columns", "name"),
    [
        (AAE(), ("distortion",), "The distortion"),
        (FactorVAE(), ("distortion", "rate"), "Distortion plus rate"),
        (AAE(), (), "The loss"),
    ],
)
def test_of_a_game_the_distortion_is_judged(objective, columns, name):
    wild = [500 + 100 * each for each in noise(60)]
    history = History(
        ("step", "loss", *columns),
        [(float(n), wild[n], *(100.0 - n for _ in columns)) for n in range(60)],
    )
    found = check_history(history, replace(SPEC, objective=objective))
    assert found.numbers["judged"] == name
    assert found.sentence.startswith(f"{name} was still falling" if columns else "The loss had converged")
    assert ("adversarial loss" in found.sentence) == bool(columns)
    assert check_history(history, replace(SPEC, objective=VAE())).numbers["judged"] == "The loss"


@pytest.mark.parametrize("alike", [0.5, 0.8])
def test_noise_that_is_alike_from_row_to_row_is_seldom_taken_for_a_trend(alike):
    """Flat curves of 300 rows whose noise has this correlation from one row to the next."""
    wrong = 0
    for seed in range(60):
        curve, last = [], 0.0
        for each in noise(300, seed):
            last = alike * last + math.sqrt(1 - alike**2) * each
            curve.append(26 + last)
        wrong += over(curve).state != "fine"
    assert wrong <= 3


def test_a_slope_of_either_sign_is_clear_by_chance_once_in_a_thousand():
    part = np.ones(50, dtype=np.bool_)
    assert 2 * scipy.stats.t.sf(history_check._clear(part), 48) == pytest.approx(0.001)
