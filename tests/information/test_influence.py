"""Influences are derivatives with respect to the weights of images."""

import dataclasses

import pytest
import torch

from unbraid.information.quantized import Bins, influences, quantize, quantized_information, quantized_statistics
from unbraid.information.value_table import ValueTable

BINS = Bins(6)
NUM_IMAGES = 12


def case(missing):
    generator = torch.Generator().manual_seed(0)
    mean = torch.randn(NUM_IMAGES, 2, dtype=torch.float64, generator=generator)
    std = torch.rand(NUM_IMAGES, 2, dtype=torch.float64, generator=generator) + 0.1
    soft = torch.rand(NUM_IMAGES, 3, dtype=torch.float64, generator=generator)
    soft = soft / soft.sum(dim=1, keepdim=True)
    labels = torch.arange(NUM_IMAGES) % 2
    if missing:
        labels[::4], soft[1::3] = -1, 0
    weights = torch.rand(NUM_IMAGES, dtype=torch.float64, generator=generator) + 0.5
    return mean, std, ValueTable.from_assignments((labels, soft), NUM_IMAGES, weights / weights.sum())


def of(mean, std, values):
    onehot = torch.nn.functional.one_hot(values.assignments[0] + 1, 3)[:, 1:].double()
    sums = quantized_statistics(mean, std, values, BINS)
    scaled = values.weights * NUM_IMAGES
    return influences(quantize(mean, std, BINS), (onehot, values.assignments[1]), scaled, sums)


@pytest.mark.parametrize("missing", [False, True], ids=["complete", "missing labels"])
def test_they_are_the_derivatives_of_every_entropy(missing):
    """d H / d t where p(m) = (1 - t) p(m) + t [m = n], by finite differences; an influence is that times N p(n)."""
    mean, std, values = case(missing)
    found, step = of(mean, std, values), 1e-6
    for n in range(NUM_IMAGES):
        spike = torch.nn.functional.one_hot(torch.tensor(n), NUM_IMAGES).double()
        after, before = (
            quantized_information(
                mean, std, dataclasses.replace(values, weights=(1 - t) * values.weights + t * spike), BINS
            )
            for t in (step, -step)
        )
        for name, deviations in found.items():
            derivative = (getattr(after, name) - getattr(before, name)) / (2 * step)
            torch.testing.assert_close(
                deviations[n], derivative * values.weights[n] * NUM_IMAGES, atol=1e-6, rtol=1e-6, msg=name
            )


@pytest.mark.parametrize("missing", [False, True], ids=["complete", "missing labels"])
def test_they_average_to_nothing(missing):
    for name, deviations in of(*case(missing)).items():
        torch.testing.assert_close(
            deviations.mean(dim=0), torch.zeros_like(deviations[0]), atol=1e-12, rtol=0, msg=name
        )


def test_without_factors_the_entropies_still_have_influences():
    mean, std, values = case(missing=False)
    sums = quantized_statistics(mean, std, ValueTable.from_assignments((), NUM_IMAGES, values.weights), BINS)
    found = influences(quantize(mean, std, BINS), (), values.weights * NUM_IMAGES, sums)
    assert found["mutual_information"].shape == (NUM_IMAGES, 2, 0)
    assert found["factor_entropy"].shape == (NUM_IMAGES, 0)
    torch.testing.assert_close(found["entropy"], of(mean, std, values)["entropy"])
