"""The prior as codes carry it: the same density as the model's, and what is refused."""

import math

import pytest
import torch

from tests.models.distributions.families import FAMILIES, named
from unbraid.codes import Codes, CodesOptions, LatentPrior
from unbraid.errors import CodesError
from unbraid.models import MLP, Autoencoder
from unbraid.models.distributions import (
    BernoulliLatents,
    ConcreteLatents,
    GaussianLatents,
    GroupedLatents,
    UniformPrior,
)

CONTINUOUS = [latents for latents in FAMILIES if latents.num_discrete == 0]
BOUNDED = GroupedLatents((GaussianLatents(2, UniformPrior(-1.0, 3.0)), GaussianLatents(1)))


@pytest.mark.parametrize("latents", [*CONTINUOUS, BOUNDED], ids=named)
def test_its_densities_are_those_of_the_model(latents):
    model = Autoencoder(MLP((4,), (4,)), latents=latents).build((1, 4, 4), seed=0)
    module, generator = model.prior_module.double(), torch.Generator().manual_seed(0)
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.add_(torch.randn(parameter.shape, dtype=torch.float64, generator=generator))
        prior = module()
        found = prior.for_codes(latents.num_latents)
    z = 2 * torch.randn(50, latents.num_columns, dtype=torch.float64, generator=generator)
    each, joint = prior.log_prob(z), prior.joint_log_prob(z, range(latents.num_latents))
    torch.testing.assert_close(found.log_prob(z), each)
    if each.isfinite().all():
        torch.testing.assert_close(found.log_dependence(z), joint - each.sum(dim=1))
    assert found.is_factorized == prior.is_factorized


ALL_DISCRETE = GroupedLatents((ConcreteLatents(3), BernoulliLatents(2)))


@pytest.mark.parametrize(
    "latents", [*(latents for latents in FAMILIES if latents.num_discrete), ALL_DISCRETE], ids=named
)
def test_its_categories_are_those_of_the_model(latents):
    prior = latents.make_prior().double()().for_codes(latents.num_latents)
    posterior = latents.posterior(torch.zeros(1, latents.num_parameters).double(), torch.ones(()).double())
    assert [len(p) for p in prior.probabilities] == [table.shape[1] for table in posterior.probabilities]
    assert [float(p.sum()) for p in prior.probabilities] == pytest.approx([1.0] * latents.num_discrete)


def test_learned_categories_have_their_probabilities():
    mixed = next(latents for latents in FAMILIES if isinstance(latents, GroupedLatents))
    prior = mixed.make_prior()().for_codes(mixed.num_latents)
    assert prior.family == ("normal", "normal", "laplace", "laplace")
    assert prior.probabilities[0].tolist() == pytest.approx([0.5, 0.3, 0.2], abs=1e-6)
    assert prior.probabilities[1].tolist() == pytest.approx([0.5, 0.5], abs=1e-6)


@pytest.mark.parametrize("family", ["normal", "laplace", "uniform"])
def test_a_family_integrates_to_one_with_its_mean_and_std(family):
    prior = LatentPrior.from_arrays([0.5], [2.0], family=family)
    z = torch.linspace(-60, 61, 1_000_001, dtype=torch.float64)[:, None]
    mass = prior.log_prob(z).exp()[:, 0] * (z[1] - z[0])
    moments = [float((mass * (z[:, 0] - 0.5) ** power).sum()) for power in (0, 1, 2)]
    # A uniform density is cut between two points of the sum.
    assert moments == pytest.approx([1.0, 0.0, 4.0], abs=1e-3)


def test_arrays_make_a_prior_and_survive():
    prior = LatentPrior.from_arrays([0.0, 1.0], covariance=[[1.0, 0.5], [0.5, 1.0]], flow=torch.ones(3, 4, 2))
    assert LatentPrior.from_mapping(prior.tensors()) == prior
    assert prior != LatentPrior.standard(2)
    assert Codes.from_arrays(
        [[0.0, 1.0], [2.0, 3.0]], options=CodesOptions(prior={"mean": [0, 0], "std": [1, 1]})
    ).prior == (LatentPrior.standard(2))


@pytest.mark.parametrize(
    ("arrays", "complaint"),
    [
        ({"mean": [0.0, 0.0]}, "both std and covariance"),
        ({"mean": [0.0], "std": [0.0]}, "positive definite"),
        ({"mean": [0.0], "std": [-1.0]}, "positive definite"),
        ({"mean": [0.0], "covariance": [[1.0, 0.0], [0.0, 1.0]]}, "1 families"),
        ({"mean": [math.nan], "std": [1.0]}, "finite"),
        ({"mean": [0.0], "std": [1.0], "family": "cauchy"}, "normal, laplace, uniform"),
        ({"mean": [0.0], "std": [1.0], "family": [3]}, "normal, laplace, uniform"),
        ({"mean": [0.0], "std": [1.0], "flow": [1.0]}, "u, w and b"),
        ({"mean": [0.0] * 2, "covariance": [[1, 0.5], [0.5, 1]], "family": "laplace"}, "not normal"),
        ({"probabilities_0": [0.5, 0.6]}, "sum to 1"),
        ({"probabilities_1": [0.5, 0.5]}, "probabilities_0"),
        ({"avarage": [0.5, 0.5]}, "avarage"),
    ],
)
def test_what_is_no_prior_is_refused(arrays, complaint):
    with pytest.raises(CodesError, match=complaint):
        LatentPrior.from_mapping(arrays)


def test_a_prior_of_other_latents_is_refused():
    with pytest.raises(CodesError, match="3 continuous"):
        Codes.from_arrays([[0.0, 1.0], [2.0, 3.0]], options=CodesOptions(prior=LatentPrior.standard(3)))


@pytest.mark.parametrize("u", [-5.0, -1.0])
def test_a_flow_with_a_step_that_is_not_increasing_is_refused(u):
    flow = torch.tensor([u, 1.0, 0.0], dtype=torch.float64).reshape(3, 1, 1)
    with pytest.raises(CodesError, match=f"{u:g}"):
        LatentPrior.from_arrays([0.0], [1.0], flow=flow)


def test_families_are_words_or_whole_numbers():
    assert LatentPrior.from_arrays([0.0, 0.0], [1.0, 1.0], family=[0, 1]).family == ("normal", "laplace")
    with pytest.raises(CodesError, match="0.5|1.0"):
        LatentPrior.from_arrays([0.0, 0.0], [1.0, 1.0], family=[1.0, 0.5])
