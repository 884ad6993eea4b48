"""The Concrete latent: its density against integrals, its pmf and KL against torch."""

import itertools
import math

import pytest
import torch
from torch.distributions import Categorical as TorchCategorical
from torch.distributions import kl_divergence
from torch.func import grad

from tests.models.distributions.families import END, drawn
from unbraid.config.schedule import Linear
from unbraid.errors import SpecError
from unbraid.models.distributions import (
    BernoulliLatents,
    Concrete,
    ConcreteLatents,
    GaussianLatents,
    LearnedCategories,
)
from unbraid.models.distributions.posteriors.concrete import concrete_log_density

PMF, DENSITY = ConcreteLatents(4), ConcreteLatents(4, measure="density")


def tensor(*values):
    return torch.tensor(values, dtype=torch.float64)


# Known answers


@pytest.mark.parametrize("temperature", [0.3, 0.66, 1.0, 2.0])
@pytest.mark.parametrize("logits", [(0.0, 0.0), (1.5, -0.5)])
def test_the_density_of_two_categories_integrates_to_one(temperature, logits):
    # On the scale of the logit, where the integrand has no poles: dz = z (1 - z) dt.
    t = torch.linspace(-200, 200, 400_001, dtype=torch.float64)
    log_z = torch.stack([torch.nn.functional.logsigmoid(t), torch.nn.functional.logsigmoid(-t)], dim=1)
    integrand = (
        concrete_log_density(log_z, tensor(*logits).expand(log_z.shape), tensor(temperature).squeeze())
        + log_z.sum(dim=1)
    ).exp()
    assert torch.trapezoid(integrand, t).item() == pytest.approx(1.0, abs=1e-9)


@pytest.mark.parametrize("temperature", [0.66, 1.5])
def test_the_density_of_three_categories_integrates_to_one(temperature):
    # z = softmax(a, b, 0): the Jacobian of the first two shares is z_1 z_2 z_3.
    t = torch.linspace(-60, 60, 1201, dtype=torch.float64)
    a, b = torch.meshgrid(t, t, indexing="ij")
    log_z = torch.stack([a, b, torch.zeros_like(a)], dim=2).log_softmax(dim=2)
    log_density = concrete_log_density(log_z, tensor(0.7, -0.4, 0.2).expand(log_z.shape), tensor(temperature).squeeze())
    integrand = (log_density + log_z.sum(dim=2)).exp()
    assert torch.trapezoid(torch.trapezoid(integrand, t), t).item() == pytest.approx(1.0, abs=1e-6)


def test_the_pmf_is_the_probability_of_the_largest_share():
    posterior, z = drawn(PMF)
    expected = TorchCategorical(logits=posterior.logits).log_prob(z.argmax(dim=1))
    torch.testing.assert_close(posterior.log_prob(z)[:, 0], expected)


def test_the_kl_is_torchs():
    posterior, z = drawn(PMF)
    for logits in (torch.zeros(4, dtype=torch.float64), tensor(0.5, -1.0, 0.3, 2.0)):
        expected = kl_divergence(
            TorchCategorical(logits=posterior.logits), TorchCategorical(logits=logits.expand(5, 4))
        )
        torch.testing.assert_close(Concrete(logits, END, "pmf").kl_from(posterior, z)[:, 0], expected)


def test_between_densities_there_is_only_the_log_ratio():
    posterior, z = drawn(DENSITY)
    prior = Concrete(torch.zeros(4, dtype=torch.float64), posterior.temperature, "density")
    assert prior.closed_form_kl_from(posterior) is None
    torch.testing.assert_close(prior.kl_from(posterior, z), posterior.log_prob(z) - prior.log_prob(z))


# Laws


@pytest.mark.parametrize("temperature", [0.1, 0.66, 5.0])
def test_categories_have_their_probabilities_at_any_temperature(temperature):
    generator = torch.Generator().manual_seed(0)
    logits = tensor(1.0, 0.0, -1.0).expand(50_000, 3)
    z = Concrete(logits, tensor(temperature).squeeze(), "pmf").rsample(
        torch.randn(50_000, 3, dtype=torch.float64, generator=generator)
    )
    torch.testing.assert_close(z.sum(dim=1), torch.ones(50_000, dtype=torch.float64))
    found = torch.bincount(z.argmax(dim=1), minlength=3) / 50_000
    torch.testing.assert_close(found, logits[0].softmax(0).float(), atol=0.01, rtol=0)


@pytest.mark.parametrize("latents", [PMF, DENSITY])
def test_posterior_and_prior_are_measured_alike(latents):
    """With the same logits they are the same: what peers mix (a pmf against a density) would not cancel."""
    posterior, z = drawn(latents)
    prior = latents.make_prior().double()()
    same = latents.posterior(torch.zeros_like(posterior.logits), END)
    torch.testing.assert_close(same.log_prob(z), prior.log_prob(z))
    torch.testing.assert_close(prior.kl_from(same, z), torch.zeros(5, 1, dtype=torch.float64))
    assert prior.measure == posterior.measure
    assert prior.temperature == posterior.temperature


