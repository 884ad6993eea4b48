"""AtMostTimes: surely not much above, surely far above, or neither."""

import pytest

from tests.studies.made_scores import made_scores
from unbraid.errors import SpecError
from unbraid.recipes import from_json, to_json
from unbraid.studies import AtMostTimes, Claim

SCORES = made_scores(
    {
        "seen": {"distortion": [80.0, 82.0, 81.0, 79.0]},
        "close": {"distortion": [84.0, 86.5, 85.0, 83.0]},
        "better": {"distortion": [78.0, 81.0, 79.0, 77.5]},
        "across": {"distortion": [86.0, 92.0, 88.0, 87.0]},
        "between": {"distortion": [94.0, 96.0, 95.0, 92.0]},
        "far": {"distortion": [104.0, 108.0, 105.0, 103.0]},
        "alone": {"distortion": [80.0]},
        "nothing": {"distortion": [0.0, 1.0, 1.0, 1.0]},
    },
    {"distortion": False},
)


def claim(ours, theirs="seen"):
    return AtMostTimes("hardly worse", "distortion", ours, theirs, times=1.1, refuted_above=1.25)


@pytest.mark.parametrize(
    ("ours", "verdict"),
    [
        ("close", "reproduced"),
        ("better", "reproduced"),
        ("across", "undecided"),
        ("between", "undecided"),
        ("far", "not reproduced"),
        ("alone", "undecided"),
    ],
)
def test_the_whole_interval_of_the_ratio_decides(ours, verdict):
    decision = claim(ours).decide(SCORES)
    assert decision.verdict == verdict
    assert decision.reason.endswith(".")
    assert from_json(to_json(claim(ours)), Claim) == claim(ours)


def test_the_interval_is_that_of_students_t():
    """Ratios 1 and 1.2: the mean is 1.1 and half the interval 12.706 standard errors of 0.1."""
    scores = made_scores({"one": {"d": [1.0, 1.0]}, "two": {"d": [1.0, 1.2]}})
    decision = AtMostTimes("", "d", "two", "one", 1.1, 1.25).decide(scores)
    assert decision.numbers["ratio"] == pytest.approx(1.1)
    assert decision.numbers["high"] - decision.numbers["ratio"] == pytest.approx(1.2706, abs=1e-4)


def test_there_is_no_ratio_to_nothing():
    decision = claim("seen", "nothing").decide(SCORES)
    assert decision.verdict == "undecided"
    assert "no ratio" in decision.reason


def test_limits_in_the_wrong_order_are_refused():
    with pytest.raises(SpecError, match="times <= refuted_above"):
        AtMostTimes("", "distortion", "close", "seen", 1.3, 1.25)
