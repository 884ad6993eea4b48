"""Claims about printed numbers: ratios, gains, planes of two scores, weak correlations and settings that were found."""

import pytest

from tests.studies.made_scores import made_scores
from unbraid.errors import SpecError
from unbraid.recipes import from_json, to_json
from unbraid.studies import (
    Claim,
    Dominated,
    FoundAmong,
    Higher,
    Interaction,
    Near,
    PrintedRange,
    Ratio,
    WeaklyCorrelated,
)
from unbraid.studies.study_scores import metric_and_part

SCORES = made_scores(
    {
        "one": {"zdiff:svm": [0.80, 0.81, 0.82, 0.83], "error": [1.0, 1.1, 0.9, 1.0]},
        "two": {"zdiff:svm": [0.90, 0.91, 0.92, 0.93], "error": [2.0, 2.2, 1.8, 2.0]},
        "both": {"zdiff:svm": [0.95, 0.96, 0.94, 0.95], "error": [0.8, 0.7, 0.8, 0.8]},
        "flat": {"zdiff:svm": [0.80, 0.82, 0.81, 0.83], "error": [1.0, 1.0, 1.0, 1.0]},
        "zero": {"error": [0.0, 0.0]},
        "alone": {"zdiff:svm": [0.9], "error": [2.0]},
    },
    {"error": False},
)
RANGES = (PrintedRange("zdiff:svm", 0.89, 0.93), PrintedRange("error", 1.9, 2.1))


@pytest.mark.parametrize(
    ("claim", "verdict"),
    [
        (Ratio("twice the error", "error", "two", "one", 1.8, 2.2), "reproduced"),
        (Ratio("four times the error", "error", "two", "one", 4), "not reproduced"),
        (Ratio("no more error", "error", "both", "one", high=1.0), "reproduced"),
        (Ratio("no ratio to nothing", "error", "one", "zero", high=1.0), "undecided"),
        (Ratio("one seed says little", "error", "alone", "one", high=3.0), "undecided"),
        (Interaction("gains more", "zdiff:svm", "two", "one", "flat", "one"), "reproduced"),
        (Interaction("gains less", "zdiff:svm", "flat", "one", "two", "one"), "not reproduced"),
        (Interaction("gains as much", "zdiff:svm", "two", "one", "two", "flat"), "undecided"),
        (Dominated("both beats all", "zdiff:svm", "error", ("both",), ("one", "two")), "reproduced"),
        (Dominated("two beats none", "zdiff:svm", "error", ("two",), ("one", "both")), "not reproduced"),
        (Dominated("one beats two in error only", "zdiff:svm", "error", ("one",), ("two",)), "not reproduced"),
        (Dominated("some", "zdiff:svm", "error", ("one", "two"), ("both", "two")), "in part"),
        (WeaklyCorrelated("strong", "zdiff:svm", "error", ("one", "two", "flat"), 0.3), "not reproduced"),
        (WeaklyCorrelated("weak", "zdiff:svm", "error", ("one", "two", "flat"), 1.1), "reproduced"),
        (FoundAmong("two it is", ("one", "two"), RANGES), "reproduced"),
        (FoundAmong("neither", ("one", "both"), RANGES), "not reproduced"),
        (Near("the best of four", "zdiff:svm", "one", 0.83, 0.001, best_of=4), "reproduced"),
        (Near("the best of four errs least", "error", "one", 0.9, 0.001, best_of=4), "reproduced"),
        (Near("the best of nine", "zdiff:svm", "one", 0.83, 0.001, best_of=9), "undecided"),
    ],
    ids=lambda value: value.sentence if isinstance(value, Claim) else value,
)
def test_scores_decide(claim: Claim, verdict: str) -> None:
    decision = claim.decide(SCORES)
    assert decision.verdict == verdict
    assert decision.reason.endswith(".")
    assert from_json(to_json(claim), Claim) == claim


def test_the_nearest_setting_is_told() -> None:
    decision = FoundAmong("neither", ("both", "one"), RANGES).decide(SCORES)
    assert "nearest of 2 settings is both" in decision.reason
    assert decision.numbers["both"] < decision.numbers["one"]


def test_a_metric_with_settings_in_its_name_may_have_a_part() -> None:
    metrics = ["zdiff:svm", "mig"]
    assert metric_and_part("zdiff:svm", metrics) == ("zdiff:svm", "")
    assert metric_and_part("zdiff:svm:scale", metrics) == ("zdiff:svm", "scale")
    assert metric_and_part("mig:scale", metrics) == ("mig", "scale")
    assert metric_and_part("sap:scale", metrics) == ("sap:scale", "")
    assert Higher("b", "zdiff:svm", "two", "one").decide(SCORES).verdict == "reproduced"


@pytest.mark.parametrize("build", [lambda: Ratio("?", "error", "a", "b", 2, 1), lambda: PrintedRange("error", 1, 1)])
def test_an_empty_range_is_refused(build) -> None:
    with pytest.raises(SpecError, match="expected low <"):
        build()
