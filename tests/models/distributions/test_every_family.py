"""What is asked of every family of latents and every prior, whatever it computes."""

import math

import pytest
import torch
from torch.func import functional_call, grad, vmap

from tests.discovery import ROOT, concrete_subclasses
from tests.models.distributions.families import END, FAMILIES, WITHOUT_DENSITY, drawn, named, normal, seeded, some_prior
from unbraid.models.distributions import Latents, Likelihood
from unbraid.models.distributions.priors.categorical_priors import CategoricalPriorConfig
from unbraid.models.distributions.priors.prior import PriorConfig

every = pytest.mark.parametrize("latents", FAMILIES, ids=named)


def test_none_is_left_out():
    assert {type(latents) for latents in FAMILIES + WITHOUT_DENSITY} == set(concrete_subclasses(Latents))
    tried = {type(prior) for latents in FAMILIES if isinstance(prior := getattr(latents, "prior", None), PriorConfig)}
    # A uniform prior has no density where a Gaussian reaches: it has tests of its own.
    assert {cls.__name__ for cls in set(concrete_subclasses(PriorConfig)) - tried} == {"UniformPrior"}


@every
def test_shapes_are_as_the_config_says(latents):
    posterior, z = drawn(latents)
    num_continuous = latents.num_latents - latents.num_discrete
    assert z.shape == (5, latents.num_columns)
    assert posterior.log_prob(z).shape == some_prior(latents).log_prob(z).shape == (5, latents.num_latents)
    assert posterior.pairwise_log_prob(z[:3]).shape == (3, 5, latents.num_latents)
    assert posterior.mean.shape == (5, num_continuous)
    assert len(posterior.probabilities) == latents.num_discrete
    assert sorted(latent for group in latents.groups for latent in group) == list(range(latents.num_latents))
    assert sum(latents.widths) == latents.num_columns
    assert some_prior(latents).sample(normal(*z.shape)).shape == z.shape


@every
def test_the_diagonal_of_the_pairs_is_log_prob(latents):
    posterior, z = drawn(latents)
    torch.testing.assert_close(posterior.pairwise_log_prob(z).diagonal().mT, posterior.log_prob(z))
    everything = range(latents.num_latents)
    torch.testing.assert_close(
        posterior.pairwise_joint_log_prob(z, everything).diagonal(), posterior.joint_log_prob(z, everything)
    )


@every
def test_the_joint_of_independent_latents_is_the_sum(latents):
    posterior, z = drawn(latents)
    for distribution in (posterior, some_prior(latents)):
        joint, total = distribution.joint_log_prob(z, range(latents.num_latents)), distribution.log_prob(z).sum(dim=1)
        assert distribution.is_factorized == torch.allclose(joint, total)
        one = distribution.joint_log_prob(z, [latents.num_latents - 1])
        torch.testing.assert_close(one, distribution.log_prob(z)[:, -1])


# Where only the noise is correlated, the KL is by intention not that of the draws.
@pytest.mark.parametrize("latents", [latents for latents in FAMILIES if getattr(latents, "exact_kl", True)], ids=named)
def test_the_kl_is_the_mean_log_ratio_of_draws(latents):
    """The sum over latents is the KL between joint distributions, whether in closed form or not, correlated or not."""
    generator = torch.Generator().manual_seed(1)
    parameters = torch.randn(1, latents.num_parameters, dtype=torch.float64, generator=generator).expand(40_000, -1)
    posterior, prior = latents.posterior(parameters, END), some_prior(latents)
    z = posterior.rsample(torch.randn(40_000, latents.num_noise, dtype=torch.float64, generator=generator))
    everything = range(latents.num_latents)
    ratio = posterior.joint_log_prob(z, everything) - prior.joint_log_prob(z, everything)
    error = 4 * ratio.std().item() / math.sqrt(len(z))
    assert prior.kl_from(posterior, z).sum(dim=1).mean().item() == pytest.approx(ratio.mean().item(), abs=error + 1e-9)


@every
def test_it_lives_under_vmap_and_grad(latents):
    """All that an objective may ask, with learned priors; the same for a member alone and in company."""
    generator = torch.Generator().manual_seed(0)
    module = seeded(latents.make_prior).double()
    randn = lambda *shape: torch.randn(3, *shape, dtype=torch.float64, generator=generator)  # noqa: E731
    parameters, noise, other = (
        randn(4, latents.num_parameters),
        randn(4, latents.num_noise),
        randn(4, latents.num_columns),
    )
    weights = {name: 0.3 * randn(*parameter.shape) for name, parameter in module.named_parameters()}

    def loss(parameters, weights, noise, other):
        posterior = latents.posterior(parameters, END / 2)
        prior, z = functional_call(module, weights, (END / 2,)), posterior.rsample(noise)
        everything = range(latents.num_latents)
        terms = [
            *(d.log_prob(z) for d in (posterior, prior)),
            *(d.joint_log_prob(z, everything[:2]) for d in (posterior, prior)),
            posterior.pairwise_log_prob(z).logsumexp(dim=1),
            posterior.pairwise_joint_log_prob(z, everything).logsumexp(dim=1),
            prior.kl_from(posterior, z),
            prior.sample(other),
            *posterior.probabilities,
            posterior.mean,
        ]
        return sum(term.sum() for term in terms)

    together = vmap(grad(loss, argnums=(0, 1)))(parameters, weights, noise, other)
    for member in range(3):
        own = {name: weight[member] for name, weight in weights.items()}
        alone = grad(loss, argnums=(0, 1))(parameters[member], own, noise[member], other[member])
        torch.testing.assert_close(together[0][member], alone[0])
        torch.testing.assert_close({name: weight[member] for name, weight in together[1].items()}, alone[1])
    assert all(bool(each.isfinite().all()) for each in (together[0], *together[1].values()))


@every
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_it_keeps_the_precision_it_is_given(latents, dtype):
    posterior, z = drawn(latents, dtype=dtype)
    prior = some_prior(latents, dtype=dtype)
    values = [
        z,
        posterior.mean,
        posterior.log_prob(z),
        posterior.pairwise_log_prob(z),
        prior.log_prob(z),
        prior.kl_from(posterior, z),
    ]
    assert {
        value.dtype for value in [*values, prior.sample(normal(*z.shape, dtype=dtype)), *posterior.probabilities]
    } == {dtype}


@every
@pytest.mark.parametrize("scale", [30.0, -30.0])
def test_extreme_parameters_and_noise_stay_finite_in_float32(latents, scale):
    """The noise of `unbraid._internal.draws` is at most 8.2 in size."""
    parameters = torch.full((2, latents.num_parameters), scale)
    parameters[:, ::2] *= -0.5
    posterior = latents.posterior(parameters, torch.ones(()))
    for edge in (8.2, -8.2):
        z = posterior.rsample(torch.full((2, latents.num_noise), edge))
        assert bool(z.isfinite().all())
        assert bool(posterior.log_prob(z).isfinite().all())


@pytest.mark.parametrize(
    "cls",
    [cls for base in (Latents, PriorConfig, CategoricalPriorConfig, Likelihood) for cls in concrete_subclasses(base)],
)
def test_it_is_described(cls):
    assert cls.__name__ in (ROOT / "docs" / "latents.md").read_text(), f"describe {cls.__name__} in docs/latents.md"
