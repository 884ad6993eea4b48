"""Attribute vectors: known answers, laws, and what is left out."""

import dataclasses
import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from unbraid.codes import Codes, Labels
from unbraid.errors import CodesError
from unbraid.metrics.attribute_vector import AttributeVector, hinge_bias


def random_codes(seed, num_images=300, gap=1.5):
    generator = torch.Generator().manual_seed(seed)
    labels = [(torch.rand(num_images, generator=generator) < share).long() for share in (0.5, 0.2)]
    mean = torch.randn(num_images, 3, dtype=torch.float64, generator=generator)
    mean[:, 0] += gap * labels[0]
    mean[:, 1] -= gap * labels[1]
    return Codes(mean, factors=tuple(Labels(name, y) for name, y in zip("ab", labels, strict=True)))


def hinge_loss(bias, scores, positive):
    return float((1 - torch.where(positive, 1.0, -1.0) * (scores + bias)).clamp(min=0).sum())


# Known answers


@pytest.mark.parametrize(
    ("scores", "positive", "bias"),
    [
        ([5.0, -5.0], [True, False], 0.0),  # flat from -4 to 4
        ([3.0, -1.0], [True, False], -1.0),  # flat from -2 to 0
        ([0.0, 0.0, 0.0], [True, False, False], -1.0),  # nothing to tell them apart: the more frequent
        ([0.0, 0.0], [True, False], 0.0),
    ],
)
def test_the_bias_is_the_middle_of_the_best(scores, positive, bias):
    assert hinge_bias(torch.tensor(scores, dtype=torch.float64), torch.tensor(positive)) == pytest.approx(bias)


@given(seed=st.integers(0, 1000), num_images=st.integers(2, 12))
def test_no_other_bias_has_a_smaller_hinge_loss(seed, num_images):
    generator = torch.Generator().manual_seed(seed)
    scores = 2 * torch.randn(num_images, dtype=torch.float64, generator=generator)
    positive = torch.arange(num_images) < 1 + seed % (num_images - 1)
    bias = hinge_bias(scores, positive)
    tried = np.concatenate([np.linspace(-8, 8, 161), (torch.where(positive, 1.0, -1.0) - scores).numpy()])
    assert hinge_loss(bias, scores, positive) <= min(hinge_loss(b, scores, positive) for b in tried) + 1e-9


def test_attributes_far_apart_are_told_without_error():
    score = AttributeVector()(random_codes(0, gap=30.0))
    assert score.value == 1
    assert score.per_factor == {"a": 1, "b": 1}
    assert 0.9 < score.interval[0] < 1  # all right on a hundred images is no proof


def test_the_vector_is_the_difference_of_the_class_means():
    codes = random_codes(1)
    score = AttributeVector(num_train=200, num_test=100)(codes)
    assert score.tables["vectors"].shape == (3, 2)
    torch.testing.assert_close(score.tables["vectors"][0, 0], torch.tensor(1.5, dtype=torch.float64), atol=0.4, rtol=0)
    assert abs(float(score.tables["vectors"][2, 0])) < 0.5


def test_two_gaussians_are_told_as_well_as_can_be():
    """Classes 3 apart with std 1: the best accuracy is Phi(1.5) = 0.933."""
    score = AttributeVector()(
        dataclasses.replace(random_codes(2, 20_000, gap=3.0), factors=random_codes(2, 20_000, gap=3.0).factors[:1])
    )
    assert score.value == pytest.approx(0.933, abs=0.01)
    assert score.interval[0] <= 0.933 <= score.interval[1]
    assert score.parts["majority"].value == pytest.approx(0.5, abs=0.02)


# Laws


@settings(max_examples=8)
@given(seed=st.integers(0, 100), sign=st.sampled_from([-1.0, 1.0]), offset=st.floats(-5, 5))
def test_flipping_and_moving_latents_changes_no_score(seed, sign, offset):
    codes = random_codes(seed)
    assert AttributeVector()(dataclasses.replace(codes, mean=sign * codes.mean + offset)).value == pytest.approx(
        AttributeVector()(codes).value
    )


@settings(max_examples=8)
@given(seed=st.integers(0, 100))
def test_the_value_lies_in_its_interval(seed):
    score = AttributeVector()(random_codes(seed))
    assert 0 <= score.interval[0] <= score.value <= score.interval[1] <= 1


def test_the_names_of_two_values_do_not_matter():
    codes = random_codes(3)
    named = tuple(dataclasses.replace(f, values=40 + 7 * f.values, ordered=False) for f in codes.factors)
    assert (
        AttributeVector()(dataclasses.replace(codes, factors=named)).per_factor == AttributeVector()(codes).per_factor
    )


# What is left out and refused


def test_factors_that_are_not_binary_are_left_out_by_name():
    codes = random_codes(4)
    more = (Labels("size", torch.arange(300) % 3), Labels("angle", torch.linspace(0, 1, 300)))
    score = AttributeVector()(dataclasses.replace(codes, factors=(*more, *codes.factors)))
    assert math.isnan(score.per_factor["size"])
    assert math.isnan(score.per_factor["angle"])
    assert score.value == pytest.approx(AttributeVector()(codes).value)
    assert score.notes[-1] == "Left out: size (3 values), angle (continuous)."
    assert score.tables["vectors"][:, 0].isnan().all()


def test_an_attribute_that_no_training_image_has_is_left_out():
    codes = random_codes(5, num_images=30)
    rare = tuple(Labels(f"r{n}", (torch.arange(30) == n).long()) for n in range(30))
    score = AttributeVector()(dataclasses.replace(codes, factors=(*codes.factors, *rare)))
    assert sum(math.isnan(accuracy) for accuracy in score.per_factor.values()) == 10  # one for each test image
    assert "training rows" in score.notes[-1]


def test_codes_without_a_binary_factor_are_refused():
    codes = dataclasses.replace(random_codes(7), factors=(Labels("size", torch.arange(300) % 3),))
    with pytest.raises(CodesError, match=r"AttributeVector: the factors are size \(3 values\)"):
        AttributeVector()(codes)
