"""The KL in three parts: they sum to it, and each has its closed form."""

import dataclasses
import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from tests.metrics.latent_codes import correlated_codes, grid, prior_like, random_codes
from unbraid.codes import Codes, CodesOptions, LatentPrior
from unbraid.datasets import FactorImages
from unbraid.information.posteriors import Draws
from unbraid.metrics.elbo_decomposition import ELBODecomposition
from unbraid.metrics.estimators import Sampled
from unbraid.metrics.reductions.statistics import Statistics
from unbraid.models import MLP, Autoencoder, encode
from unbraid.models.distributions import FlowPrior, GaussianLatents, LaplacePrior, LearnedGaussianPrior


def analytic_kl(codes):
    return float((0.5 * (codes.mean**2 + codes.std**2 - 1) - codes.std.log()).sum(dim=1).mean())


def total(score):
    return score.value + score.parts["mutual_information"].value + score.parts["dimension_wise_kl"].value


@given(seed=st.integers(0, 100), num_latents=st.integers(1, 4))
def test_the_parts_sum_to_the_analytic_kl(seed, num_latents):
    codes = random_codes(seed, num_latents=num_latents)
    score = ELBODecomposition(Sampled(num_samples=30))(codes)
    assert total(score) == pytest.approx(analytic_kl(codes), abs=1e-10)
    assert score.parts["kl"].value == pytest.approx(analytic_kl(codes), abs=1e-10)


def test_the_kl_of_correlated_posteriors_is_that_of_the_full_gaussian():
    codes = correlated_codes(0)
    posterior = torch.distributions.MultivariateNormal(codes.mean, codes.covariance)
    prior = torch.distributions.MultivariateNormal(
        torch.zeros(2, dtype=torch.float64), torch.eye(2, dtype=torch.float64)
    )
    expected = float(torch.distributions.kl_divergence(posterior, prior).mean())
    assert total(ELBODecomposition(Sampled(num_samples=30))(codes)) == pytest.approx(expected, abs=1e-9)


@given(seed=st.integers(0, 100))
def test_on_draws_the_parts_sum_to_the_average_log_ratio(seed):
    codes = random_codes(seed)
    z = codes.mean + codes.std * torch.randn(30, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))
    score = ELBODecomposition(conditional="mc").of(Statistics(codes, draws=Draws.of(z, torch.arange(30))))
    posterior, prior = torch.distributions.Normal(codes.mean, codes.std), torch.distributions.Normal(0.0, 1.0)
    expected = float((posterior.log_prob(z) - prior.log_prob(z)).sum(dim=1).mean())
    assert total(score) == pytest.approx(expected, abs=1e-9)


def test_collapsed_posteriors_have_nothing_in_any_part():
    score = ELBODecomposition(Sampled(num_samples=200), conditional="mc")(prior_like(10, 3))
    assert [score.value, *(part.value for part in score.parts.values())] == pytest.approx([0] * 4, abs=1e-9)


def test_a_full_grid_has_no_total_correlation():
    assert ELBODecomposition(Sampled(num_samples=100))(grid((3, 4, 2))).value == pytest.approx(0, abs=1e-9)


def test_a_gaussian_has_minus_half_the_log_determinant_of_its_correlations():
    """Equal posteriors with covariance (1 - r) I + r 11': eigenvalues 1 - r, twice, and 1 + 2 r."""
    rho = 0.7
    covariance = ((1 - rho) * torch.eye(3, dtype=torch.float64) + rho).expand(4, 3, 3)
    score = ELBODecomposition(Sampled(num_samples=4000))(
        Codes(torch.zeros(4, 3, dtype=torch.float64), covariance=covariance)
    )
    expected = -0.5 * (2 * math.log(1 - rho) + math.log(1 + 2 * rho))
    assert score.interval[0] < expected < score.interval[1]
    assert score.value == pytest.approx(expected, abs=0.1)


def test_the_kl_of_each_latent_is_that_of_its_marginal():
    """Latents far from the prior: KL(N(3, 1) || N(0, 1)) = 9 / 2."""
    codes = prior_like(10, 2)
    codes.mean[:, 1] = 3.0
    assert ELBODecomposition(Sampled(num_samples=500), conditional="mc")(codes).per_latent == pytest.approx(
        [0, 4.5], abs=0.3
    )


def test_groups_split_the_total_correlation():
    codes = random_codes(0, num_latents=4)
    plain = ELBODecomposition(Sampled(num_samples=60))(codes)
    score = ELBODecomposition(Sampled(num_samples=60))(
        dataclasses.replace(codes, groups=((0, 3), (1,)))
    )  # latent 2 is a group of its own
    assert score.parts["between_groups"].value + score.parts["within_groups"].value == pytest.approx(
        plain.value, abs=1e-9
    )
    pair = ELBODecomposition().of(Statistics(Codes(codes.mean[:, [0, 3]], codes.std[:, [0, 3]]), draws=_pair(codes)))
    assert score.tables["within_each_group"].tolist() == pytest.approx([pair.value, 0.0], abs=1e-9)


def _pair(codes):
    draws = Statistics(codes).draws(60, 0)
    return Draws.of(draws.z[:, [0, 3]], draws.image)


def test_one_group_of_all_has_everything_within():
    score = ELBODecomposition(Sampled(num_samples=60))(dataclasses.replace(random_codes(0), groups=((0, 1, 2),)))
    assert score.parts["within_groups"].value == pytest.approx(score.value, abs=1e-9)
    assert score.parts["between_groups"].value == pytest.approx(0, abs=1e-9)


