"""Claims: what scores decide, and what they leave undecided."""

from dataclasses import dataclass, replace

import pytest

from tests.studies.made_scores import made_scores
from unbraid.errors import SpecError, UnbraidError
from unbraid.recipes import from_json, to_json
from unbraid.studies.claims import (
    Claim,
    ClearlyHigher,
    Correlated,
    Decision,
    Equivalent,
    Growing,
    Higher,
    Near,
    decide_all,
)

LOW, HIGH = [0.10, 0.12, 0.14, 0.16, 0.18], [0.30, 0.33, 0.36, 0.39, 0.42]
SCORES = made_scores(
    {
        "a": {"mig": LOW, "sap": [9, 8, 7, 6, 5]},
        "b": {"mig": HIGH, "sap": [4, 3, 2, 1, 0]},
        "c": {"mig": [0.11, 0.13, 0.31, 0.40, 0.15], "sap": [9, 7, 4, 3, 6]},
        "alone": {"mig": [0.2]},
        "none": {"mig": [None, None]},
    }
)


@pytest.mark.parametrize(
    ("claim", "verdict"),
    [
        (Higher("b above a", "mig", "b", "a"), "reproduced"),
        (Higher("a above b", "mig", "a", "b"), "not reproduced"),
        (Higher("c above a", "mig", "c", "a"), "undecided"),
        (Higher("alone above a", "mig", "alone", "a"), "undecided"),
        (Equivalent("the same as itself", "mig", "a", "a", 0.1), "reproduced"),
        (Equivalent("a is b", "mig", "a", "b", 0.05), "not reproduced"),
        (Equivalent("a is c", "mig", "a", "c", 0.05), "undecided"),
        (Growing("grows", "mig", ("a", "b")), "reproduced"),
        (Growing("falls", "mig", ("a", "b"), "falls"), "not reproduced"),
        (Growing("falls from b", "mig", ("b", "a"), "falls"), "reproduced"),
        (Correlated("go against each other", "mig", "sap", ("a", "b", "c"), "negative"), "reproduced"),
        (Correlated("go together", "mig", "sap", ("a", "b", "c")), "not reproduced"),
        (Near("is 0.14", "mig", "a", 0.14, 0.01), "reproduced"),
        (Near("is 0.3", "mig", "a", 0.3, 0.01), "not reproduced"),
        (Near("the interval alone reaches it", "mig", "c", 0.12, 0.01), "undecided"),
        (Near("one seed says little", "mig", "alone", 0.2, 0.01), "undecided"),
    ],
    ids=lambda value: value.sentence if isinstance(value, Claim) else value,
)
def test_scores_decide(claim, verdict):
    decision = claim.decide(SCORES)
    assert decision.verdict == verdict
    assert decision.reason.endswith(".")


def test_a_trend_with_two_turns_is_reproduced_in_part():
    scores = made_scores(
        {str(i): {"mig": [base + seed / 1000 for seed in range(6)]} for i, base in enumerate([0, 2, 1, 4, 3, 6])}
    )
    decision = Growing("grows", "mig", tuple("012345")).decide(scores)
    assert decision.verdict == "in part"
    assert "2 of 5 neighbouring medians turn back" in decision.reason


def test_an_undecided_order_says_how_many_seeds_would_tell():
    assert "seeds each would tell" in Higher("c above a", "mig", "c", "a").decide(SCORES).reason


def test_missing_scores_leave_a_claim_undecided_and_are_named():
    decision = Higher("b above none", "mig", "b", "none").decide(SCORES)
    assert (decision.verdict, decision.reason) == ("undecided", "Scores are missing: none has no mig.")


def test_a_claim_about_what_is_not_there_is_refused_with_what_is():
    with pytest.raises(UnbraidError, match="no setting 'd'"):
        Higher("d above a", "mig", "d", "a").decide(SCORES)
    with pytest.raises(SpecError, match="the metric 'dci'"):
        Higher("b above a", "dci", "b", "a").check(["a", "b"], ["mig"])


@pytest.mark.parametrize("cls", [Higher, Equivalent, Growing, Correlated, Near])
def test_every_kind_is_a_recipe(cls):
    made = {
        Higher: Higher("s", "mig", "a", "b"),
        Equivalent: Equivalent("s", "mig", "a", "b", 0.03),
        Growing: Growing("s", "mig", ("a", "b"), "falls"),
        Correlated: Correlated("s", "mig", "sap", ("a", "b", "c")),
        Near: Near("s", "mig", "a", 0.3, 0.1),
    }[cls]
    assert from_json(to_json(made), Claim) == made


def test_many_tests_are_adjusted_for_being_many():
    claims = [Higher(f"claim {i}", "mig", "b", "a") for i in range(20)]
    alone, among_many = Higher("claim", "mig", "b", "a").decide(SCORES), decide_all(claims, SCORES)[0]
    assert alone.verdict == "reproduced"
    assert among_many.numbers["p among all"] == pytest.approx(20 * alone.p_value)
    assert among_many.verdict == "undecided"
    assert "Among 20 tests" in among_many.reason
    assert decide_all(claims[:1], SCORES) == [replace(alone, numbers={**alone.numbers, "p among all": alone.p_value})]


def test_the_opposites_of_many_claims_are_adjusted_for_being_many():
    claims = [Higher(f"claim {i}", "mig", "a", "b") for i in range(20)]
    alone, among_many = claims[0].decide(SCORES), decide_all(claims, SCORES)[0]
    assert alone.verdict == "not reproduced"
    assert among_many.verdict == "undecided"
    adjusted = f"Among 20 tests, the opposite has p = {min(1.0, 20 * alone.opposite):.2g} (Holm)."
    assert among_many.reason.endswith(adjusted)
    assert decide_all(claims[:1], SCORES)[0].verdict == "not reproduced"


def test_a_claim_that_knows_no_opposite_keeps_its_verdict_among_many():
    @dataclass(frozen=True)
    class Never(Claim):
        def subjects(self):
            return ("a",), ("mig",)

        def test(self, scores):
            return Decision("not reproduced", "Never.", p_value=1.0)

    found = decide_all([Never("never"), *(Higher(f"claim {i}", "mig", "b", "a") for i in range(3))], SCORES)
    assert found[0].verdict == "not reproduced"


def test_growth_needs_two_settings():
    with pytest.raises(SpecError, match="at least two settings"):
        Growing("grows", "mig", ("a",))


def test_a_claim_against_each_of_several_is_judged_alike_alone_and_among_all():
    """Against one of three rivals the opposite has p = 0.03: as one of three it is 0.09, which decides nothing."""
    rivals = {name: {"mig": [0.1, 0.2, 0.3, 0.4, 0.5]} for name in ("x", "y")}
    scores = made_scores({"ours": {"mig": LOW}, "z": {"mig": [0.13, 0.15, 0.17, 0.19, 0.21]}, **rivals})
    claim = ClearlyHigher("ours above each", "mig", ("ours",), ("x", "y", "z"), each=True)
    alone, [among_all] = claim.decide(scores), decide_all([claim], scores)
    assert alone.verdict == among_all.verdict
    assert alone.opposite == alone.numbers["p of the opposite"]
