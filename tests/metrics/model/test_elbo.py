"""The ELBO as a score of a model."""

import math

import pytest
import torch

from tests.metrics.model.models import ALL, CONTINUOUS, IMAGES, MIXED, model, scored
from unbraid.metrics.model import ELBO
from unbraid.models.trained.elbo import hard_elbo


@pytest.mark.parametrize("latents", [CONTINUOUS, MIXED])
def test_it_is_minus_distortion_minus_rate_over_all_images(latents):
    net = model(latents)
    score, expected = scored(ELBO(seed=4), net), hard_elbo(net, IMAGES, seed=4)
    assert score.value == pytest.approx(expected.value, rel=1e-12)
    assert score.parts["distortion"].value == pytest.approx(expected.distortion, rel=1e-12)
    assert score.parts["rate"].value == pytest.approx(expected.rate, rel=1e-12)
    assert score.settings == {"seed": 4}


def test_of_gaussians_it_is_the_closed_form():
    net = model()
    x = IMAGES.batch(ALL).double()
    with torch.no_grad():
        posterior = net.encode(x)
    mean, variance = posterior.mean, posterior.std.square()
    rate = 0.5 * (mean.square() + variance - 1 - variance.log()).sum(dim=1)
    assert scored(ELBO(), net).parts["rate"].value == pytest.approx(float(rate.mean()), rel=1e-12)


def test_images_count_by_their_weights():
    net, only = model(), torch.zeros(36, dtype=torch.float64)
    only[[3, 7]] = torch.tensor([0.25, 0.75], dtype=torch.float64)
    each = []
    for row in (3, 7):
        one = torch.zeros(36, dtype=torch.float64)
        one[row] = 1.0
        each.append(scored(ELBO(), net, one).value)
    assert scored(ELBO(), net, only).value == pytest.approx(0.25 * each[0] + 0.75 * each[1])


def test_its_interval_is_that_of_a_mean_over_images():
    score = scored(ELBO(), model())
    low, high = score.interval
    assert low < score.value < high
    assert math.isclose(score.value - low, high - score.value)
