"""Claims about printed single models, families, orders and laws of estimates: known answers, and every verdict."""

import math
from dataclasses import replace

import numpy as np
import pytest

from tests.studies.made_scores import made_scores
from unbraid.errors import SpecError
from unbraid.recipes import from_json, to_json
from unbraid.studies import (
    AsPrinted,
    BestOnFactors,
    Claim,
    ClearlyHigher,
    GrowingApart,
    MostWithin,
    NoDrift,
    NotGrowing,
    OnLine,
    PrintedScore,
    RatioWithin,
    Reaches,
    SameOrder,
    StronglyCorrelated,
    TellsApart,
    Uncorrelated,
    WithinErrors,
)
from unbraid.studies.statistics import compare, prediction_interval, shares_in_order
from unbraid.studies.study_scores import Number

NOISE = (-0.02, -0.01, 0.0, 0.01, 0.02)


def around(value):
    return [value + each for each in NOISE]


# "x" grows from "a" to "d", "y" is 2 x + 1, "w" falls, "flat" is the same in all, "half" is half of "x".
PLACES = dict(zip("abcd", (0.1, 0.3, 0.5, 0.7), strict=True))
SCORES = made_scores(
    {
        **{
            label: {
                "x": around(place),
                "y": [2 * x + 1 for x in around(place)],
                "w": [1 - x for x in around(place)],
                "flat": around(0.4),
                "half": [x / 2 for x in around(place)],
            }
            for label, place in PLACES.items()
        },
        **{f"s{i}": {"x": around(i), "y": around(i), "flat": around(i * 4 % 9)} for i in range(9)},
        **{f"t{i}": {"x": around(i)[:2], "y": around((0, 2, 1)[i])[1::-1]} for i in range(3)},
        "wide": {"x": [0.0, 0.2, 0.4, 0.6, 0.8], "flat": [0.1, 0.3, 0.5, 0.7, 0.45]},
        "low": {"x": [0.01, 0.02, 0.03, 0.04, 0.5]},
        "alone": {"x": [0.4], "flat": [0.4], "half": [0.2]},
        "zero": {"x": [0.5, 0.5], "half": [0.0, 0.0]},
        "same": {"x": [0.5, 0.5], "half": [0.25, 0.25]},
    }
)
ALL, SPREAD = tuple(PLACES), tuple(f"s{i}" for i in range(9))


