"""Decomposition of the KL term of the ELBO into three terms."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, final

import torch
from jaxtyping import Bool, Float64, Int64
from torch import Tensor

from unbraid.codes import Codes, LatentPrior
from unbraid.information.delta_method import Averages
from unbraid.information.posteriors import Draws
from unbraid.metrics.reductions.statistics import Statistics
from unbraid.metrics.sampled_metric import SampledEntropies, SampledMetric, sampled_entropies

_ASSUMED = "The codes have no prior, so a standard normal prior is assumed{}."


@final
@dataclass(frozen=True)
class ELBODecomposition(SampledMetric):
    """Total correlation TC and the other terms of E KL(q(z|x) || p(z)) (Chen et al., arXiv:1802.04942v5, eq. 2).

    E KL(q(z|x) || p(z)) = I(x, z) + TC + sum_j KL(q(z_j) || p(z_j)), in nats. The value is TC = sum_j H(z_j) - H(z);
    lower is better. The parts are "mutual_information", "dimension_wise_kl" and "kl", the sum of the three terms. With
    conditional="analytic" and a Gaussian prior, "kl" is the analytic KL. p(z) is the prior of the codes, by default
    standard normal and uniform for discrete latents. For a prior with correlated latents, the part "prior_dependence",
    E[log p(z) - sum_j log p(z_j)], is subtracted from the KL. With groups, TC is the sum of the parts "between_groups"
    and "within_groups" (Esmaeili et al., arXiv:1804.02086v1, fig. 4).
    """

    bounds: ClassVar[tuple[float, float]] = (-math.inf, math.inf)
    quantity: ClassVar[str] = "total correlation"
    higher_is_better: ClassVar[bool | None] = False
    needs_factors: ClassVar[bool] = False

    def notes(self, codes: Codes) -> tuple[str, ...]:
        if codes.prior is None:
            return (_ASSUMED.format(", and a uniform prior for discrete latents" if codes.probabilities else ""),)
        if _has_bounds(codes.prior).any():
            return ("The KL is infinite, because the prior is 0 outside an interval and the posteriors are not.",)
        return ()

    def entropies(self, statistics: Statistics) -> SampledEntropies:
        found = sampled_entropies(statistics, self.estimator, self.conditional)
        draws, codes = self.estimator.draws(statistics), statistics.codes
        prior = _prior(codes)
        terms: list[tuple[str, Callable[..., Tensor], Tensor]] = [("surprise", _surprise, _surprise_at(draws, prior))]
        if not prior.is_factorized:
            terms.append(("dependence", _dependence, prior.log_dependence(draws.z)))
        for name, expected, at_draws in terms:
            if self.conditional == "analytic" and prior.is_gaussian:
                average = statistics.weights @ expected(statistics, prior)
                found = found.with_closed_form(name, average, expected(statistics, prior, draws.image), at_draws)
            else:
                found = found.with_mean_of(name, at_draws)
        return found.with_constant("membership", _membership(statistics)) if codes.groups else found

    def numbers(self, averages: Averages) -> dict[str, Tensor]:
        each, joint, surprise = averages["each"], averages["joint"], averages["surprise"]
        total_correlation = each.sum() - joint
        found = {
            "value": total_correlation,
            "mutual_information": joint - averages["joint_given_image"],
            "dimension_wise_kl": (surprise - each).sum(),
            "kl": surprise.sum() - averages["joint_given_image"],
            "per_latent": surprise - each,
        }
        if "dependence" in averages:
            dependence = averages["dependence"]
            found |= {"prior_dependence": dependence, "kl": found["kl"] - dependence}
        if "membership" not in averages:
            return found
        within = averages["membership"] @ each - averages["groups"]
        return found | {
            "between_groups": total_correlation - within.sum(),
            "within_groups": within.sum(),
            "within_each_group": within,
        }


def _prior(codes: Codes) -> LatentPrior:
    """Returns the prior of the codes, or the default prior if the codes have no prior."""
    if codes.prior is not None:
        return codes.prior
    categories = [table.shape[1] for table in codes.probabilities]
    return LatentPrior.standard(codes.mean.shape[1], categories).to(codes.mean.device)


def _has_bounds(prior: LatentPrior) -> Bool[Tensor, " latent"]:
    """Returns a mask of the continuous latents with a bounded prior."""
    return torch.tensor([family == "uniform" for family in prior.family], dtype=torch.bool, device=prior.mean.device)


def _surprise_at(draws: Draws, prior: LatentPrior) -> Float64[Tensor, "draw latent"]:
    """Returns -log p(z_j) at the draws; infinite for latents with a bounded prior."""
    continuous = -prior.log_prob(draws.z).masked_fill(_has_bounds(prior), -math.inf)
    discrete = [-p.log()[draws.categories[:, k], None] for k, p in enumerate(prior.probabilities)]
    return torch.cat([continuous, *discrete], dim=1)


def _surprise(
    statistics: Statistics, prior: LatentPrior, rows: Int64[Tensor, " row"] | slice = slice(None)
) -> Float64[Tensor, "row latent"]:
    """Returns E[-log p(z_j)] under the posteriors of the images `rows`, for a Gaussian prior.

    The expectation of a quadratic function is its value at the mean plus half its second derivative times the variance.
    """
    codes, precision = statistics.codes, prior.covariance.diagonal().reciprocal()
    continuous = 0.5 * precision * statistics.std[rows].double().square() - prior.log_prob(codes.mean[rows])
    tables = zip(codes.probabilities, prior.probabilities, strict=True)
    discrete = [-torch.xlogy(table[rows].double(), p).sum(dim=1, keepdim=True) for table, p in tables]
    return torch.cat([continuous, *discrete], dim=1)


def _dependence(
    statistics: Statistics, prior: LatentPrior, rows: Int64[Tensor, " row"] | slice = slice(None)
) -> Float64[Tensor, " row"]:
    """Returns E[log p(z) - sum_j log p(z_j)] under the posteriors of the images `rows`, for a Gaussian prior."""
    codes, curvature = statistics.codes, prior.excess_precision
    if codes.covariance is None:
        spread = statistics.std[rows].double().square() @ curvature.diagonal()
    else:
        spread = torch.einsum("nij,ij->n", codes.covariance[rows].double(), curvature)
    return prior.log_dependence(codes.mean[rows]) - 0.5 * spread


def _membership(statistics: Statistics) -> Float64[Tensor, "group latent"]:
    """Returns a table with 1 if the latent is in the group, and 0 otherwise."""
    groups = statistics.codes.groups
    table = statistics.weights.new_zeros(len(groups), statistics.posteriors.num_latents)
    for row, group in zip(table, groups, strict=True):
        row[list(group)] = 1
    return table
