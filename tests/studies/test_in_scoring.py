"""InScoring: the same claim about scores of another scoring."""

from dataclasses import replace

import pytest

from tests.studies.made_scores import made_scores
from unbraid.errors import SpecError
from unbraid.evaluation.scoring import Scoring
from unbraid.recipes import from_json, to_json
from unbraid.runs.kept_scores import question_key
from unbraid.studies import Claim, Higher, InScoring, decide_all

LEFT_OUT = Scoring(discrete="left_out")
FIRST = made_scores({"ours": {"mig": [0.5, 0.6, 0.7, 0.8]}, "theirs": {"mig": [0.1, 0.2, 0.3, 0.4]}})
OTHER = made_scores({"ours": {"mig": [0.1, 0.2, 0.3, 0.4]}, "theirs": {"mig": [0.5, 0.6, 0.7, 0.8]}})
NAME = question_key("", LEFT_OUT.changes()).strip()
SCORES = replace(FIRST, numbers=(*FIRST.numbers, *(each._replace(scoring=NAME) for each in OTHER.numbers)))
HIGHER = Higher("Ours is higher.", "mig", "ours", "theirs")


def test_each_scoring_decides_by_its_own_scores():
    claim = InScoring.told_by(HIGHER, LEFT_OUT, "Without the category", is_control=True)
    assert claim.told == "Control: Without the category: Ours is higher."
    assert [each.verdict for each in decide_all([HIGHER, claim], SCORES)] == ["reproduced", "not reproduced"]
    assert from_json(to_json(claim), Claim) == claim


def test_without_scores_of_that_scoring_it_is_undecided():
    decision = InScoring.told_by(HIGHER, LEFT_OUT, "Without the category").decide(FIRST)
    assert decision.verdict == "undecided"
    assert decision.reason == f"No run has a score in the scoring {NAME}."
    half = replace(SCORES, numbers=tuple(each for each in SCORES.numbers if each.setting == "ours" or not each.scoring))
    decision = InScoring.told_by(HIGHER, LEFT_OUT, "Without the category").decide(half)
    assert decision.verdict == "undecided"
    assert "Scores are missing: theirs has no mig" in decision.reason


def test_it_is_checked_and_adjusted_as_the_claim_that_it_holds():
    claim = InScoring.told_by(replace(HIGHER, level=0.01), LEFT_OUT, "Without the category")
    assert claim.level == 0.01
    with pytest.raises(SpecError, match="'mig'"):
        claim.check(["ours", "theirs"], ["sap"])


def test_settings_that_answer_both_alike_have_their_scores_in_the_first():
    """Ours is 0.1 to 0.4 in the other scoring, and theirs is too in the first: neither is higher."""
    claim = InScoring.told_by(HIGHER, LEFT_OUT, "Without the category", alike=("theirs",))
    assert claim.decide(SCORES).numbers["probability"] == 0.5
    lacking = replace(
        SCORES, numbers=tuple(each for each in SCORES.numbers if each.setting == "ours" or not each.scoring)
    )
    assert claim.decide(lacking).numbers["probability"] == 0.5