NORMAL = torch.distributions.MultivariateNormal


@pytest.mark.parametrize("make", [random_codes, correlated_codes])
def test_the_kl_is_that_to_the_prior_of_the_codes(make):
    """A prior that lies elsewhere and correlates latents: KL(q(z | x) || p(z)) of full Gaussians."""
    codes = make(0, num_latents=2)
    mean, covariance = torch.tensor([2.0, -1.0]).double(), torch.tensor([[0.5, 0.3], [0.3, 4.0]]).double()
    known = dataclasses.replace(codes, prior=LatentPrior.from_arrays(mean, covariance=covariance))
    full = codes.covariance if codes.std is None else torch.diag_embed(codes.std.square())
    expected = torch.distributions.kl_divergence(NORMAL(codes.mean, full), NORMAL(mean, covariance)).mean()
    score = ELBODecomposition(Sampled(num_samples=30))(known)
    assert score.parts["kl"].value == pytest.approx(float(expected), abs=1e-9)
    assert total(score) - score.parts["prior_dependence"].value == pytest.approx(float(expected), abs=1e-9)
    assert abs(score.parts["kl"].value - ELBODecomposition(Sampled(num_samples=30))(codes).parts["kl"].value) > 1
    assert score.notes == ()


def test_without_a_prior_the_score_says_which_it_assumed():
    codes = random_codes(0)
    assert "standard normal" in " ".join(ELBODecomposition(Sampled(num_samples=30))(codes).notes)
    known = dataclasses.replace(codes, prior=LatentPrior.standard(3))
    score, assumed = (
        ELBODecomposition(Sampled(num_samples=30))(known),
        ELBODecomposition(Sampled(num_samples=30))(codes),
    )
    assert score.notes == ()
    assert score.parts == assumed.parts


@pytest.mark.parametrize("conditional", ["analytic", "mc"])
@pytest.mark.parametrize("config", [LearnedGaussianPrior(), FlowPrior(4), LaplacePrior()])
def test_the_kl_of_a_model_is_that_to_its_own_prior(config, conditional):
    """Against the mean of log q(z | x) - log p(z) over draws of each image, by the model's own densities."""
    model = Autoencoder(MLP((8,), (8,)), latents=GaussianLatents(2, config)).build((1, 4, 4), seed=0).double()
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for parameter in model.prior_module.parameters():
            parameter.add_(torch.randn(parameter.shape, dtype=torch.float64, generator=generator))
        images = torch.randint(256, (20, 1, 4, 4), dtype=torch.uint8, generator=generator)
        codes = encode(model, FactorImages.from_table(images, torch.zeros(20, 0), ()))
        z = codes.mean + codes.std * torch.randn(4000, 20, 2, dtype=torch.float64, generator=generator)
        log_q = torch.distributions.Normal(codes.mean, codes.std).log_prob(z).sum(dim=2).flatten()
        ratio = log_q - model.prior.joint_log_prob(z.flatten(0, 1), range(2))
    score = ELBODecomposition(Sampled(num_samples=20_000), conditional=conditional)(codes)
    # Four standard errors of 80,000 draws here and 20,000 there.
    assert score.parts["kl"].value == pytest.approx(float(ratio.mean()), abs=float(4 * ratio.std() / 16_000**0.5))
    assert score.notes == ()


def test_the_kl_to_a_prior_with_bounds_is_infinite_and_the_rest_is_not():
    prior = LatentPrior.from_arrays([0.0] * 3, [1.0, 1.0, 100.0], family=["normal", "laplace", "uniform"])
    score = ELBODecomposition(Sampled(num_samples=30))(dataclasses.replace(random_codes(0), prior=prior))
    assert score.parts["kl"].value == score.per_latent[2] == math.inf
    assert all(map(math.isfinite, (score.value, *score.interval, *score.per_latent[:2])))
    assert "infinite" in " ".join(score.notes)


@pytest.mark.parametrize("conditional", ["analytic", "mc"])
def test_the_kl_of_a_discrete_latent_is_that_to_its_prior(conditional):
    """Category known, prior p: KL = -mean log p(category)."""
    p = [0.5, 0.2, 0.2, 0.1]
    table = torch.eye(4, dtype=torch.float64).repeat(2, 1)
    codes = Codes.from_arrays(probabilities=[table], options=CodesOptions(prior={"probabilities_0": p}))
    score = ELBODecomposition(Sampled(num_samples=20_000), conditional=conditional)(codes)
    expected = -sum(map(math.log, p)) / 4
    assert score.parts["kl"].value == pytest.approx(expected, abs=1e-9 if conditional == "analytic" else 0.03)


@pytest.mark.parametrize("conditional", ["analytic", "mc"])
def test_a_discrete_latent_has_a_uniform_prior(conditional):
    """Known category of four: I = log 4, and its marginal is the prior."""
    codes = Codes(
        torch.zeros(8, 1, dtype=torch.float64),
        torch.ones(8, 1, dtype=torch.float64),
        probabilities=(torch.eye(4, dtype=torch.float64).repeat(2, 1),),
    )
    score = ELBODecomposition(Sampled(num_samples=80), conditional=conditional)(codes)
    assert score.parts["kl"].value == pytest.approx(math.log(4), abs=1e-9)
    assert score.per_latent[1] == pytest.approx(0, abs=1e-9)
