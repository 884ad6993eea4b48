"""Table 1 of Chen et al.: the laws that its experiments rest on, on small grids."""

import itertools
from pathlib import Path

import pytest

from unbraid.audit.made_codes import categorical_codes, drawn_codes, gaussian_codes
from unbraid.metrics import MIG, FactorVAEScore, ZDiff
from unbraid.papers.chen2018.table1 import (
    AXIS,
    DEGREES,
    GENERAL,
    SETTINGS,
    TABLE1,
    Size,
    draw_turns,
    in_general,
    table1_work,
    turned,
    under_settings,
)
from unbraid.papers.judgement import judge
from unbraid.studies.execute import StudyOptions

SMALL = Size((2, 8, 8), (0.2,), (1, 16), (4, 32), (100,), (500,), num_train=300, num_test=200, num_draws=8)


@pytest.fixture(scope="module")
def turns() -> dict[str, float]:
    return turned(SMALL, 0.2)


def test_the_gap_closes_with_every_turn_and_is_nothing_at_45_degrees(turns: dict[str, float]) -> None:
    gaps = [turns[f"mig:{degrees} degrees"] for degrees in DEGREES]
    assert gaps == sorted(gaps, reverse=True)
    assert len(set(gaps)) == len(gaps)
    assert gaps[-1] == pytest.approx(0, abs=1e-6)
    assert turns["mig"] == gaps[0] - gaps[3]
    falls = [before - after for before, after in itertools.pairwise(gaps)]
    assert turns["mig:least fall from turn to turn"] == min(falls) > 0


def test_the_vote_and_the_classifier_see_no_turn_below_45_degrees(turns: dict[str, float]) -> None:
    # In a batch that shares a factor, the variances of the turned latents are sin² and cos² times one number.
    for degrees in DEGREES[:-1]:
        assert turns[f"factor-vae-score:{degrees} degrees"] > 0.95
        assert turns[f"zdiff:{degrees} degrees"] > 0.95
    assert turns["factor-vae-score:45 degrees"] < 0.9


def test_latents_of_the_other_factor_are_not_turned() -> None:
    plain, turned_codes = (MIG()(gaussian_codes(degrees, 0.2, SMALL.grid)) for degrees in (0, 40))
    assert plain.per_factor["scale"] == pytest.approx(turned_codes.per_factor["scale"])


def test_the_spread_is_that_of_the_codes_that_move_the_metric_most() -> None:
    found = under_settings(SMALL, 0.2)
    votes = [value for name, value in found.items() if name.startswith("factor-vae-score:") and "30 deg" in name]
    assert found["factor-vae-score"] >= max(votes) - min(votes)
    assert len(votes) == 2
    assert "mig:100 bins, 30 degrees" in found


def test_a_bimodal_posterior_hides_the_factor_from_means_but_not_from_information() -> None:
    codes = drawn_codes("bimodal", 0.05, 32, 0, SMALL.grid)
    assert codes.mean[:, :3].abs().mean() < 0.5  # the modes lie at -2 and 2
    found = in_general(SMALL, 0.2, 0)
    assert found["mig"] > 0.6  # of few draws
    assert found["zdiff"] < 0.9
    assert found["factor-vae-score"] < 0.9
    assert found["factor-vae-score"] == found["factor-vae-score:bimodal"]


def test_categorical_latents_that_are_sure_have_a_gap_of_one() -> None:
    codes = categorical_codes(SMALL.grid)
    assert MIG()(codes).value == pytest.approx(1)
    columns = codes.with_discrete_as_columns()
    assert FactorVAEScore(num_train=200, num_test=100)(columns).value == 1
    assert ZDiff(num_train=200, num_test=100)(columns).value > 0.95


def test_nine_cells_and_the_closing_gap_are_decided_and_drawn(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    work = TABLE1.at("smoke")
    assert work.run(tmp_path, StudyOptions(progress=False)).failures == {}
    judgement = judge(TABLE1, "smoke", work.scores(tmp_path))
    assert len(judgement.claims) == 11
    assert not judgement.is_partial
    assert "undecided" not in [decision.verdict for decision in judgement.decisions]
    (axes,) = draw_turns(judgement.scores)
    assert len(axes.get_lines()) == 3


def test_every_experiment_is_done_at_every_width() -> None:
    work = table1_work(Size())
    assert work.num_runs == 6
    assert {label.rpartition(", ")[0] for label in work.cases} == {AXIS, SETTINGS, GENERAL}
