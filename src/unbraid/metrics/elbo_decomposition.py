"""The KL term of the ELBO, split in three."""

import math
from dataclasses import dataclass
from typing import ClassVar, final

import torch
from jaxtyping import Float64
from torch import Tensor

from unbraid.information.delta import Averages
from unbraid.metrics.sampled_entropies import SampledEntropies, sampled_entropies
from unbraid.metrics.sampled_metric import SampledMetric
from unbraid.metrics.statistics import Statistics

_HALF_LOG_TWO_PI = 0.5 * math.log(2 * math.pi)


@final
@dataclass(frozen=True)
class ELBODecomposition(SampledMetric):
    """E KL(q(z|x) || p(z)) = I(x, z) + TC + sum_j KL(q(z_j) || p(z_j)), in nats; the value is TC = sum_j H(z_j) - H(z).
    Lower is better.

    Chen et al., arXiv:1802.04942v5, eq. 2. Parts "mutual_information", "dimension_wise_kl" and "kl", which is the sum
    of all three: exactly the analytic KL with conditional="analytic". The prior is standard normal, and uniform for
    discrete latents. With groups, TC is split into "between_groups" and "within_groups" (Esmaeili et al.,
    arXiv:1804.02086v1, fig. 4). Codes hold no reconstruction, so there is no ELBO here.
    """

    bounds: ClassVar[tuple[float, float]] = (-math.inf, math.inf)
    higher_is_better: ClassVar[bool | None] = False
    needs_factors: ClassVar[bool] = False

    def entropies(self, statistics: Statistics) -> SampledEntropies:
        found = sampled_entropies(statistics, self.num_samples, self.seed, self.conditional)
        draws, codes = statistics.draws(self.num_samples, self.seed), statistics.codes
        discrete = statistics.weights.new_tensor([math.log(p.shape[1]) for p in codes.probabilities])
        uniform = discrete.expand(len(draws), -1)
        at_draws = torch.cat([0.5 * draws.z.double().square() + _HALF_LOG_TWO_PI, uniform], dim=1)
        if self.conditional == "mc":
            found = found.with_mean_of("surprise", at_draws)
        else:
            of_images = torch.cat([_surprise(codes.mean[draws.image], statistics.std[draws.image]), uniform], dim=1)
            average = torch.cat([statistics.weights @ _surprise(codes.mean, statistics.std), discrete])
            found = found.with_closed_form("surprise", average, of_images, at_draws)
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
        if "membership" not in averages:
            return found
        within = averages["membership"] @ each - averages["groups"]
        return found | {
            "between_groups": total_correlation - within.sum(),
            "within_groups": within.sum(),
            "within_each_group": within,
        }


def _surprise(mean: Tensor, std: Tensor) -> Float64[Tensor, "image latent"]:
    """E[-log p(z_j)] under N(mean, std^2), for a standard normal p."""
    return 0.5 * (mean.double().square() + std.double().square()) + _HALF_LOG_TWO_PI


def _membership(statistics: Statistics) -> Float64[Tensor, "group latent"]:
    """1 where a latent belongs to a group. A latent of no group is one of its own."""
    groups = statistics.codes.groups
    table = statistics.weights.new_zeros(len(groups), statistics.posteriors.num_latents)
    for row, group in zip(table, groups, strict=True):
        row[list(group)] = 1
    return table
