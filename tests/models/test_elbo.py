"""The ELBO with hard categories: against an enumeration of all categories, and a bound whatever the measure."""

import math
from dataclasses import replace

import pytest
import torch

from tests.training.squares import Squares
from unbraid.models import MLP, Autoencoder
from unbraid.models.distributions import (
    BernoulliLatents,
    ConcreteLatents,
    CorrelatedGaussianLatents,
    GroupedLatents,
    LearnedCategories,
)
from unbraid.models.trained.elbo import HardELBO, hard_elbo

IMAGES = Squares().load()


def model(latents):
    return Autoencoder(MLP((8,), (8,)), latents=latents).build((1, 8, 8), seed=0).double().eval()


def two(measure, hard=False):
    concrete = ConcreteLatents(3, measure=measure, hard=hard, prior=LearnedCategories((0.5, 0.3, 0.2)))
    return GroupedLatents((concrete, BernoulliLatents(1, measure=measure, hard=hard)))


@torch.no_grad()
def by_enumeration(net):
    """E log p(x | c) and KL(q(c | x) || p(c)) over all six categories, and log p(x)."""
    x = IMAGES.batch(torch.arange(36)).double()
    first, second = net.encode(x).probabilities
    q = (first[:, :, None] * second[:, None, :]).flatten(1)
    p = (torch.tensor([0.5, 0.3, 0.2]).double()[:, None] * torch.tensor([0.5, 0.5]).double()).flatten()
    codes = [torch.tensor([*(float(k == c) for k in range(3)), on]).double() for c in range(3) for on in (0.0, 1.0)]
    log_p = torch.stack([net.likelihood.log_prob(x, net.decoder(code.expand(36, 4))) for code in codes], dim=1)
    return (
        -(q * log_p).sum(dim=1).mean().item(),
        (q * (q / p).log()).sum(dim=1).mean().item(),
        (log_p + p.log()).logsumexp(dim=1).mean().item(),
    )


@pytest.mark.parametrize(("measure", "hard"), [("pmf", False), ("summed", True), ("density", False)])
def test_it_is_the_mean_over_all_categories_and_a_bound(measure, hard):
    net = model(two(measure, hard))
    distortion, rate, evidence = by_enumeration(net)
    found = [hard_elbo(net, IMAGES, seed=seed) for seed in range(60)]
    draws = torch.tensor([each.distortion for each in found])
    assert abs(draws.mean().item() - distortion) < 4 * draws.std().item() / math.sqrt(60)
    assert found[0].rate == pytest.approx(rate, rel=1e-6)  # the prior began as float32
    assert found[0].num_images == 36
    assert -distortion - rate < evidence


def test_correlated_noise_has_its_true_rate():
    plain, exact = (
        hard_elbo(model(CorrelatedGaussianLatents(10, rho=0.9, exact_kl=exact)), IMAGES) for exact in (False, True)
    )
    assert plain == exact


def test_of_many_images_some_are_drawn_and_those_without_weight_never_are():
    net = model(two("pmf"))
    assert hard_elbo(net, IMAGES, max_images=10).num_images == 10
    one = torch.zeros(36, dtype=torch.float64)
    one[7] = 1.0
    alone = replace(IMAGES, pixels=IMAGES.pixels[7:8], factors=tuple(labels[7:8] for labels in IMAGES.factors))
    assert hard_elbo(net, replace(IMAGES, weights=one)).rate == pytest.approx(hard_elbo(net, alone).rate)


def test_its_value_is_minus_its_parts():
    assert HardELBO(3.0, 2.0, 10).value == -5
