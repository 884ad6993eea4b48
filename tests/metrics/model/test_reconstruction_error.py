"""Reconstruction errors as scores of a model."""

import pytest
import torch

from tests.metrics.model.models import ALL, IMAGES, MIXED, model, scored
from unbraid.metrics.model import ReconstructionError
from unbraid.models.distributions import GaussianLatents, GaussianLikelihood


@pytest.mark.parametrize("latents", [GaussianLatents(2), MIXED])
def test_they_are_means_over_pixels(latents):
    net = model(latents)
    x = IMAGES.batch(ALL).double()
    m = net.reconstruct(x)
    assert scored(ReconstructionError(), net).value == pytest.approx(float((x - m).square().mean()), rel=1e-10)
    assert scored(ReconstructionError("absolute"), net).value == pytest.approx(float((x - m).abs().mean()), rel=1e-10)
    entropy = -(x * m.log() + (1 - x) * (1 - m).log()).mean()
    assert scored(ReconstructionError("cross_entropy"), net).value == pytest.approx(float(entropy), rel=1e-10)


def test_means_beyond_the_range_of_intensities_have_a_finite_cross_entropy():
    net = model(likelihood=GaussianLikelihood(0.1))
    with torch.no_grad():
        for parameter in net.decoder.parameters():
            parameter.mul_(50)
    assert float(net.reconstruct(IMAGES.batch(ALL)).max()) > 1
    assert 0 < scored(ReconstructionError("cross_entropy"), net).value <= 100