@pytest.mark.parametrize(
    ("claim", "verdict"),
    [
        (ClearlyHigher("above", "x", ("c", "d"), ("a",)), "reproduced"),
        (ClearlyHigher("below", "x", ("a",), ("c", "d")), "not reproduced"),
        (ClearlyHigher("mixed", "x", ("wide",), ("b",)), "undecided"),
        (ClearlyHigher("one seed", "x", ("alone",), ("a",)), "undecided"),
        (ClearlyHigher("above each", "x", ("d",), ("a", "b", "c"), each=True), "reproduced"),
        (ClearlyHigher("one lies above", "x", ("c",), ("a", "b", "d"), each=True), "not reproduced"),
        (ClearlyHigher("one is not clear", "x", ("d",), ("a", "wide"), each=True), "undecided"),
        (AsPrinted("as the seeds", (PrintedScore("a", "x", 0.11), PrintedScore("b", "x", 0.29))), "reproduced"),
        (AsPrinted("one far off", (PrintedScore("a", "x", 0.11), PrintedScore("b", "x", 0.9))), "not reproduced"),
        (AsPrinted("off by rounding", (PrintedScore("same", "x", 0.504),), rounding=0.005), "reproduced"),
        (AsPrinted("off by more", (PrintedScore("same", "x", 0.51),), rounding=0.005), "not reproduced"),
        (AsPrinted("of one seed", (PrintedScore("alone", "x", 0.4),)), "undecided"),
        (TellsApart("apart", "x", ("c", "d"), ("a", "b"), low=0.9), "reproduced"),
        (TellsApart("apart the other way", "w", ("c", "d"), ("a", "b"), low=0.9), "reproduced"),
        (TellsApart("not apart", "flat", ("c", "d"), ("a", "b"), high=0.75), "reproduced"),
        (TellsApart("apart after all", "x", ("c", "d"), ("a", "b"), high=0.75), "not reproduced"),
        (TellsApart("alike after all", "flat", ("c", "d"), ("a", "b"), low=0.9), "not reproduced"),
        (TellsApart("too few to say", "x", ("wide",), ("b",), low=0.9), "undecided"),
        (TellsApart("of one seed", "x", ("alone",), ("a",), low=0.9), "undecided"),
        (StronglyCorrelated("together", "x", "y", ALL), "reproduced"),
        (StronglyCorrelated("against", "x", "w", ALL, "negative", 0.7, 0.4), "reproduced"),
        (StronglyCorrelated("wrong way", "x", "w", ALL), "not reproduced"),
        (StronglyCorrelated("hardly", "x", "flat", ALL), "undecided"),
        (StronglyCorrelated("of two settings", "x", "y", ("a", "b")), "undecided"),
        (Uncorrelated("hardly", "x", "flat", SPREAD), "reproduced"),
        (Uncorrelated("together after all", "x", "y", SPREAD), "not reproduced"),
        (Uncorrelated("too few settings", "x", "y", ("t0", "t1", "t2")), "undecided"),
        (NotGrowing("flat does not rise", "flat", ALL), "reproduced"),
        (NotGrowing("w does not rise", "w", ALL), "reproduced"),
        (NotGrowing("w falls", "w", ALL, "falls"), "not reproduced"),
        (NotGrowing("x rises", "x", ALL), "not reproduced"),
        (NotGrowing("too wide to say", "x", ("b", "wide")), "undecided"),
        (Reaches("is there", "x", "c", 0.5), "reproduced"),
        (Reaches("is not", "x", "c", 0.6), "not reproduced"),
        (Reaches("only its interval", "x", "wide", 0.5), "undecided"),
        (Reaches("not surely", "x", "wide", 0.3, surely=0.25, statistic="mean"), "undecided"),
        (Reaches("surely", "x", "c", 0.49, surely=0.4, statistic="mean"), "reproduced"),
        (Reaches("of one seed", "x", "alone", 0.1), "undecided"),
        (MostWithin("four of five", "x", ("low",), high=0.05, share=0.75), "reproduced"),
        (MostWithin("five of five", "x", ("low",), high=0.05, share=0.9), "not reproduced"),
        (MostWithin("in each setting", "x", ("low", "a"), high=0.05), "not reproduced"),
        (MostWithin("of one run", "x", ("alone",), 0.0, 1.0), "undecided"),
        (RatioWithin("twice", "x", "half", ALL, 1.9, 2.1), "reproduced"),
        (RatioWithin("five times", "x", "half", ALL, 5.0), "not reproduced"),
        (RatioWithin("no ratio to nothing", "x", "half", ("zero",), 5.0), "undecided"),
        (RatioWithin("of one run", "x", "half", ("alone",), 1.0), "undecided"),
        (SameOrder("the same", "x", "y", ALL), "reproduced"),
        (SameOrder("the opposite", "x", "w", ALL), "not reproduced"),
        (SameOrder("unsure", "x", "flat", ("b", "wide", "c")), "undecided"),
        (OnLine("on it", "x", "y", ALL, slope=2, offset=1, scatter=1e-6), "reproduced"),
        (OnLine("another slope", "x", "y", ALL), "not reproduced"),
        (OnLine("no line", "x", "half", ("same",)), "undecided"),
        (NoDrift("none", "x", "flat", ALL, 4), "reproduced"),
        (NoDrift("all above", "x", "half", ALL, 4), "not reproduced"),
        (GrowingApart("apart", "x", "flat", ALL), "reproduced"),
        (GrowingApart("together", "x", "flat", ALL, "falls"), "not reproduced"),
        (GrowingApart("of two seeds", "x", "half", ("same", "zero")), "undecided"),
    ],
    ids=lambda value: f"{type(value).__name__}: {value.sentence}" if isinstance(value, Claim) else value,
)
def test_verdicts(claim: Claim, verdict: str) -> None:
    decision = claim.decide(SCORES)
    assert decision.verdict == verdict, decision.reason
    assert decision.reason.endswith(".")
    assert from_json(to_json(claim), Claim) == claim


