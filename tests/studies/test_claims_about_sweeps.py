"""Claims about sweeps and shares: averages along a line, peaks, pooled and paired settings, levels."""

from dataclasses import replace

import numpy as np
import pytest

from tests.studies.made_scores import made_scores
from unbraid.errors import SpecError
from unbraid.recipes import from_json, to_json
from unbraid.studies import (
    AtLeast,
    AveragesCorrelated,
    Claim,
    EquivalentPairs,
    HigherAtMatched,
    HigherInPairs,
    LowestAbove,
    MoreCorrelated,
    MoreFactorsAbove,
    MoreOftenAbove,
    MostReach,
    PeaksAt,
    PooledHigher,
)
from unbraid.studies.statistics.averages import averaged_pairs, correlations, mean_height
from unbraid.studies.study_scores import Number

NOISE = (-0.02, -0.01, 0.0, 0.01, 0.02, 0.015)


def around(value, noise=NOISE):
    return [value + each for each in noise]


# "a" falls along a line from total correlation 4 to 1; "b" stays where it is, at any total correlation, and lower.
SCORES = made_scores(
    {
        "start": {"mig": around(0.1), "tc": around(4.0)},
        "a 2": {"mig": around(0.3), "tc": around(2.5)},
        "a 4": {"mig": around(0.5), "tc": around(1.0)},
        "b 2": {"mig": around(0.12), "tc": around(2.5)},
        "b 4": {"mig": around(0.09), "tc": around(1.0)},
        "mixed": {"mig": [0.05, 0.06, 0.5, 0.05, 0.04, 0.06], "tc": around(2.0)},
        "torn 1": {"mig": [0.1, 0.9, 0.2, 0.8, 0.3, 0.7]},
        "torn 2": {"mig": [0.9, 0.11, 0.8, 0.2, 0.7, 0.3]},
        "torn 3": {"mig": [0.3, 0.2, 0.1, 0.89, 0.8, 0.7]},
        "alone": {"mig": [0.4], "tc": [1.0]},
    }
)
A, B = ("start", "a 2", "a 4"), ("start", "b 2", "b 4")


@pytest.mark.parametrize(
    ("claim", "verdict"),
    [
        (AveragesCorrelated("falls", "tc", "mig", A, "negative"), "reproduced"),
        (AveragesCorrelated("rises", "tc", "mig", A, "positive"), "not reproduced"),
        (AveragesCorrelated("too strong", "tc", "mig", (*A, "b 2"), "negative", strength=0.99), "undecided"),
        (AveragesCorrelated("of one seed", "tc", "mig", ("start", "a 2", "alone"), "negative"), "undecided"),
        (AveragesCorrelated("of two settings", "tc", "mig", ("start", "a 2"), "negative"), "undecided"),
        (MoreCorrelated("more", "tc", "mig", A, B), "reproduced"),
        (MoreCorrelated("less", "tc", "mig", B, A), "not reproduced"),
        (HigherAtMatched("above", "mig", "tc", A, B), "reproduced"),
        (HigherAtMatched("below", "mig", "tc", B, A), "not reproduced"),
        (HigherAtMatched("apart", "mig", "tc", ("a 4",), ("start",)), "undecided"),
        (PeaksAt("at the end", "mig", A, ("a 4",)), "reproduced"),
        (PeaksAt("in the middle", "mig", A, ("a 2",)), "not reproduced"),
        (
            PeaksAt("no other has half of the resamples", "mig", ("torn 1", "torn 2", "torn 3"), ("torn 2",)),
            "undecided",
        ),
        (AtLeast("half", "mig", "a 4", 0.45), "reproduced"),
        (AtLeast("more", "mig", "a 4", 0.6), "not reproduced"),
        (AtLeast("about", "mig", "a 4", 0.5), "undecided"),
        (AtLeast("one seed", "mig", "alone", 0.3), "undecided"),
        (AtLeast("at best", "mig", "mixed", 0.45, "best"), "reproduced"),
        (AtLeast("never", "mig", "mixed", 0.6, "best"), "not reproduced"),
        (MostReach("all", "mig", ("a 4", "a 4"), 0.45), "reproduced"),
        (MostReach("half of them", "mig", ("a 4", "start"), 0.45, 0.5), "reproduced"),
        (MostReach("too few", "mig", ("a 4", "start"), 0.45), "not reproduced"),
        (MostReach("about", "mig", ("a 4",), 0.5), "undecided"),
        (MostReach("of one seed", "mig", ("alone",), 0.3), "undecided"),
        (PooledHigher("above", "mig", ("a 2", "a 4"), ("b 2", "b 4")), "reproduced"),
        (PooledHigher("below", "mig", ("b 2", "b 4"), ("a 2", "a 4")), "not reproduced"),
        (MoreOftenAbove("often", "mig", ("a 4",), ("mixed",)), "reproduced"),
        (MoreOftenAbove("seldom", "mig", ("mixed",), ("a 4",)), "not reproduced"),
        (LowestAbove("all above", "mig", "a 4", ("a 2", "mixed")), "reproduced"),
        (LowestAbove("one above", "mig", "a 2", ("a 4", "mixed")), "in part"),
        (LowestAbove("none above", "mig", "start", ("a 2", "a 4")), "not reproduced"),
        (EquivalentPairs("alike", "mig", "start", "b 4", 0.03), "reproduced"),
        (EquivalentPairs("far", "mig", "a 4", "b 4", 0.03), "not reproduced"),
        (EquivalentPairs("one pair", "mig", "alone", "b 4", 0.03), "undecided"),
    ],
    ids=lambda value: getattr(value, "sentence", None),
)
def test_verdicts(claim: Claim, verdict: str) -> None:
    decision = claim.decide(SCORES)
    assert decision.verdict == verdict
    assert decision.reason.endswith(".")
    assert from_json(to_json(claim), Claim) == claim