def test_the_gradient_of_the_pmf_at_the_category_drawn_has_the_mean_zero():
    """So the logits learn nothing from it on average, which is why there is the measure "summed"."""
    posterior, _ = drawn(PMF)
    probabilities, mean = posterior.logits.softmax(dim=1), torch.zeros(5, 4, dtype=torch.float64)
    for category, one_hot in enumerate(torch.eye(4, dtype=torch.float64)):
        z = one_hot.expand(5, 4)
        found = grad(lambda logits, z=z: Concrete(logits, END, "pmf").log_prob(z).sum())(posterior.logits)
        torch.testing.assert_close(found, one_hot - probabilities)
        mean += probabilities[:, category, None] * found
    torch.testing.assert_close(mean, torch.zeros_like(mean))


def test_only_the_measure_summed_gives_its_categories_to_be_summed_over():
    summed, _ = drawn(ConcreteLatents(4, measure="summed"))
    assert list(summed.summed_log_pmf) == [0]
    torch.testing.assert_close(summed.summed_log_pmf[0].exp(), summed.probabilities[0])
    assert drawn(PMF)[0].summed_log_pmf == drawn(DENSITY)[0].summed_log_pmf == {}


@pytest.mark.parametrize("latents", [PMF, DENSITY])
def test_shifting_all_logits_changes_nothing(latents):
    posterior, z = drawn(latents)
    shifted = Concrete(posterior.logits + 3.0, posterior.temperature, posterior.measure)
    torch.testing.assert_close(shifted.log_prob(z), posterior.log_prob(z))
    torch.testing.assert_close(shifted.probabilities, posterior.probabilities)


def test_the_order_of_categories_does_not_matter():
    posterior, z = drawn(ConcreteLatents(3, measure="density"))
    for order in itertools.permutations(range(3)):
        permuted = Concrete(posterior.logits[:, order], posterior.temperature, "density")
        torch.testing.assert_close(permuted.log_prob(z[:, order]), posterior.log_prob(z))


def test_a_share_that_underflows_has_a_finite_density():
    posterior = Concrete(torch.tensor([[200.0, 0.0, -200.0]]), torch.tensor(0.1), "density")
    z = posterior.rsample(torch.zeros(1, 3))
    assert z[0, 2].item() == 0.0
    assert bool(posterior.log_prob(z).isfinite().all())


def test_the_temperature_follows_its_schedule_in_posterior_and_prior():
    latents = ConcreteLatents(3, Linear(1.0, 0.5))
    halfway = torch.tensor(0.5)
    assert latents.posterior(torch.zeros(1, 3), halfway).temperature.item() == 0.75
    assert latents.make_prior()(halfway).temperature.item() == 0.75
    assert latents.make_prior()().temperature.item() == 0.5  # after training


def test_a_prior_is_learned_from_where_it_was_told_to_begin():
    latents = ConcreteLatents(3, prior=LearnedCategories((0.5, 0.3, 0.2)))
    module = latents.make_prior()
    torch.testing.assert_close(module().logits.softmax(0), torch.tensor([0.5, 0.3, 0.2]))
    assert [parameter.shape for parameter in module.parameters()] == [(3,)]
    assert list(ConcreteLatents(3).make_prior().parameters()) == []


def test_another_posterior_has_no_closed_form():
    posterior, _ = drawn(GaussianLatents(1))
    assert Concrete(torch.zeros(4), torch.tensor(1.0), "pmf").closed_form_kl_from(posterior) is None


# Errors


@pytest.mark.parametrize("temperature", [0.0, -1.0, math.nan, math.inf, Linear(1.0, 0.0)])
def test_a_temperature_that_is_ever_0_is_refused(temperature):
    with pytest.raises(SpecError, match="ConcreteLatents: temperature"):
        ConcreteLatents(temperature=temperature)


def test_a_sum_over_too_many_categories_is_refused():
    with pytest.raises(SpecError, match='"summed"'):
        ConcreteLatents(1025, measure="summed")
    with pytest.raises(SpecError, match="most 1,024"):
        BernoulliLatents(20_000, measure="summed")


@pytest.mark.parametrize("categories", [1, 0])
def test_fewer_than_two_categories_are_refused(categories):
    with pytest.raises(SpecError, match=f"categories is {categories}"):
        ConcreteLatents(categories)


def test_a_prior_of_the_wrong_size_is_refused():
    with pytest.raises(SpecError, match="3 probabilities"):
        ConcreteLatents(10, prior=LearnedCategories((0.5, 0.3, 0.2)))


@pytest.mark.parametrize("initial", [(0.5, 0.4), (1.0, 0.0), (1.5, -0.5)])
def test_what_are_no_probabilities_are_refused(initial):
    with pytest.raises(SpecError, match="expected positive probabilities that sum to 1"):
        LearnedCategories(initial)