def test_families_that_are_fully_apart_have_an_area_of_one() -> None:
    groups = {"low": [1.0, 2.0], "high": [3.0, 4.0], "tied": [2.0, 2.0]}
    assert shares_in_order(groups, [("low", "high")])[0] == 1.0
    assert shares_in_order(groups, [("high", "low")]).max() == 0.0
    # Of four pairs with the tied setting, two are above and two are ties.
    assert shares_in_order(groups, [("low", "tied")])[0] == 0.75
    assert shares_in_order(groups, [("low", "high"), ("low", "tied")])[0] == 0.875


def test_a_test_that_is_significant_is_not_enough_if_the_interval_holds_zero() -> None:
    # One-sided p = 0.036, and the interval of the shift, which is two-sided, reaches below 0.
    ours, theirs = [5.0, 6.0, 7.0, 8.0, 3.5, 2.5], [1.0, 2.0, 3.0, 4.0, 4.5]
    found = compare(ours, theirs)
    assert 0.025 < found.p_value <= 0.05
    scores = made_scores({"ours": {"x": ours}, "theirs": {"x": theirs}})
    assert ClearlyHigher("above", "x", ("ours",), ("theirs",)).decide(scores).verdict == "undecided"


def test_the_largest_p_of_many_rivals_is_told() -> None:
    decision = ClearlyHigher("above each", "x", ("d",), ("a", "wide"), each=True).decide(SCORES)
    worst = compare([*SCORES.values("d", "x").values()], [*SCORES.values("wide", "x").values()])
    assert decision.p_value == pytest.approx(worst.p_value)
    assert "the closest of 2, wide" in decision.reason


def test_a_printed_number_may_be_any_seed() -> None:
    """Nine of ten numbers have to lie in the prediction interval, and none farther than three deviations."""
    values = list(SCORES.values("wide", "x").values())
    low, high = prediction_interval(values)
    inside = (PrintedScore("wide", "x", 0.4),) * 9
    edge = PrintedScore("wide", "x", high - 1e-6)
    assert AsPrinted("?", (*inside, edge)).decide(SCORES).numbers["inside"] == 1.0
    beyond = PrintedScore("wide", "x", low - 0.01)
    assert AsPrinted("?", (*inside, beyond)).decide(SCORES).numbers["inside"] == 0.9
    # With few seeds the interval is wider than three deviations, which then decide.
    decision = AsPrinted("?", (*inside, beyond)).decide(SCORES)
    distance = (np.mean(values) - low + 0.01) / np.std(values, ddof=1)
    assert decision.numbers["farthest, in standard deviations"] == pytest.approx(distance)
    assert decision.verdict == ("reproduced" if distance <= 3 else "not reproduced")


def test_estimates_agree_within_their_own_errors() -> None:
    numbers = [
        Number("a", seed, metric, "", "value", "", value, value - 0.196, value + 0.196, "")
        for seed in range(4)
        for metric, value in (("few", 1.0 + 0.1 * seed), ("many", 1.0))
    ]
    scores = replace(made_scores({"a": {"few": [0.0], "many": [0.0]}}), numbers=tuple(numbers))
    decision = WithinErrors("agree", "few", "many", ("a",), 3.0).decide(scores)
    # Standard errors of 0.1: the seeds are 0, 1, 2 and 3 of them away.
    assert decision.numbers["farthest, in errors"] == pytest.approx(3.0, abs=1e-3)
    assert WithinErrors("closely", "few", "many", ("a",), 1.5).decide(scores).verdict == "not reproduced"
    assert WithinErrors("half of them", "few", "many", ("a",), 1.5, 0.5).decide(scores).verdict == "reproduced"
    assert WithinErrors("without intervals", "x", "y", ("a",)).decide(SCORES).verdict == "undecided"
    some = tuple(n._replace(low=math.nan, high=math.nan) if n.seed else n for n in numbers)
    assert (
        WithinErrors("of one", "few", "many", ("a",), 3.0).decide(replace(scores, numbers=some)).verdict == "undecided"
    )
    sure = tuple(n._replace(low=n.value, high=n.value) for n in numbers)
    assert (
        WithinErrors("no error", "few", "many", ("a",)).decide(replace(scores, numbers=sure)).verdict
        == "not reproduced"
    )


