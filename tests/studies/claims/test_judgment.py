"""The one rule: regions, adjusted p-values, verdicts of claims and of all of them together."""

import json

import pytest

from tests.studies.made_scores import made_scores
from unbraid.errors import SpecError, UnbraidError
from unbraid.metrics.scoring import Scoring
from unbraid.studies import Claim, computed, difference, judge, lead, median, share, trend, undecidable
from unbraid.studies.statistics import holm, mann_whitney
from unbraid.studies.study_scores import Number

LOW, HIGH = [0.10, 0.12, 0.14, 0.16, 0.18], [0.30, 0.33, 0.36, 0.39, 0.42]
SCORES = made_scores({"low": {"mig": LOW}, "high": {"mig": HIGH}, "few": {"mig": HIGH[:3]}, "none": {"sap": LOW}})
DIFFERENCE = difference("mig", "high", "low")


def judged(*claims):
    return judge(claims, SCORES).claims


def test_supported_rejects_that_it_is_false_and_contradicted_that_it_is_true():
    above, below = judged(Claim("a", DIFFERENCE, above=0), Claim("b", DIFFERENCE, below=0))
    assert (above.verdict, below.verdict) == ("supported", "contradicted")
    assert (above.raw_p_supported, below.raw_p_contradicted) == (pytest.approx(1 / 252), pytest.approx(1 / 252))
    assert (above.raw_p_contradicted, below.raw_p_supported) == (1.0, 1.0)


def test_between_takes_the_larger_of_two_p_and_twice_the_smaller():
    found = mann_whitney(HIGH, LOW)
    inside, outside = judged(Claim("i", DIFFERENCE, between=(0.0, 0.5)), Claim("o", DIFFERENCE, between=(-0.5, 0.0)))
    assert inside.raw_p_supported == max(found.p_above(0.0), found.p_below(0.5))
    assert outside.raw_p_contradicted == 2 * min(found.p_below(-0.5), found.p_above(0.0))
    assert (inside.verdict, outside.verdict) == ("supported", "contradicted")


def test_the_family_is_all_claims_and_each_direction_is_adjusted_by_itself():
    claims = [Claim(f"above {border}", DIFFERENCE, above=border) for border in (0.0, 0.15, 0.2, 0.25, 0.5)]
    found = judged(*claims)
    assert [each.p_supported for each in found] == holm([each.raw_p_supported for each in found])
    assert [each.p_contradicted for each in found] == holm([each.raw_p_contradicted for each in found])
    assert found[0].verdict == "supported"
    assert found[-1].verdict == "contradicted"


@pytest.mark.parametrize("others", [13, 12])
def test_a_claim_among_many_is_decided_only_if_its_p_survives(others):
    claims = [
        Claim("first", DIFFERENCE, above=0),
        *(Claim("m", median("mig", "low"), above=9) for _ in range(others - 1)),
    ]
    assert judged(*claims)[0].verdict == ("supported" if others / 252 <= 0.05 else "undecided")


@pytest.mark.parametrize("label", ["few", "none"])
def test_fewer_than_4_seeds_on_a_side_decide_nothing_and_count_in_the_family(label):
    found = judged(Claim("few", difference("mig", label, "low"), above=0), Claim("b", DIFFERENCE, above=0))
    assert (found[0].verdict, found[0].p_supported, found[0].p_contradicted) == ("undecided", 1.0, 1.0)
    assert found[1].p_supported == pytest.approx(2 / 252)
    assert found[0].num_seeds == ((3, 5) if label == "few" else ())


def test_every_setting_of_a_trend_is_a_side():
    assert judged(Claim("t", trend("mig", ("low", "few", "high")), above=0))[0].verdict == "undecided"
    assert judged(Claim("t", lead("mig", "high", ("low", "few")), above=0))[0].verdict == "undecided"


def test_intervals_are_not_adjusted():
    claims = [Claim("a", DIFFERENCE, above=0)]
    expected = mann_whitney(HIGH, LOW).interval
    assert judged(*claims)[0].interval == judged(*claims * 9)[0].interval == expected
    assert f"{expected[0]:.3g} to {expected[1]:.3g}" in judged(*claims)[0].reason


YES, NO, OPEN = {"above": 0}, {"below": 0}, {"above": 0.22}  # of the difference of 0.22


