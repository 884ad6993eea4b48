"""SAP: known answers, laws, peers' bugs, and what it refuses."""

import dataclasses
import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from unbraid.codes import Codes, Labels
from unbraid.errors import CodesError, SpecError
from unbraid.metrics.sap import SAP, balanced_accuracy, predicted_labels, squared_correlations


def binary_codes(num_images=300, seed=0):
    """Two binary factors, each read off one latent; then a latent of noise."""
    generator = torch.Generator().manual_seed(seed)
    labels = [torch.randint(0, 2, (num_images,), generator=generator) for _ in range(2)]
    mean = torch.randn(num_images, 3, dtype=torch.float64, generator=generator)
    mean[:, 0], mean[:, 1] = labels[0] * 8 - 4 + mean[:, 0], labels[1] * 8 - 4 + mean[:, 1]
    return Codes(mean, factors=(Labels("a", labels[0]), Labels("b", labels[1])))


def measured(codes):
    return dataclasses.replace(
        codes, factors=tuple(dataclasses.replace(f, values=f.values.double()) for f in codes.factors)
    )


# Known answers


@pytest.mark.parametrize("classifier", ["svm", "threshold"])
def test_a_latent_for_each_factor_leaves_half_the_accuracy_to_the_others(classifier):
    """The best latent is always right, any other half of the time."""
    score = SAP(classifier)(binary_codes(3000))
    assert score.value == pytest.approx(0.5, abs=0.05)
    assert score.interval[0] < 0.5 < score.interval[1] + 0.03
    assert score.tables["scores"].shape == (3, 2)
    assert float(score.tables["scores"].diagonal().min()) > 0.99


def test_squared_correlations_are_those_of_numpy():
    codes = binary_codes()
    expected = [np.corrcoef(codes.mean[:, i], codes.factors[0].values)[0, 1] ** 2 for i in range(3)]
    assert squared_correlations(codes.mean, codes.factors[0].values).tolist() == pytest.approx(expected)


def test_continuous_factors_are_scored_by_squared_correlation():
    codes = binary_codes()
    for score in (SAP()(measured(codes)), SAP(factors_as="measurements")(codes)):
        table = torch.stack([squared_correlations(codes.mean, f.values) for f in codes.factors], dim=1)
        torch.testing.assert_close(score.tables["scores"], table)
        ranked = table.sort(dim=0, descending=True).values
        assert score.value == pytest.approx(float((ranked[0] - ranked[1]).mean()))
        assert score.settled is None
        assert score.interval[0] < score.value < score.interval[1]


@given(seed=st.integers(0, 1000), num_rows=st.integers(3, 12))
def test_the_threshold_is_the_best_there_is(seed, num_rows):
    """Every cut and both directions, by brute force."""
    generator = torch.Generator().manual_seed(seed)
    x = torch.randint(0, 5, (num_rows,), generator=generator).double()
    y = torch.randint(0, 2, (num_rows,), generator=generator)
    y[0], y[1] = 0, 1
    best = 0.0
    for cut in np.arange(-0.5, 5):
        recall = (float((x[y == 1] > cut).double().mean()) + float((x[y == 0] <= cut).double().mean())) / 2
        best = max(best, recall, 1 - recall)
    weights = torch.full((1, num_rows), 1 / num_rows, dtype=torch.float64)
    found = balanced_accuracy(predicted_labels(x[:, None], y, x[:, None], "threshold"), y, weights)
    assert float(found) == pytest.approx(best)


def test_a_single_latent_has_a_runner_up_of_zero():
    codes = binary_codes()
    score = SAP(factors_as="measurements")(dataclasses.replace(codes, mean=codes.mean[:, :1]))
    assert score.per_factor["a"] == pytest.approx(float(score.tables["scores"][0, 0]))


# Bugs of other libraries


