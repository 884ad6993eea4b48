"""Within: a range that every run must lie in."""

import pytest

from unbraid.errors import SpecError
from unbraid.studies import Within
from unbraid.studies.study_scores import Number, ScoredRun, StudyScores


def scores(*values: float) -> StudyScores:
    runs = tuple(ScoredRun("a", seed, f"a-{seed}", "finished") for seed in range(len(values)))
    nan = float("nan")
    numbers = [Number("a", s, "mig", "", "value", "", v, nan, nan, f"a-{s}") for s, v in enumerate(values)]
    numbers += [Number("a", s, "mig", "", "factor", "x", -v, nan, nan, f"a-{s}") for s, v in enumerate(values)]
    return StudyScores(("a",), {"a": "a"}, ("mig",), {"mig": True}, runs, tuple(numbers))


def test_every_run_must_lie_in_the_range() -> None:
    claim = Within("MIG is at most one half.", "mig", ("a",), high=0.5)
    assert claim.decide(scores(0.1, 0.5)).verdict == "reproduced"
    refuted = claim.decide(scores(0.1, 0.6))
    assert refuted.verdict == "not reproduced"
    assert "0.6 of a (seed 1)" in refuted.reason
    assert claim.decide(scores()).verdict == "undecided"


def test_a_factor_may_follow_the_name_of_the_metric() -> None:
    assert Within("x", "mig:x", ("a",), low=-0.5, high=0.0).decide(scores(0.1, 0.5)).verdict == "reproduced"


def test_an_empty_range_is_refused() -> None:
    with pytest.raises(SpecError, match="low <= high"):
        Within("x", "mig", ("a",), low=1.0, high=0.0)