def factor_scores(ours, theirs):
    """Returns scores in which `ours[factor]` and `theirs[factor]` list one number per seed."""
    numbers = [
        Number(label, seed, "rmig", "", "factor", factor, value, 0.0, 0.0, "")
        for label, by_factor in (("ours", ours), ("theirs", theirs))
        for factor, values in by_factor.items()
        for seed, value in enumerate(values)
    ]
    made = made_scores({"ours": {"rmig": [0.1, 0.2]}, "theirs": {"rmig": [0.1, 0.2]}})
    return replace(made, numbers=(*made.numbers, *numbers))


def test_factors_of_which_a_setting_is_best_are_counted() -> None:
    scores = factor_scores(
        {"hat": [0.5, 0.6], "hair": [0.4, 0.5], "smile": [0.1, 0.2]},
        {"hat": [0.1, 0.2], "hair": [0.1, 0.3], "smile": [0.5, 0.6]},
    )
    decision = BestOnFactors("two of three", "rmig", "ours", ("theirs",), 2).decide(scores)
    assert (decision.verdict, decision.numbers["factors"]) == ("reproduced", 2)
    assert BestOnFactors("all", "rmig", "ours", ("theirs",), 3).decide(scores).verdict == "not reproduced"
    assert BestOnFactors("lowest", "rmig", "ours", ("theirs",), 1, "lowest").decide(scores).numbers["factors"] == 1
    assert BestOnFactors("more than there are", "rmig", "ours", ("theirs",), 4).decide(scores).verdict == "undecided"
    close = factor_scores({"hat": [0.1, 0.5, 0.2]}, {"hat": [0.3, 0.25, 0.4]})
    assert BestOnFactors("may be", "rmig", "ours", ("theirs",), 1).decide(close).verdict == "undecided"


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: ClearlyHigher("?", "x", ("a",), ("a", "b")), "'a' is on both sides"),
        (lambda: ClearlyHigher("?", "x", (), ("a",)), "a side has no settings"),
        (lambda: AsPrinted("?", ()), "no numbers were given"),
        (lambda: AsPrinted("?", (PrintedScore("a", "x", 1.0),), share=2.0), "share is 2.0"),
        (lambda: TellsApart("?", "x", ("a",), ("b",), low=0.2), "expected 0.5 <= low"),
        (lambda: TellsApart("?", "x", ("a",), ("a",)), "none in common"),
        (lambda: NotGrowing("?", "x", ("a",)), "at least two settings"),
        (lambda: GrowingApart("?", "x", "y", ("a",)), "at least two settings"),
        (lambda: MostWithin("?", "x", ("a",), 1.0, 0.0), "low <= high"),
        (lambda: MostWithin("?", "x", ("a",), 1.0, share=0.0), "share is 0.0"),
        (lambda: MostWithin("?", "x", ("a",)), "neither low nor high"),
        (lambda: RatioWithin("?", "x", "y", ("a",), 2.0, 1.0), "low <= high"),
        (lambda: RatioWithin("?", "x", "y", ("a",), share=0.0), "share is 0.0"),
        (lambda: SameOrder("?", "x", "y", ("a", "b")), "at least three"),
        (lambda: OnLine("?", "x", "y", ("a",), scatter=-1.0), "a tolerance is below 0"),
        (lambda: WithinErrors("?", "x", "y", ("a",), 0.0), "num_errors is 0.0"),
        (lambda: NoDrift("?", "x", "y", ("a", "b", "c", "d"), 2), "more than half"),
        (lambda: BestOnFactors("?", "x", "a", (), 1), "at least one other setting"),
    ],
)
def test_what_cannot_be_meant_is_refused(make, message: str) -> None:
    with pytest.raises(SpecError, match=message):
        make()
