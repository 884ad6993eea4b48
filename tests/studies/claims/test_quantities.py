"""Quantities: what each reads from the scores, and the laws that its p-values keep."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.studies.made_scores import made_scores
from unbraid.config import from_json, to_json
from unbraid.errors import UnbraidError
from unbraid.studies import (
    Claim,
    Quantity,
    best_of,
    computed,
    correlation,
    difference,
    judge,
    lead,
    median,
    paired_difference,
    ratio,
    share,
    trend,
)
from unbraid.studies.statistics import StatisticsError, mann_whitney, sign_test, signed_rank, slope, spearman

GENERATOR = np.random.default_rng(0)
NUMBERS = {
    label: {metric: GENERATOR.normal(place, 1, 6).tolist() for metric in ("mig", "sap")}
    for place, label in enumerate(["a", "b", "c"])
}
SCORES = made_scores(NUMBERS)
A, B, C = (np.array(NUMBERS[label]["mig"]) for label in "abc")

QUANTITIES = [
    (median("mig", "a"), sign_test(A)),
    (median("mig", ("a", "b")), sign_test([*A, *B])),
    (difference("mig", "b", "a"), mann_whitney(B, A)),
    (difference("mig", ("b", "c"), "a"), mann_whitney([*B, *C], A)),
    (paired_difference("mig", "b", "a"), signed_rank(B - A)),
    (paired_difference("mig", "a", "a", "sap"), signed_rank(A - NUMBERS["a"]["sap"])),
    (paired_difference("mig", ("b", "c"), ("a", "b")), signed_rank([*(B - A), *(C - B)])),
    (trend("mig", ("a", "b", "c")), slope([A, B, C])),
    (trend("mig", ("a", "b"), at=(1.0, 3.0)), slope([A, B], [1.0, 3.0])),
    (
        correlation("mig", "sap", ("a", "b")),
        spearman([*A, *B], [*NUMBERS["a"]["sap"], *NUMBERS["b"]["sap"]]),
    ),
]


@pytest.mark.parametrize(("quantity", "expected"), QUANTITIES, ids=lambda each: getattr(each, "text", ""))
def test_a_quantity_is_the_statistic_of_its_scores(quantity, expected):
    found = quantity.measure(SCORES)
    assert found.value == expected.value
    assert [found.test(border) for border in (0.0, 0.4)] == [expected.test(border) for border in (0.0, 0.4)]


@pytest.mark.parametrize("quantity", [each for each, _ in QUANTITIES], ids=lambda each: each.text)
def test_a_claim_survives_json(quantity):
    claim = Claim("It is above.", quantity, above=0, central=True)
    assert from_json(to_json(claim), Claim) == claim


def test_plain_numbers_do_as_well_as_scores_of_a_study():
    plain = {label: {m: dict(enumerate(v)) for m, v in each.items()} for label, each in NUMBERS.items()}
    claims = [Claim("b > a", difference("mig", "b", "a"), above=0), Claim("c > 0", median("mig", "c"), above=0)]
    assert judge(claims, plain).claims[0].p_supported == judge(claims, SCORES).claims[0].p_supported
    plain["b"]["mig"][0] = math.nan  # a seed without a score
    assert judge(claims, plain).claims[0].num_seeds == (5, 6)
    with pytest.raises(UnbraidError, match="'d'"):
        judge([Claim("d", median("mig", "d"), above=0)], plain)


def test_correlation_over_medians_has_a_point_for_each_setting():
    labels = tuple("abcdef")
    scores = made_scores({label: {"x": [i, i + 1, i + 7], "y": [-i, -i, 3]} for i, label in enumerate(labels)})
    found = correlation("x", "y", labels, over="medians").measure(scores)
    assert (found.value, found.num_seeds) == (-1.0, (6,))
    assert found.p_below(0) == pytest.approx(1 / 720)


def test_pairs_are_of_the_same_seed():
    plain = {"a": {"x": {0: 1.0, 1: 2.0, 2: 9.0}}, "b": {"x": {1: 1.0, 2: 8.5, 7: 100.0}}}
    found = judge([Claim("a > b", paired_difference("x", "a", "b"), above=0)], plain).claims[0]
    assert found.num_seeds == (2,)
    assert found.value == pytest.approx(0.75)


def test_a_share_counts_seeds_in_a_range():
    found = share("mig", ("a", "b"), at_least=0.0, at_most=1.0).measure(SCORES)
    inside = sum(0 <= value <= 1 for value in [*A, *B])
    assert (found.value, found.num_seeds) == (inside / 12, (12,))


def test_a_ratio_needs_scores_above_0():
    judged = judge([Claim("r", ratio("mig", "a", "b"), above=1)], SCORES).claims[0]
    assert (judged.verdict, judged.measured) == ("undecided", None)
    assert f"{min(*A, *B):g}" in judged.reason


def test_a_lead_takes_the_largest_p_over_the_others():
    found = lead("mig", "c", ("a", "b")).measure(SCORES)
    each = [mann_whitney(C, other) for other in (A, B)]
    assert found.value == min(one.value for one in each)
    assert found.p_above(0) == max(one.p_above(0) for one in each)
    assert found.p_below(0) == min(1.0, 2 * min(one.p_below(0) for one in each))
    lowest = lead("mig", "a", ("b", "c"), lowest=True).measure(SCORES)
    assert lowest.p_above(0) == max(mann_whitney(-A, -other).p_above(0) for other in (B, C))


def test_a_setting_that_is_chosen_multiplies_p_by_the_number_of_settings():
    named = judge([Claim("c > a", difference("mig", "c", "a"), above=0)], SCORES).claims[0]
    chosen = judge([Claim("best > a", difference("mig", best_of(("b", "c")), "a"), above=0)], SCORES).claims[0]
    assert chosen.value == named.value
    assert chosen.raw_p_supported == pytest.approx(2 * named.raw_p_supported)
    assert chosen.raw_p_contradicted == min(1.0, 2 * named.raw_p_contradicted)
    leading = judge([Claim("best leads", lead("mig", best_of(tuple("abc")), tuple("abc")), above=0)], SCORES).claims[0]
    expected = max(mann_whitney(C, other).p_above(0) for other in (A, B))
    assert leading.raw_p_supported == pytest.approx(3 * expected)


def test_a_setting_can_be_chosen_by_another_metric_and_from_below():
    assert difference("mig", best_of(("b", "c"), lowest=True), "a").measure(SCORES).value == mann_whitney(B, A).value
    scores = made_scores(NUMBERS | {"b": {"mig": B.tolist(), "sap": [99.0] * 6}})
    quantity = difference("mig", best_of(("b", "c"), by="sap"), "a")
    assert quantity.measure(scores).value == mann_whitney(B, A).value
    assert quantity.metrics_used == ["mig", "sap"]


@given(st.permutations(["a", "b", "c"]))
def test_names_of_settings_do_not_matter(order):
    renamed = made_scores({new: NUMBERS[old] for new, old in zip("abc", order, strict=True)})
    new = dict(zip(order, "abc", strict=True))
    for quantity, other in [
        (difference("mig", "b", "a"), difference("mig", new["b"], new["a"])),
        (lead("mig", "c", ("a", "b")), lead("mig", new["c"], (new["b"], new["a"]))),
        (trend("mig", ("a", "b", "c")), trend("mig", (new["a"], new["b"], new["c"]))),
    ]:
        assert quantity.measure(SCORES).test(0.3) == other.measure(renamed).test(0.3)


def test_computed_numbers_have_no_p_value_and_leave_others_alone():
    alone = Claim("b > a", difference("mig", "b", "a"), above=0)
    laws = [
        Claim("9.26 nats", computed("nats", tolerance=0.005, settings="law"), between=(9.26, 9.26)),
        Claim("above 1", computed("mig", settings=("a",)), above=1),
    ]
    scores = made_scores(NUMBERS | {"law": {"nats": [9.2601]}})
    judged = judge([alone, *laws], scores).claims
    assert [each.verdict for each in judged[1:]] == ["supported", "contradicted"]
    assert judged[1].p_supported is None
    assert judged[0].p_supported == judge([alone], SCORES).claims[0].p_supported


@pytest.mark.parametrize(
    ("value", "region", "verdict"),
    [
        (1.0, {"above": 1.0}, "supported"),
        (0.999, {"above": 1.0}, "contradicted"),
        (0.999, {"between": (1.0, 2.0)}, "contradicted"),
        (2.0, {"between": (1.0, 2.0)}, "supported"),
        (2.1, {"below": 2.0}, "contradicted"),
    ],
)
def test_a_computed_number_lies_in_the_region_or_not(value, region, verdict):
    scores = {"law": {"value": {0: value}}}
    assert judge([Claim("c", computed("value", settings="law"), **region)], scores).claims[0].verdict == verdict


def test_every_run_has_to_lie_in_the_region():
    scores = made_scores({"a": {"gap": [0.1, 0.2, -0.1]}, "b": {"gap": [0.1, 0.2, 0.3]}})
    claims = [Claim(label, computed("gap", settings=label), above=0) for label in ("a", "b")]
    assert [each.verdict for each in judge(claims, scores).claims] == ["contradicted", "supported"]


def test_a_side_without_settings_has_no_scores():
    assert judge([Claim("c", computed("mig"), above=0)], SCORES).claims[0].verdict == "undecided"


def test_a_quantity_of_ones_own_is_judged_like_the_others():
    from dataclasses import dataclass

    @dataclass(frozen=True)
    class ShareOfTwo(Quantity):
        metric: str
        settings: tuple[str, ...]

        def measure(self, scores):
            values = [value for label in self.settings for value in scores.values(label, self.metric).values()]
            if max(values) < 100:
                raise StatisticsError("Nothing has learned.")
            return sign_test(values)

    quantity = ShareOfTwo("mig", ("a", "b"))
    judged = judge([Claim("guarded", quantity, above=0)], SCORES).claims[0]
    assert (judged.verdict, judged.reason, judged.p_supported) == ("undecided", "Nothing has learned.", 1.0)
    assert quantity.settings_used == ["a", "b"]
    assert quantity.metrics_used == ["mig"]