@pytest.mark.parametrize(
    ("central", "others", "verdict"),
    [
        ([YES], [], "reproduced"),
        ([YES], [YES, YES], "reproduced"),
        ([NO], [YES, YES], "not reproduced"),
        ([YES, NO], [YES], "not reproduced"),
        ([YES], [NO], "in part"),
        ([YES], [NO, OPEN], "in part"),
        ([YES], [OPEN], "in part"),
        ([OPEN], [YES, NO], "in part"),
        ([YES, OPEN], [YES], "undecided"),
        ([OPEN], [YES], "undecided"),
        ([OPEN], [NO], "undecided"),
        ([OPEN], [], "undecided"),
        ([], [YES, NO], "not reproduced"),  # where none is central, all are
        ([], [YES], "reproduced"),
    ],
)
def test_the_verdict_of_all_claims_is_the_first_that_holds(central, others, verdict):
    claims = [Claim("c", DIFFERENCE, central=True, **region) for region in central]
    claims += [Claim("o", DIFFERENCE, **region) for region in others]
    found = judge(claims, SCORES)
    assert found.verdict == verdict
    assert sum(found.counts.values()) == len(claims)
    assert all(str(count) in found.text for count in found.counts.values())


def test_constants_that_agree_are_a_checked_definition():
    law = Claim("c", computed("mig", 0.3, "high"), between=(0.3, 0.3), central=True)
    assert judge([law], SCORES).verdict == "checked definition"
    assert judge([law, Claim("d", DIFFERENCE, above=0)], SCORES).verdict == "reproduced"
    assert judge([Claim("c", computed("mig", 0.1, "high"), between=(0.3, 0.3))], SCORES).verdict == "not reproduced"
    assert judge([], {}).verdict == "undecided"


@pytest.mark.parametrize(
    "region",
    [
        {},
        {"above": 0, "below": 1},
        {"between": (1.0,)},
        {"between": (1.0, 0.0)},
        {"between": (1.0, 1.0)},
        {"between": (0.0, 1.0, 2.0)},
        {"above": float("nan")},
    ],
)
def test_a_claim_has_one_region(region):
    with pytest.raises(SpecError, match="'sentence'"):
        Claim("sentence", DIFFERENCE, **region)


def test_a_claim_about_another_scoring_is_judged_by_its_scores():
    scoring = Scoring(part="all")
    name = json.dumps(scoring.changes(), sort_keys=True)
    values = {"low": HIGH, "high": LOW}  # the other way around
    others = [
        Number(label, seed, "mig", name, "value", "", value, 0.0, 1.0, f"{label}-seed{seed}")
        for label, of_seeds in values.items()
        for seed, value in enumerate(of_seeds)
    ]
    scores = made_scores({"low": {"mig": LOW}, "high": {"mig": HIGH}})
    from dataclasses import replace

    both = replace(scores, numbers=(*scores.numbers, *others))
    claims = [Claim("a", DIFFERENCE, above=0), Claim("b", DIFFERENCE, above=0, scoring=scoring)]
    assert [each.verdict for each in judge(claims, both).claims] == ["supported", "contradicted"]
    with pytest.raises(UnbraidError, match="'b'"):
        judge(claims, {"low": {}, "high": {}})


def test_a_plan_names_claims_that_no_scores_can_support_and_the_seeds_they_need():
    claims = [
        Claim("difference", DIFFERENCE, above=0),
        Claim("median", median("mig", "low"), above=0),
        Claim("share", share("mig", "low", at_least=0.1), above=0.9),
        Claim("constant", computed("mig", settings="low"), above=0),
    ]
    found = {each.claim.sentence: each for each in undecidable(claims, {"high": 4, "low": 5})}
    assert {name: each.smallest_p for name, each in found.items()} == {
        "median": pytest.approx(1 / 32),
        "share": pytest.approx(0.9**5),
    }
    assert found["median"].level == pytest.approx(0.05 / 3)
    assert found["median"].seeds_needed == 6  # 1 / 64 is below 0.0167
    assert found["share"].seeds_needed == 39
    few = undecidable(claims[:1], {"high": 3, "low": 9})
    assert (few[0].smallest_p, few[0].seeds_needed) == (1.0, 4)
    assert not undecidable(claims, {"high": 50, "low": 50})


def test_what_no_number_of_seeds_can_support_has_no_number():
    claims = [Claim(f"{place}", DIFFERENCE, above=0) for place in range(700)]  # 0.05 / 700 is below 1 / 12,870
    assert undecidable(claims, {"high": 20, "low": 20})[0].seeds_needed is None


@pytest.mark.parametrize("quantity", [DIFFERENCE, median("mig", "low"), trend("mig", ("low", "high"))])
def test_the_smallest_p_is_that_of_sides_that_do_not_overlap(quantity):
    claim = Claim("c", quantity, above=0)
    p_value = judge([claim], SCORES).claims[0].raw_p_supported
    assert claim.smallest_p({"low": 5, "high": 5}) == pytest.approx(p_value)
