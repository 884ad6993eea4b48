"""Claims about factors one by one, about sweeps that fall again, about printed numbers without a unit, and about models
that may not have learned.
"""

import math
from dataclasses import replace

import pytest

from tests.studies.made_scores import made_scores
from unbraid.errors import SpecError
from unbraid.papers.work import claims_to_json
from unbraid.recipes import from_json, to_json
from unbraid.studies import (
    BelowItsBest,
    Claim,
    Higher,
    MediansInOrder,
    MoreFactorsHigher,
    NotLower,
    OneMetricFits,
    OnlyIf,
    decide_all,
)
from unbraid.studies.study_scores import Number

NOISE = (-0.02, -0.01, 0.0, 0.01, 0.02, 0.015)


def around(value):
    return [value + each for each in NOISE]


SCORES = made_scores(
    {
        "low": {"mig": around(0.1), "information": around(5.0), "error": around(1.0), "other": around(9.0)},
        "middle": {"mig": around(0.3), "information": around(0.5), "error": around(2.0), "other": around(9.0)},
        "high": {"mig": around(0.5), "information": around(4.0), "error": around(4.1), "other": around(9.0)},
        "torn": {"mig": [0.0, 0.5, 0.1, 0.45, 0.05, 0.3], "information": around(1.0)},
        "alone": {"mig": [0.2], "information": [5.0], "error": [1.0], "other": [1.0]},
    }
)


def with_factors(by_setting):
    """Returns scores of factors: `by_setting[setting]` is a list of rows, one for each seed."""
    found = made_scores({label: {"mig": [0.0] * len(rows)} for label, rows in by_setting.items()})
    more = [
        Number(label, seed, "mig", "", "factor", f"f{place}", float(value), math.nan, math.nan, "")
        for label, rows in by_setting.items()
        for seed, row in enumerate(rows)
        for place, value in enumerate(row)
    ]
    return replace(found, numbers=(*found.numbers, *more))


@pytest.mark.parametrize(
    ("claim", "verdict"),
    [
        (BelowItsBest("falls", "mig", ("low", "high", "middle")), "reproduced"),
        (BelowItsBest("does not fall", "mig", ("low", "middle", "high")), "not reproduced"),
        (BelowItsBest("who knows", "mig", ("low", "middle", "torn")), "undecided"),
        (MediansInOrder("rises", "mig", ("low", "middle", "high")), "reproduced"),
        (MediansInOrder("falls", "mig", ("high", "middle", "low")), "not reproduced"),
        (MediansInOrder("who knows", "mig", ("torn", "low", "high")), "undecided"),
        (MediansInOrder("of one seed", "mig", ("low", "alone", "high")), "undecided"),
        (NotLower("higher", "mig", "high", "low", 0.05), "reproduced"),
        (NotLower("the same", "mig", "low", "low", 0.05), "reproduced"),
        (NotLower("lower", "mig", "low", "high", 0.05), "not reproduced"),
        (NotLower("too wide", "mig", "torn", "low", 0.05), "undecided"),
        (NotLower("of one seed", "mig", "alone", "low", 0.05), "undecided"),
        (OneMetricFits("fits", ("error", "other"), ("low", "middle"), (1.0, 2.0)), "reproduced"),
        (OneMetricFits("fits the first", ("error", "other"), ("low", "middle"), (1.0, 9.0)), "not reproduced"),
        (OneMetricFits("none fits", ("error", "other"), ("low", "middle"), (80.0, 80.0)), "not reproduced"),
        (OneMetricFits("of one seed", ("error", "other"), ("low", "alone"), (1.0, 1.0)), "undecided"),
    ],
)
def test_verdicts(claim: Claim, verdict: str) -> None:
    decision = claim.decide(SCORES)
    assert decision.verdict == verdict, decision
    assert decision.reason.endswith(".")
    assert from_json(to_json(claim), Claim) == claim


def test_a_choice_after_the_fact_is_paid_for() -> None:
    two, three = (BelowItsBest("?", "mig", labels) for labels in (("high", "low"), ("middle", "high", "low")))
    assert three.decide(SCORES).p_value == pytest.approx(2 * two.decide(SCORES).p_value)


@pytest.mark.parametrize(("least", "verdict"), [(2, "reproduced"), (3, "not reproduced")])
def test_factors_are_counted_by_their_medians_and_a_tie_counts_against_it(least: int, verdict: str) -> None:
    ours = [[0.9, 0.8, 0.5, 0.1]] * 5
    theirs = [[0.1, 0.2, 0.5, 0.3]] * 5
    decision = MoreFactorsHigher("most", "mig", "a", "b", least).decide(with_factors({"a": ours, "b": theirs}))
    assert decision.verdict == verdict
    assert "in 2 of 4 factors (2 to 2), ties in 1 and is below in 1" in decision.reason


def test_factors_that_depend_on_the_seed_decide_nothing() -> None:
    ours = [[0.9, 0.1], [0.1, 0.9], [0.9, 0.1], [0.1, 0.9], [0.9, 0.9]]
    scores = with_factors({"a": ours, "b": [[0.5, 0.5]] * 5})
    assert MoreFactorsHigher("most", "mig", "a", "b", 2).decide(scores).verdict == "undecided"
    assert "No run has" in MoreFactorsHigher("most", "mig", "low", "high", 2).decide(SCORES).reason


def guarded(other: str, **options) -> OnlyIf:
    return OnlyIf.told_by(Higher(f"Higher than {other}.", "mig", "high", other, **options), "information", other, 2.0)


def test_what_has_not_learned_is_not_compared() -> None:
    kept, refused = guarded("low"), guarded("middle")
    assert kept.decide(SCORES).verdict == "reproduced"
    decision = refused.decide(SCORES)
    assert decision.verdict == "undecided"
    assert decision.reason.startswith("Not compared: middle has a median of information of 0.5")
    assert decision.p_value is None
    assert [each.verdict for each in decide_all([kept, refused], SCORES)] == ["reproduced", "undecided"]


def test_a_guarded_claim_has_one_sentence_and_the_level_of_its_test() -> None:
    claim = guarded("low", level=0.01)
    assert claim.sentence == "Higher than low."
    assert claim.level == 0.01
    assert from_json(to_json(claim), Claim) == claim
    assert "Higher than" not in str(claims_to_json([claim]))
    with pytest.raises(SpecError, match="nobody"):
        guarded("nobody").check(["low", "high"], ["mig", "information"])


@pytest.mark.parametrize(
    "make",
    [
        lambda: BelowItsBest("?", "mig", ("low",)),
        lambda: MediansInOrder("?", "mig", ("low", "high")),
        lambda: NotLower("?", "mig", "low", "high", 0.0),
        lambda: MoreFactorsHigher("?", "mig", "low", "high", 0),
        lambda: OneMetricFits("?", ("mig",), ("low",), (1.0, 2.0)),
    ],
)
def test_claims_that_mean_nothing_are_refused(make) -> None:
    with pytest.raises(SpecError):
        make()