def test_pairs_that_differ_by_a_little_tell_the_side() -> None:
    decision = EquivalentPairs("alike", "mig", "b 2", "start", 0.03).decide(SCORES)
    assert decision.verdict == "reproduced"
    assert "higher" in decision.reason


def test_r_is_pearsons_and_the_seen_one_comes_first() -> None:
    pairs = {label: SCORES.paired(label, "tc", "mig") for label in B}
    points = averaged_pairs(pairs, num_resamples=10)
    means = np.array([[np.mean(x), np.mean(y)] for x, y in pairs.values()])
    assert points[0] == pytest.approx(means)
    assert correlations(points)[0] == pytest.approx(np.corrcoef(means.T)[0, 1])
    assert points[1:, 0] == pytest.approx(averaged_pairs({"start": pairs["start"]}, num_resamples=10)[1:, 0])


def test_factors_with_a_high_score_are_counted_seed_by_seed() -> None:
    factors = [
        Number(label, seed, "mig", "", "factor", f"v{k}", 0.1 * k if label == "a 2" else 0.0, 0.0, 0.0, "")
        for label in ("a 2", "b 2")
        for seed in range(6)
        for k in range(5)
    ]
    scores = replace(SCORES, numbers=(*SCORES.numbers, *factors))
    decision = MoreFactorsAbove("more", "mig", "a 2", "b 2", 0.2).decide(scores)
    assert decision.verdict == "reproduced"
    assert (decision.numbers["mean"], decision.numbers["other mean"]) == (3.0, 0.0)
    assert MoreFactorsAbove("fewer", "mig", "b 2", "a 2", 0.2).decide(scores).verdict == "not reproduced"
    assert MoreFactorsAbove("none", "mig", "b 2", "a 2", 0.9).decide(scores).verdict == "undecided"


def test_parts_are_paired_within_a_seed() -> None:
    parts = [
        Number(label, seed, "mig", "", "part", f"z{k}", 0.1 * k + (0.05 if label == "a 2" else 0.0), 0.0, 0.0, "")
        for label in ("a 2", "b 2")
        for seed in range(3)
        for k in range(3 if label == "a 2" else 4)
    ]
    scores = replace(SCORES, numbers=(*SCORES.numbers, *parts))
    decision = HigherInPairs("above", "mig", "a 2", "b 2").decide(scores)
    assert decision.verdict == "reproduced"
    assert decision.numbers["pairs"] == 9
    assert decision.numbers["p"] == pytest.approx(0.5**9)
    assert HigherInPairs("below", "mig", "b 2", "a 2").decide(scores).verdict == "not reproduced"
    assert HigherInPairs("without parts", "mig", "a 2", "b 4").decide(scores).verdict == "undecided"


def test_a_score_that_does_not_vary_has_no_correlation() -> None:
    flat = made_scores({name: {"x": [1.0, 1.0], "y": [0.1, 0.2]} for name in "abc"})
    assert AveragesCorrelated("?", "x", "y", ("a", "b", "c")).decide(flat).verdict == "undecided"


def test_the_mean_height_of_a_straight_line_is_that_of_its_middle() -> None:
    points = np.array([[[0.0, 0.0], [2.0, 4.0], [1.0, 2.0]]])
    assert mean_height(points, 0.5, 1.5) == pytest.approx([2.0])


def test_settings_that_cannot_be_meant_are_refused() -> None:
    with pytest.raises(SpecError, match="'c' is expected"):
        PeaksAt("?", "mig", ("a", "b"), ("c",))
    with pytest.raises(SpecError, match="as many of one"):
        PooledHigher("?", "mig", ("a", "b"), ("c",))
    with pytest.raises(SpecError, match="margin is 0"):
        EquivalentPairs("?", "mig", "a", "b", 0.0)
