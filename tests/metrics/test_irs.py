"""Interventional robustness: known answers, laws, and what it refuses."""

import dataclasses
import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from unbraid.codes import Codes, Labels
from unbraid.errors import CodesError, SpecError
from unbraid.metrics.irs import IRS


def random_codes(seed, num_images=120):
    generator = torch.Generator().manual_seed(seed)
    labels = [torch.randint(0, size, (num_images,), generator=generator) for size in (2, 5)]
    mean = torch.randn(num_images, 3, dtype=torch.float64, generator=generator)
    mean[:, 0] += 3 * labels[0]
    mean[:, 1] = labels[1] + 0.3 * mean[:, 1]
    return Codes(mean, factors=tuple(Labels(name, y) for name, y in zip("ab", labels, strict=True)))


def slow_irs(codes, quantile, uniform):
    """One image, value and latent at a time, as one reads the formula."""
    z = codes.mean.double().numpy()
    largest = np.abs(z - z.mean(axis=0)).max(axis=0)
    matrix = np.full((z.shape[1], len(codes.factors)), np.nan)
    for k, labels in enumerate(codes.factors):
        values, counts = np.unique(labels.values.numpy(), return_counts=True)
        weights = np.ones(len(values)) if uniform else counts
        total = np.zeros(z.shape[1])
        for value, weight in zip(values, weights / weights.sum(), strict=True):
            group = z[labels.values.numpy() == value]
            total += weight * np.quantile(np.abs(group - group.mean(axis=0)), quantile, axis=0)
        matrix[:, k] = 1 - total / largest
    return matrix, (matrix.max(axis=1) * largest).sum() / largest.sum()


# Known answers


@pytest.mark.parametrize("quantile", [1.0, 0.99, 0.5])
@pytest.mark.parametrize("value_weights", ["frequency", "uniform"])
def test_it_is_what_the_formula_says(quantile, value_weights):
    codes = random_codes(0)
    score = IRS(quantile, value_weights)(codes)
    matrix, value = slow_irs(codes, quantile, value_weights == "uniform")
    np.testing.assert_allclose(score.tables["irs"], matrix, atol=1e-12)
    np.testing.assert_allclose(score.per_latent, matrix.max(axis=1), atol=1e-12)
    assert score.value == pytest.approx(value)


def test_latents_that_follow_one_factor_each_score_one():
    a, b = (part.flatten() for part in torch.meshgrid(torch.arange(3), torch.arange(4), indexing="ij"))
    score = IRS()(Codes(torch.stack([a, -b], dim=1).double(), factors=(Labels("a", a), Labels("b", b))))
    assert score.value == pytest.approx(1)
    torch.testing.assert_close(score.tables["irs"].diagonal(), torch.ones(2, dtype=torch.float64))


def test_a_sum_of_two_factors_is_robust_to_neither():
    """z = a + b on {-1, 1}^2: holding a leaves |z - a| = 1 of a largest deviation of 2."""
    a, b = (part.flatten() for part in torch.meshgrid(torch.tensor([-1, 1]), torch.tensor([-1, 1]), indexing="ij"))
    score = IRS(quantile=1.0)(Codes((a + b).double()[:, None], factors=(Labels("a", a), Labels("b", b))))
    torch.testing.assert_close(score.tables["irs"], torch.full((1, 2), 0.5, dtype=torch.float64))
    assert score.value == pytest.approx(0.5)


def test_images_far_from_the_mean_of_their_value_may_bring_it_below_zero():
    z = torch.tensor([0.0] * 9 + [1.0] + [1.0] * 10, dtype=torch.float64)[:, None]
    labels = Labels("a", torch.tensor([0] * 10 + [1] * 10))
    assert IRS(quantile=1.0, value_weights="uniform")(Codes(z, factors=(labels,))).tables["irs"][0, 0] == pytest.approx(
        1 - 0.45 / 0.55
    )
    lopsided = Labels("b", torch.tensor([0] * 10 + [1] * 10).flip(0))
    z = torch.tensor([0.0] * 9 + [1.0] + [0.0] + [1.0] * 9, dtype=torch.float64)[:, None]
    assert IRS(quantile=1.0)(Codes(z, factors=(lopsided,))).value == pytest.approx(1 - 0.9 / 0.5)


