"""Difference: two numbers of every run lie so far apart."""

import pytest

from tests.studies.test_within import scores
from unbraid.errors import SpecError
from unbraid.studies import Difference


def test_every_run_must_have_the_difference() -> None:
    """Of made scores the factor is minus the value, so their difference is twice the value."""
    claim = Difference("They lie 0.2 to 1 apart.", "mig", "mig:x", ("a",), 0.2, 1.0)
    assert claim.decide(scores(0.1, 0.5)).verdict == "reproduced"
    refuted = claim.decide(scores(0.1, 0.6))
    assert refuted.verdict == "not reproduced"
    assert "from 0.2 to 1.2 over 2 runs; 1 of them" in refuted.reason
    assert claim.decide(scores()).verdict == "undecided"


def test_a_share_of_the_runs_may_do() -> None:
    half = Difference("x", "mig", "mig:x", ("a",), high=0.5, share=0.5)
    assert half.decide(scores(0.1, 0.6)).verdict == "reproduced"
    assert half.decide(scores(0.1, 0.6, 0.7)).verdict == "not reproduced"


def test_an_empty_range_is_refused() -> None:
    with pytest.raises(SpecError, match="low <= high"):
        Difference("x", "mig", "mig:x", ("a",), 1.0, 0.0)
    with pytest.raises(SpecError, match="share is 0"):
        Difference("x", "mig", "mig:x", ("a",), share=0.0)
