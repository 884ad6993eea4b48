"""HigherSum: terms of one quantity that are kept apart."""

import pytest

from tests.studies.made_scores import made_scores
from unbraid.errors import SpecError
from unbraid.recipes import from_json, to_json
from unbraid.studies import Claim, Higher, HigherSum

SCORES = made_scores(
    {
        "ours": {"one": [1.0, 1.1, 1.2, 1.3], "other": [5.0, 5.1, 5.2, 5.3]},
        "theirs": {"one": [2.0, 2.1, 2.2, 2.3], "other": [1.0, 1.1, 1.2, 1.3]},
        "equal": {"one": [4.0, 4.3, 4.2, 4.4], "other": [2.05, 1.9, 2.2, 2.15]},
        "gaps": {"one": [9.0, 9.0, 1.0, 1.1], "other": [None, None, 5.0, 5.1]},
    }
)


def test_the_sum_may_be_higher_where_a_term_is_not():
    claim = HigherSum("higher together", ("one", "other"), "ours", "theirs")
    assert claim.decide(SCORES).verdict == "reproduced"
    assert claim.decide(SCORES).reason.count("one + other") == 1
    assert Higher("", "one", "ours", "theirs").decide(SCORES).verdict == "not reproduced"
    assert from_json(to_json(claim), Claim) == claim


@pytest.mark.parametrize(("ours", "verdict"), [("theirs", "not reproduced"), ("equal", "undecided")])
def test_the_opposite_and_neither_are_told(ours, verdict):
    assert HigherSum("", ("one", "other"), ours, "ours").decide(SCORES).verdict == verdict


def test_seeds_without_all_terms_do_not_count():
    assert "2 and 4 seeds" in HigherSum("", ("one", "other"), "gaps", "theirs").decide(SCORES).reason


def test_one_term_is_no_sum():
    with pytest.raises(SpecError, match="at least two"):
        HigherSum("", ("one",), "ours", "theirs")