def test_plain_and_balanced_accuracy_are_told_apart():
    """disentanglement_lib trains with balanced classes and then counts plain accuracy, not the balanced accuracy of the
    paper.

    One image in ten is of class 1, and a latent of noise is thresholded at random: balanced accuracy is near 1/2
    whatever the frequencies.
    """
    generator = torch.Generator().manual_seed(0)
    labels = (torch.arange(3000) % 10 == 0).long()
    mean = torch.randn(3000, 2, dtype=torch.float64, generator=generator)
    codes = Codes(mean, factors=(Labels("rare", labels),))
    by_threshold = SAP("threshold")(codes).tables["scores"]
    assert float((by_threshold - 0.5).abs().max()) < 0.06
    predicted = predicted_labels(mean[:2000], labels[:2000], mean[2000:], "threshold")
    right = predicted == labels[2000:, None]
    recalls = torch.stack([right[labels[2000:] == v].double().mean(dim=0) for v in (0, 1)])
    weights = torch.full((1, 1000), 1e-3, dtype=torch.float64)
    torch.testing.assert_close(balanced_accuracy(predicted, labels[2000:], weights)[0], recalls.mean(dim=0))
    assert float((right.double().mean(dim=0) - recalls.mean(dim=0)).abs().max()) > 0.05


@pytest.mark.parametrize("classifier", ["svm", "threshold"])
def test_latents_are_read_as_real_numbers(classifier):
    """Some round latents to integers first: here every latent has the integer part 0, and only the fractions tell the
    factor.
    """
    generator = torch.Generator().manual_seed(0)
    mean = torch.rand(600, 2, dtype=torch.float64, generator=generator)
    labels = (mean[:, 0] > 0.5).long()
    told, untold = (
        Codes(part, factors=(Labels("v", labels),)) for part in (mean, mean[torch.randperm(600, generator=generator)])
    )
    assert torch.equal(told.mean.long(), untold.mean.long())
    # One latent is nearly always right, the other half of the time; shuffled, both are: 200 test rows err by 0.035
    # each.
    assert SAP(classifier)(told).value == pytest.approx(0.5, abs=0.15)
    assert SAP(classifier)(untold).value < 0.15
    assert SAP(classifier)(Codes(mean.floor(), factors=told.factors)).value == pytest.approx(0, abs=1e-9)


# Laws


@settings(max_examples=5)
@given(seed=st.integers(0, 100), order=st.permutations(range(3)))
def test_score_ignores_order_scale_and_offset_of_latents_for_measurements(seed, order):
    codes = measured(binary_codes(40, seed))
    moved = dataclasses.replace(codes, mean=(codes.mean * torch.tensor([2.0, -3.0, 0.1]) + 5)[:, order])
    assert SAP()(moved).value == pytest.approx(SAP()(codes).value, abs=1e-9)


@pytest.mark.parametrize("classifier", ["svm", "threshold"])
def test_score_ignores_what_values_are_called(classifier):
    codes = binary_codes(60)
    renamed = dataclasses.replace(
        codes, factors=tuple(dataclasses.replace(f, values=10 - 7 * f.values) for f in codes.factors)
    )
    assert SAP(classifier)(renamed).value == pytest.approx(SAP(classifier)(codes).value, abs=1e-9)


def test_two_copies_of_every_latent_leave_no_gap():
    codes = binary_codes(60)
    assert SAP()(dataclasses.replace(codes, mean=codes.mean.repeat(1, 2))).value == 0


def test_weighted_correlations_count_like_repetitions():
    codes, counts = binary_codes(30), 1 + torch.arange(30) % 3
    again = squared_correlations(
        codes.mean.repeat_interleave(counts, dim=0), codes.factors[0].values.repeat_interleave(counts)
    )
    torch.testing.assert_close(squared_correlations(codes.mean, codes.factors[0].values, counts.double()), again)


