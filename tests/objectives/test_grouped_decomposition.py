"""The decomposed ELBO of latents in groups and of latents that are correlated."""

import math
from dataclasses import replace

import pytest
import scipy.stats
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import logsumexp

from tests.objectives.steps import (
    a_mixed_step,
    a_step,
    five_weights,
    table_by_hand,
)
from tests.objectives.test_decomposed_elbo import ESTIMATORS, PARTS
from unbraid.models.distributions import (
    CorrelatedGaussian,
    DiagonalGaussian,
    FullGaussian,
    StandardNormalPrior,
)
from unbraid.objectives import DecomposedELBO
from unbraid.objectives.decomposed_elbo import (
    decomposition,
)


def test_each_and_groups_of_one_are_the_same_loss():
    step = a_step()
    torch.testing.assert_close(
        DecomposedELBO(groups=((2,), (0,), (1,)))(step).total, DecomposedELBO(groups="each")(step).total
    )


def test_the_groups_of_the_model_are_those_of_the_step():
    step = a_mixed_step()
    assert step.groups == ((0, 1, 2, 3), (4,))
    weights = five_weights(0.0, 1.0, 4.0, 3.0, 1.0)
    of_model, by_number = (DecomposedELBO(**weights, groups=groups)(step) for groups in ("model", step.groups))
    assert torch.equal(of_model.total, by_number.total)


def test_within_groups_is_logged_where_there_are_groups():
    step = a_step()
    assert "total_correlation_within" not in DecomposedELBO()(step).parts
    parts = DecomposedELBO(groups=((0, 1), (2,)))(step).parts
    assert tuple(parts) == (*PARTS[:4], "total_correlation_within", PARTS[4])


@given(
    seed=st.integers(0, 1000),
    estimator=st.sampled_from(ESTIMATORS),
    groups=st.sampled_from(["each", ((0, 2), (1,)), ((0, 1, 2),)]),
)
def test_what_is_between_groups_and_within_them_is_all_the_correlation(seed, estimator, groups):
    step = a_step(seed)
    ungrouped, grouped = decomposition(step, estimator), decomposition(step, estimator, groups)
    torch.testing.assert_close(
        grouped.total_correlation + grouped.total_correlation_within, ungrouped.total_correlation
    )
    torch.testing.assert_close(grouped.mutual_information, ungrouped.mutual_information)
    torch.testing.assert_close(grouped.dimension_wise_kl, ungrouped.dimension_wise_kl)


def correlated_step(rho=0.6, batch=6):
    """Posteriors and a prior whose latents are correlated."""
    step = a_step(batch=batch)
    factor = torch.tensor([[1.0, 0.0, 0.0], [0.5, 0.8, 0.0], [-0.2, 0.4, 1.3]], dtype=torch.float64)
    posterior = CorrelatedGaussian(step.posterior.loc, step.posterior.log_var, rho, exact=True)
    return replace(
        step, posterior=posterior, prior=FullGaussian(torch.tensor([0.1, -0.3, 0.2], dtype=torch.float64), factor)
    )


def covariances_of(step):
    std = step.posterior.std
    correlation = (1 - step.posterior.rho) * torch.eye(3, dtype=torch.float64) + step.posterior.rho
    return std[:, :, None] * correlation * std[:, None, :], step.prior.scale_tril @ step.prior.scale_tril.T


def correlated_parts_by_hand(step, groups):
    """(MI, TC between, TC within, DWKL) with eq. 13, from scipy's multivariate densities and loops."""
    table, batch = table_by_hand("stratified_pairs", len(step.z), step.dataset_size), len(step.z)
    covariance, of_prior = covariances_of(step)

    def log_q(i, n, latents):
        chosen = list(latents)
        return scipy.stats.multivariate_normal.logpdf(
            step.z[i, chosen], step.posterior.loc[n, chosen], covariance[n][chosen][:, chosen]
        )

    def log_ratio(i, latents):
        chosen = list(latents)
        log_p = scipy.stats.multivariate_normal.logpdf(
            step.z[i, chosen], step.prior.loc[chosen], of_prior[chosen][:, chosen]
        )
        return logsumexp([math.log(table[i][n]) + log_q(i, n, latents) for n in range(batch)]) - log_p

    everything, found = (0, 1, 2), []
    for i in range(batch):
        whole, by_group, by_latent = (
            sum(log_ratio(i, g) for g in level) for level in ([everything], groups, [(0,), (1,), (2,)])
        )
        own = log_q(i, i, everything) - scipy.stats.multivariate_normal.logpdf(step.z[i], step.prior.loc, of_prior)
        found.append((own - whole, whole - by_group, by_group - by_latent, by_latent))
    return torch.tensor(found, dtype=torch.float64).T