def test_large_latents_weigh_more():
    codes = random_codes(1)
    score = IRS()(codes)
    scaled = IRS()(dataclasses.replace(codes, mean=codes.mean * torch.tensor([1000.0, 1.0, 1.0])))
    assert scaled.value == pytest.approx(score.per_latent[0], abs=0.01)
    assert scaled.parts["unweighted"].value == pytest.approx(score.parts["unweighted"].value)


# Laws


@settings(max_examples=8)
@given(seed=st.integers(0, 100), sign=st.sampled_from([-1.0, 3.0]), offset=st.floats(-5, 5))
def test_rescaling_flipping_and_moving_all_latents_changes_no_score(seed, sign, offset):
    codes = random_codes(seed)
    assert IRS()(dataclasses.replace(codes, mean=sign * codes.mean + offset)).value == pytest.approx(IRS()(codes).value)


@settings(max_examples=8)
@given(seed=st.integers(0, 100), order=st.permutations(range(3)))
def test_the_order_of_latents_and_the_names_of_values_do_not_matter(seed, order):
    codes = random_codes(seed)
    renamed = tuple(dataclasses.replace(f, values=(9 - f.values) * 3, ordered=False) for f in codes.factors)
    assert IRS()(dataclasses.replace(codes, mean=codes.mean[:, order], factors=renamed)).value == pytest.approx(
        IRS()(codes).value
    )


@settings(max_examples=8)
@given(seed=st.integers(0, 100))
def test_the_value_lies_in_its_interval_and_bounds(seed):
    score = IRS()(random_codes(seed))
    assert -1 <= score.interval[0] <= score.value <= score.interval[1] <= 1


@settings(max_examples=10)
@given(seed=st.integers(0, 100))
def test_a_smaller_quantile_never_scores_less(seed):
    codes = random_codes(seed)
    scores = [IRS(quantile)(codes).value for quantile in (1.0, 0.99, 0.9, 0.5)]
    assert scores == sorted(scores)


def test_a_latent_that_never_varies_changes_nothing_and_is_named():
    codes = random_codes(2)
    still = dataclasses.replace(codes, mean=torch.cat([codes.mean, torch.full((120, 1), 0.3)], dim=1))
    score = IRS()(still)
    assert score.value == pytest.approx(IRS()(codes).value)
    assert math.isnan(score.per_latent[3])
    assert "[3]" in score.notes[-1]


def test_codes_that_encode_nothing_score_zero():
    codes = dataclasses.replace(random_codes(3), mean=torch.full((120, 2), 0.3))
    assert IRS()(codes).value == 0


def test_a_factor_is_scored_where_it_is_known():
    codes = random_codes(4)
    known = torch.arange(120) % 2 == 0
    garbage = torch.where(known, codes.factors[0].values, 7)
    partly = dataclasses.replace(codes, factors=(Labels("a", garbage, known), codes.factors[1]))
    subset = Codes(codes.mean[known], factors=(Labels("a", codes.factors[0].values[known]),))
    found, expected = IRS(1.0)(partly), IRS(1.0)(subset)
    scale = expected.tables["max_deviation"] / found.tables["max_deviation"]
    torch.testing.assert_close(1 - found.tables["irs"][:, 0], (1 - expected.tables["irs"][:, 0]) * scale)


@pytest.mark.parametrize("quantile", [1.0, 0.99, 0.5])
@pytest.mark.parametrize("value_weights", ["frequency", "uniform"])
def test_weights_count_like_repetitions(quantile, value_weights):
    codes = random_codes(7)
    counts = torch.arange(120) % 3  # as many copies as there are images, and some images that are never drawn
    rows = torch.arange(120).repeat_interleave(counts)
    repeated = Codes(codes.mean[rows], factors=tuple(Labels(f.name, f.values[rows]) for f in codes.factors))
    found = IRS(quantile, value_weights)(dataclasses.replace(codes, weights=counts / 120))
    expected = IRS(quantile, value_weights)(repeated)
    torch.testing.assert_close(found.tables, expected.tables, rtol=0, atol=1e-10)
    assert found.value == pytest.approx(expected.value, abs=1e-10)
    assert found.value != pytest.approx(IRS(quantile, value_weights)(codes).value, abs=1e-3)


