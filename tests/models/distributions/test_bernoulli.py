"""Binary latents: the binary Concrete is the Concrete of two categories."""

import math

import pytest
import torch
from torch.distributions import Bernoulli as TorchBernoulli
from torch.distributions import kl_divergence

from tests.models.distributions.families import END, drawn
from unbraid.config.schedule import Linear
from unbraid.errors import SpecError
from unbraid.models.distributions import BernoulliLatents, BinaryConcrete, Concrete

PMF, DENSITY = BernoulliLatents(3), BernoulliLatents(3, measure="density")


@pytest.mark.parametrize("measure", ["pmf", "density"])
def test_two_categories_are_a_binary_latent(measure):
    posterior, z = drawn(BernoulliLatents(1, measure=measure))
    both = Concrete(
        torch.cat([posterior.logits, torch.zeros_like(posterior.logits)], dim=1), posterior.temperature, measure
    )
    torch.testing.assert_close(both.log_prob(torch.cat([z, 1 - z], dim=1)), posterior.log_prob(z))


@pytest.mark.parametrize("temperature", [0.3, 0.66, 2.0])
def test_the_density_integrates_to_one(temperature):
    # Over the logit of z, as far as float64 tells z from 1.
    t = torch.linspace(-36, 36, 100_001, dtype=torch.float64)
    z = torch.sigmoid(t)[:, None]
    posterior = BinaryConcrete(torch.full_like(z, 0.4), torch.tensor(temperature, dtype=torch.float64), "density")
    integrand = (
        posterior.log_prob(z)[:, 0] + torch.nn.functional.logsigmoid(t) + torch.nn.functional.logsigmoid(-t)
    ).exp()
    # What lies beyond |t| = 36 has a mass of about 2 exp(-36 temperature).
    assert torch.trapezoid(integrand, t).item() == pytest.approx(1.0, abs=1e-6 + 4 * math.exp(-36 * temperature))


def test_the_pmf_and_the_kl_are_torchs():
    posterior, z = drawn(PMF)
    same = TorchBernoulli(logits=posterior.logits)
    torch.testing.assert_close(posterior.log_prob(z), same.log_prob((z > 0.5).double()))
    for p in (0.5, 0.3):
        prior = BinaryConcrete(torch.full((3,), math.log(p / (1 - p)), dtype=torch.float64), END, "pmf")
        torch.testing.assert_close(
            prior.kl_from(posterior, z), kl_divergence(same, TorchBernoulli(torch.tensor(p, dtype=torch.float64)))
        )


@pytest.mark.parametrize("temperature", [0.2, 2.0])
def test_a_latent_is_on_with_its_probability_at_any_temperature(temperature):
    generator = torch.Generator().manual_seed(0)
    logits = torch.full((50_000, 1), 0.8, dtype=torch.float64)
    z = BinaryConcrete(logits, torch.tensor(temperature, dtype=torch.float64), "pmf").rsample(
        torch.randn(50_000, 1, dtype=torch.float64, generator=generator)
    )
    assert (z > 0.5).double().mean().item() == pytest.approx(torch.sigmoid(logits[0, 0]).item(), abs=0.01)


def test_probabilities_are_of_off_and_on():
    posterior = BinaryConcrete(torch.tensor([[2.0, -1.0]]), torch.tensor(1.0), "pmf")
    assert len(posterior.probabilities) == 2
    torch.testing.assert_close(posterior.probabilities[1], torch.sigmoid(torch.tensor([[1.0, -1.0]])))


def test_each_latent_is_a_group():
    assert PMF.groups == ((0,), (1,), (2,))
    assert PMF.num_discrete == 3


def test_the_prior_begins_at_its_probability_and_is_learned_if_asked():
    module = BernoulliLatents(2, prior_probability=0.3, learned_prior=True).make_prior()
    torch.testing.assert_close(torch.sigmoid(module().logits), torch.tensor([0.3, 0.3]))
    assert len(list(module.parameters())) == 1
    assert list(PMF.make_prior().parameters()) == []


def test_what_rounds_to_0_or_1_has_a_finite_density():
    posterior = BinaryConcrete(torch.zeros(1, 2), torch.tensor(0.66), "density")
    assert bool(posterior.log_prob(torch.tensor([[0.0, 1.0]])).isfinite().all())


@pytest.mark.parametrize("temperature", [0.0, Linear(1.0, 0.0)])
def test_a_temperature_that_is_ever_0_is_refused(temperature):
    with pytest.raises(SpecError, match="BernoulliLatents: temperature"):
        BernoulliLatents(temperature=temperature)


@pytest.mark.parametrize("p", [0.0, 1.0, -0.1, math.nan])
def test_a_certain_prior_is_refused(p):
    with pytest.raises(SpecError, match=f"prior_probability is {p}"):
        BernoulliLatents(prior_probability=p)


def test_no_latents_are_refused():
    with pytest.raises(SpecError, match="BernoulliLatents: size"):
        BernoulliLatents(0)