def test_the_interval_of_a_correlation_is_that_of_all_images():
    """Known for normal variables: the standard error of r^2 is 2 r (1 - r^2) / sqrt(N)."""
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(2000, 1, dtype=torch.float64, generator=generator)
    y = x[:, 0] + torch.randn(2000, dtype=torch.float64, generator=generator)
    codes = Codes(x, factors=(Labels("y", y),))
    for num_rows in (10_000, 600):
        low, high = SAP(num_train=num_rows, num_test=num_rows // 2)(codes).interval
        assert (high - low) / 2 / 1.96 == pytest.approx(2 * math.sqrt(0.5) * 0.5 / math.sqrt(2000), rel=0.25)


def test_missing_labels_are_not_read():
    codes = binary_codes(90)
    known = torch.arange(90) < 60
    broken = dataclasses.replace(codes.factors[0], values=torch.where(known, codes.factors[0].values, 5), known=known)
    score = SAP("threshold")(dataclasses.replace(codes, factors=(broken, codes.factors[1])))
    assert score.per_factor["a"] > 0.1


# What it refuses and warns of


def test_factors_with_many_values_have_no_threshold():
    codes = binary_codes(60)
    shape = Labels("shape", torch.arange(60) % 3)
    score = SAP("threshold")(dataclasses.replace(codes, factors=(shape, *codes.factors)))
    assert math.isnan(score.per_factor["shape"])
    assert "shape (3 values" in score.notes[-1]
    with pytest.raises(CodesError, match="classifier='svm'"):
        SAP("threshold")(dataclasses.replace(codes, factors=(shape,)))


def test_names_are_not_taken_for_measurements():
    codes = binary_codes(60)
    words = dataclasses.replace(codes.factors[0], ordered=False)
    score = SAP(factors_as="measurements")(dataclasses.replace(codes, factors=(words, codes.factors[1])))
    assert math.isnan(score.per_factor["a"])
    assert "(its values" in score.notes[-1]


def test_fewer_images_than_classes_are_refused():
    with pytest.raises(CodesError, match="SAP: factor 'id' has 12 values in 8 training images"):
        SAP()(
            Codes(torch.randn(12, 2, generator=torch.Generator()).double(), factors=(Labels("id", torch.arange(12)),))
        )


def test_a_class_that_is_not_in_the_test_rows_is_no_trouble():
    labels = torch.zeros(30, dtype=torch.int64)
    labels[3] = 1
    codes = Codes(torch.arange(30).double()[:, None], factors=(Labels("once", labels),))
    for classifier in ("svm", "threshold"):
        assert 0 <= SAP(classifier)(codes).value <= 1


def test_many_classes_are_no_reason_to_warn():
    codes = Codes(torch.arange(30).double()[:, None] % 15, factors=(Labels("id", torch.arange(30) % 15),))
    assert 0 <= SAP()(codes).value <= 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"classifier": "tree"}, "svm, threshold"),
        ({"factors_as": "x"}, "labels, measurements"),
    ],
)
def test_impossible_settings_are_refused(arguments, message):
    with pytest.raises(SpecError, match=message):
        SAP(**arguments)


@pytest.mark.parametrize("scale", [2.0**30, 2.0**100, 2.0**450])
def test_huge_latents_are_scored_as_if_they_were_smaller(scale):
    """liblinear does not come to an end on them as they are."""
    values = torch.arange(90) % 3
    mean = torch.randn(90, 2, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    mean[:, 0] += values
    one, other = (SAP()(Codes(mean * unit, factors=(Labels("a", values),))).value for unit in (2.0**25, scale))
    assert one == other


@pytest.mark.parametrize("scale", [1e4, 1e6])
def test_a_larger_scale_of_the_latents_does_not_change_the_score(scale):
    """The penalty on the weights of the SVM is negligible from a std of 10 on."""
    generator = torch.Generator().manual_seed(0)
    values = torch.randint(0, 5, (900,), generator=generator)
    mean = torch.randn(900, 3, dtype=torch.float64, generator=generator)
    mean[:, 0] += values
    mean[:, 1] += values / 2
    usual, larger = (SAP()(Codes(mean * unit, factors=(Labels("a", values),))).value for unit in (10.0, scale))
    assert larger == pytest.approx(usual, abs=0.02)