def test_equal_weights_change_nothing():
    codes = random_codes(8)
    weighted = IRS()(dataclasses.replace(codes, weights=torch.full((120,), 1 / 120)))
    assert weighted.value == pytest.approx(IRS()(codes).value, abs=1e-12)
    assert weighted.interval == pytest.approx(IRS()(codes).interval, abs=1e-9)


def test_quantiles_under_any_weights_lie_between_the_least_and_the_greatest():
    codes = dataclasses.replace(
        random_codes(9), weights=1 + torch.rand(120, generator=torch.Generator().manual_seed(0))
    )
    assert IRS(1.0)(codes).value <= IRS(0.9)(codes).value <= IRS(0.01)(codes).value


def test_a_factor_that_is_known_in_some_weighted_images_is_scored_on_those():
    codes, counts, known = random_codes(4), torch.arange(120) % 3, torch.arange(120) % 2 == 0
    rows = torch.arange(120).repeat_interleave(counts)
    partly = (Labels("a", codes.factors[0].values, known), codes.factors[1])
    repeated = Codes(
        codes.mean[rows],
        factors=tuple(Labels(f.name, f.values[rows], None if f.known is None else f.known[rows]) for f in partly),
    )
    found = IRS()(dataclasses.replace(codes, factors=partly, weights=counts / 120))
    torch.testing.assert_close(found.tables, IRS()(repeated).tables, rtol=0, atol=1e-10)


def test_many_values_lose_no_digits():
    generator = torch.Generator().manual_seed(0)
    labels = torch.arange(4000) % 1000
    codes = Codes(torch.randn(4000, 1, dtype=torch.float64, generator=generator), factors=(Labels("a", labels),))
    assert IRS(0.9)(codes).value == pytest.approx(slow_irs(codes, 0.9, uniform=False)[1], abs=1e-11)


# What it refuses


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"factors": (Labels("angle", torch.linspace(0, 1, 120)),)},
            r"continuous factors \(angle\).*with_binned_factors",
        ),
        ({"factors": (Labels("p", torch.full((120, 2), 0.5)),)}, "soft labels"),
        ({"probabilities": (torch.full((120, 2), 0.5),)}, "discrete latents"),
        ({"factors": ()}, "no factors"),
    ],
)
def test_codes_that_it_cannot_score_are_refused(change, message):
    with pytest.raises(CodesError, match=message):
        IRS()(dataclasses.replace(random_codes(6), **change))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [({"quantile": 0.0}, "quantile is 0"), ({"quantile": 1.5}, r"IRS: quantile is 1\.5")],
)
def test_impossible_settings_are_refused(arguments, message):
    with pytest.raises(SpecError, match=message):
        IRS(**arguments)


@pytest.mark.parametrize("scale", [1e-140, 1e-60, 1e100])
def test_robustness_is_the_same_in_any_units(scale):
    values = torch.arange(60) % 3
    mean = torch.randn(60, 2, dtype=torch.float64, generator=torch.Generator().manual_seed(0)) + values[:, None]
    one, other = (IRS()(Codes(mean * unit, factors=(Labels("a", values),))) for unit in (1.0, scale))
    assert other.value == pytest.approx(one.value, abs=1e-9)
    assert other.interval == pytest.approx(one.interval, abs=1e-9)


def test_a_factor_with_a_value_of_its_own_in_every_image_is_told():
    mean = torch.randn(30, 2, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    score = IRS()(Codes(mean, factors=(Labels("number", torch.arange(30)),)))
    assert score.value == 1
    assert any("value of number" in note for note in score.notes)
