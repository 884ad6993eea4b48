"""Cluster accuracy: known answers, every matching tried, and laws."""

import dataclasses
import itertools
import math

import pytest
import torch

from unbraid import evaluate
from unbraid.codes import Codes, Labels
from unbraid.errors import CodesError
from unbraid.metrics import ClusterAccuracy
from unbraid.metrics.selection import select


def codes_of(categories, *, num_categories=None, weights=None, **factors):
    table = torch.nn.functional.one_hot(torch.as_tensor(categories), num_categories or -1).double()
    return Codes(
        torch.zeros(len(table), 0, dtype=torch.float64),
        probabilities=(0.9 * table + 0.1 / table.shape[1],),
        factors=tuple(Labels(name, torch.as_tensor(values)) for name, values in factors.items()),
        weights=None if weights is None else torch.as_tensor(weights, dtype=torch.float64),
    )


def tried(categories, labels, num_categories, num_values):
    """Returns the greatest share over all ways to give categories different values."""
    size = max(num_categories, num_values)
    pairs = list(zip(categories.tolist(), labels.tolist(), strict=True))
    return max(sum(given[c] == y for c, y in pairs) / len(pairs) for given in itertools.permutations(range(size)))


# Known answers


def test_names_of_categories_do_not_count():
    assert ClusterAccuracy()(codes_of([2, 0, 1, 2], digit=[0, 1, 2, 0])).value == 1


def test_of_two_categories_with_one_value_one_is_wrong():
    score = ClusterAccuracy()(codes_of([0, 0, 1, 1, 1], digit=[4, 4, 4, 4, 7]))
    assert score.value == pytest.approx(3 / 5)
    assert score.parts["commonest"].value == pytest.approx(4 / 5)


def test_it_is_the_best_of_all_matchings():
    generator = torch.Generator().manual_seed(0)
    for num_categories, num_values in ((4, 4), (5, 3), (3, 5)):
        categories = torch.randint(0, num_categories, (60,), generator=generator)
        labels = torch.randint(0, num_values, (60,), generator=generator)
        score = ClusterAccuracy()(codes_of(categories, num_categories=num_categories, digit=labels))
        assert score.value == pytest.approx(tried(categories, labels, num_categories, num_values))
        assert score.interval[0] < score.value < score.interval[1]


def test_the_best_latent_of_each_factor_counts_and_the_mean_over_factors_is_the_value():
    first, second = torch.arange(12) % 2, torch.arange(12) // 6
    codes = codes_of(first, a=first, b=second)
    codes = dataclasses.replace(codes, probabilities=(*codes.probabilities, *codes_of(second).probabilities))
    score = ClusterAccuracy()(codes)
    assert score.per_factor == pytest.approx({"a": 1, "b": 1})
    assert torch.allclose(score.tables["accuracy"], torch.tensor([[1, 0.5], [0.5, 1]], dtype=torch.float64))
    only = ClusterAccuracy()(codes_of(first, a=first, b=second))
    assert only.value == pytest.approx(0.75)


# Laws


def test_weights_count_images_several_times():
    twice = codes_of([0, 0, 1, 1, 0], digit=[0, 0, 1, 0, 0])
    once = codes_of([0, 1, 1, 0], digit=[0, 1, 0, 0], weights=[0.4, 0.2, 0.2, 0.2])
    assert ClusterAccuracy()(once).value == pytest.approx(ClusterAccuracy()(twice).value)


def test_a_missing_label_is_not_counted():
    known = torch.tensor([True, True, True, False])
    codes = codes_of([0, 1, 1, 0], digit=[0, 1, 1, 1])
    codes = dataclasses.replace(codes, factors=(dataclasses.replace(codes.factors[0], known=known),))
    assert ClusterAccuracy()(codes).value == 1


def test_the_interval_is_that_of_a_share():
    generator = torch.Generator().manual_seed(1)
    labels = torch.arange(1000) % 2
    wrong = torch.rand(1000, generator=generator) < 0.2
    score = ClusterAccuracy()(codes_of(torch.where(wrong, 1 - labels, labels), digit=labels))
    half = 1.96 * math.sqrt(score.value * (1 - score.value) / 1000)
    assert score.interval == pytest.approx((score.value - half, score.value + half), abs=1e-3)


# What it refuses, and where it is found


def test_codes_without_a_discrete_latent_are_refused():
    codes = Codes(torch.zeros(4, 1), torch.ones(4, 1), factors=(Labels("a", torch.arange(4) % 2),))
    with pytest.raises(CodesError, match="ClusterAccuracy: the codes have 0 discrete latents"):
        ClusterAccuracy()(codes)


def test_it_is_computed_where_it_is_asked_for_by_name():
    assert "cluster-accuracy" not in select("all").metrics
    assert evaluate(codes_of([1, 0], digit=[0, 1]), metrics="cluster-accuracy").scores[0].value == 1
