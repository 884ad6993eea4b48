import itertools
import math

import pytest
import torch

from tests.models.distributions.families import END, drawn, normal, seeded
from unbraid.errors import SpecError
from unbraid.models import EsmaeiliMNIST
from unbraid.models.distributions import (
    ConcreteLatents,
    Conditional,
    ConditionalLatents,
    DiagonalGaussian,
    GaussianLatents,
    GroupedLatents,
)
from unbraid.models.layers.heads import Branched, PerCategory

LATENTS = ConditionalLatents(GaussianLatents(2), ConcreteLatents(3))


def test_the_joint_is_the_probability_of_the_category_and_the_gaussian_given_it():
    posterior, z = drawn(LATENTS)
    for row, category in enumerate(z[:, 2:].argmax(dim=1)):
        given = torch.distributions.Normal(posterior.loc[row, category], (0.5 * posterior.log_var[row, category]).exp())
        expected = posterior.probabilities[0][row, category].log() + given.log_prob(z[row, :2]).sum()
        torch.testing.assert_close(posterior.joint_log_prob(z, range(3))[row], expected)


def test_without_the_category_the_density_is_that_of_the_mixture_and_sums_to_one():
    posterior, _ = drawn(LATENTS, batch=1)
    grid = torch.linspace(-12, 12, 2001, dtype=torch.float64)
    z = torch.cat([grid[:, None].expand(-1, 2), torch.eye(3, dtype=torch.float64)[:1].expand(len(grid), -1)], dim=1)
    for latent in range(2):
        density = posterior.pairwise_joint_log_prob(z, [latent])[:, 0].exp()
        torch.testing.assert_close(density, posterior.pairwise_log_prob(z)[:, 0, latent].exp())
        assert torch.trapezoid(density, grid).item() == pytest.approx(1, abs=1e-6)


def test_draws_have_the_mean_of_the_category_that_was_drawn():
    parameters = normal(1, LATENTS.num_parameters).expand(20_000, -1)
    posterior = LATENTS.posterior(parameters, END)
    z = posterior.rsample(normal(20_000, LATENTS.num_noise, seed=1))
    categories = z[:, 2:].argmax(dim=1)
    for category in range(3):
        own = z[categories == category, :2]
        assert len(own) / len(z) == pytest.approx(posterior.probabilities[0][0, category].item(), abs=0.02)
        spread = posterior.log_var[0, category].mul(0.5).exp()
        error = 5 * spread / math.sqrt(len(own))
        assert bool(((own.mean(dim=0) - posterior.loc[0, category]).abs() < error).all())


def test_with_the_same_gaussian_for_every_category_it_is_the_product():
    loc, log_var, logits = normal(4, 2), normal(4, 2, seed=1), normal(4, 3, seed=2)
    numbers = torch.cat([each.repeat(1, 3) for each in (loc, log_var)], dim=1)
    posterior = LATENTS.posterior(torch.cat([numbers, logits], dim=1), END)
    independent = GroupedLatents(LATENTS.parts)
    product = independent.posterior(torch.cat([loc, log_var, logits], dim=1), END)
    noise = normal(4, LATENTS.num_noise, seed=3)
    z = posterior.rsample(noise)
    torch.testing.assert_close(z, product.rsample(noise))
    torch.testing.assert_close(posterior.log_prob(z), product.log_prob(z))
    torch.testing.assert_close(posterior.pairwise_log_prob(z), product.pairwise_log_prob(z))
    for size in (1, 2, 3):
        for latents in itertools.combinations(range(3), size):
            torch.testing.assert_close(
                posterior.pairwise_joint_log_prob(z, latents), product.pairwise_joint_log_prob(z, latents)
            )
    kls = [each.make_prior()().kl_from(of, z) for each, of in ((LATENTS, posterior), (independent, product))]
    torch.testing.assert_close(*kls)


def test_the_logits_learn_from_the_closed_form_of_the_kl():
    logits = torch.zeros(1, 3, dtype=torch.float64, requires_grad=True)
    loc = torch.tensor([[[0.0], [1.0], [2.0]]], dtype=torch.float64)
    latents = ConditionalLatents(GaussianLatents(1), ConcreteLatents(3))
    posterior = Conditional(loc, torch.zeros_like(loc), latents.category.posterior(logits, END))
    kl = latents.make_prior()().closed_form_kl_from(posterior)
    assert kl.sum().item() == pytest.approx((0 + 0.5 + 2) / 3)  # of N(m, 1): m^2 / 2
    kl.sum().backward()
    assert logits.grad[0].argmax().item() == 2  # the category with the costliest mean becomes less likely


def test_metrics_see_the_gaussian_of_the_likeliest_category():
    posterior, _ = drawn(LATENTS)
    likeliest = posterior.probabilities[0].argmax(dim=1)
    given = DiagonalGaussian(posterior.loc[range(5), likeliest], posterior.log_var[range(5), likeliest])
    torch.testing.assert_close((posterior.mean, posterior.std), (given.mean, given.std))


def test_the_heads_of_the_paper_read_the_category():
    latents = ConditionalLatents()
    encoder = seeded(lambda: EsmaeiliMNIST().make_encoder((1, 28, 28), latents))
    assert encoder(torch.zeros(2, 1, 28, 28)).shape == (2, latents.num_parameters)
    branched = encoder[-1]
    assert isinstance(branched, Branched)
    mean = branched.branches[0]
    assert isinstance(mean, PerCategory)
    # 410 - 200 - 10, as in the example of the authors' library.
    assert sum(parameter.numel() for parameter in mean.parameters()) == 410 * 200 + 200 + 200 * 10 + 10
    features = torch.randn(2, 400, generator=torch.Generator().manual_seed(0))
    table = branched(features)[:, : 10 * 10].unflatten(1, (10, 10))
    one_hot = torch.eye(10)[3].expand(2, 10)
    hidden = features @ mean.of_features.weight.T + mean.of_features.bias + one_hot @ mean.of_category.weight.T
    torch.testing.assert_close(table[:, 3], mean.last(hidden.relu()))


def test_a_sum_over_categories_is_refused():
    with pytest.raises(SpecError, match='measure "summed"'):
        ConditionalLatents(category=ConcreteLatents(3, measure="summed"))