@pytest.mark.parametrize("groups", ["each", ((0, 2), (1,)), ((0, 1, 2),)])
def test_correlated_posteriors_and_priors_worked_out_one_density_at_a_time(groups):
    step = correlated_step()
    parts = decomposition(step, "stratified_pairs", groups)
    found = torch.stack(
        [parts.mutual_information, parts.total_correlation, parts.total_correlation_within, parts.dimension_wise_kl]
    )
    torch.testing.assert_close(
        found, correlated_parts_by_hand(step, [(0,), (1,), (2,)] if groups == "each" else groups)
    )


@pytest.mark.parametrize("estimator", ESTIMATORS)
@pytest.mark.parametrize("groups", ["each", ((0, 2), (1,))])
def test_the_parts_of_correlated_codes_sum_to_the_log_ratio_of_the_joint_densities(estimator, groups):
    step = correlated_step()
    parts = decomposition(step, estimator, groups)
    total = (
        parts.mutual_information + parts.total_correlation + parts.total_correlation_within + parts.dimension_wise_kl
    )
    expected = step.posterior.joint_log_prob(step.z, range(3)) - step.prior.joint_log_prob(step.z, range(3))
    torch.testing.assert_close(total, expected)


def test_a_correlation_that_the_prior_has_too_is_none():
    """Equal posteriors N(0, R), so that q(z) = N(0, R), and the prior N(0, R): every part is 0, code by code."""
    loc, rho = torch.zeros(5, 3, dtype=torch.float64), 0.7
    posterior = CorrelatedGaussian(loc, loc, rho, exact=True)
    factor = torch.linalg.cholesky((1 - rho) * torch.eye(3, dtype=torch.float64) + rho)
    step = replace(a_step(), posterior=posterior, prior=FullGaussian(loc[0], factor))
    for groups in ("each", ((0, 1), (2,))):
        parts = decomposition(step, "stratified_pairs", groups)
        for part in vars(parts).values():
            torch.testing.assert_close(part, torch.zeros(5, dtype=torch.float64), atol=1e-12, rtol=0)


def test_an_aggregate_like_its_learned_prior_has_no_total_correlation_relative_to_it():
    """Means from N(0, T) and posteriors of variance v make q(z) = N(0, T + v I); so is the prior."""
    correlation, std, size = 0.8, 0.5, 1500
    covariance = (1 - correlation) * torch.eye(3, dtype=torch.float64) + correlation
    generator = torch.Generator().manual_seed(0)
    mean = torch.randn(size, 3, dtype=torch.float64, generator=generator) @ torch.linalg.cholesky(covariance).T
    posterior = DiagonalGaussian(mean, torch.full_like(mean, 2 * math.log(std)))
    z = posterior.rsample(torch.randn(size, 3, dtype=torch.float64, generator=generator))
    aggregate = FullGaussian(
        torch.zeros(3, dtype=torch.float64),
        torch.linalg.cholesky(covariance + std**2 * torch.eye(3, dtype=torch.float64)),
    )
    step = replace(a_step(batch=size, dataset_size=size), posterior=posterior, z=z, prior=aggregate)
    assert decomposition(step, "stratified_pairs").total_correlation.mean().item() == pytest.approx(0, abs=0.05)
    c = correlation / (1 + std**2)
    independent = (
        decomposition(replace(step, prior=StandardNormalPrior()), "stratified_pairs").total_correlation.mean().item()
    )
    # 1500 codes whose log ratio deviates by 0.8: a standard error of 0.02.
    assert independent == pytest.approx(-0.5 * math.log((1 - c) ** 2 * (1 + 2 * c)), abs=0.07)


def test_a_discrete_latent_counts_by_the_probability_of_its_category():
    step = a_mixed_step()
    logits, categories = step.posterior.parts[1].logits, step.z[:, 4:].argmax(dim=1)
    log_p = logits.log_softmax(dim=1)
    table = torch.tensor(table_by_hand("stratified_pairs", 5, 50), dtype=torch.float64)
    marginal = (table * log_p.exp()[:, categories].T).sum(dim=1).log()
    gaussian = decomposition(a_step(latents=4), "stratified_pairs")
    found = decomposition(step, "stratified_pairs")
    torch.testing.assert_close(found.dimension_wise_kl - gaussian.dimension_wise_kl, marginal + math.log(3))
