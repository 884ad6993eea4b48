"""How far the latents are from holding isolated information."""

import math
from dataclasses import dataclass
from typing import ClassVar, final

import torch
from torch import Tensor

from unbraid.information.delta import Averages
from unbraid.metrics.reductions.sampled_entropies import SampledEntropies, sampled_entropies
from unbraid.metrics.reductions.statistics import Statistics
from unbraid.metrics.sampled_metric import SampledMetric


@final
@dataclass(frozen=True)
class Lemma2Gap(SampledMetric):
    """I(x, z) - sum_i I(x, z_i) = E_x KL(q(z|x) || prod_i q(z_i|x)) - TC, in nats; 0 if the latents hold isolated
    information.

    Lemma 2 of the split-encoder paper (anonymous submission to ICLR 2020). The parts are its two sides:
    "posterior_dependence", from the covariances, 0 for uncorrelated posteriors; and "minus_total_correlation", -KL(q(z)
    || prod_i q(z_i)). They may cancel: look at both.
    """

    bounds: ClassVar[tuple[float, float]] = (-math.inf, math.inf)
    quantity: ClassVar[str] = "gap of Lemma 2"
    higher_is_better: ClassVar[bool | None] = None
    needs_factors: ClassVar[bool] = False

    def entropies(self, statistics: Statistics) -> SampledEntropies:
        return sampled_entropies(statistics, self.estimator, self.conditional)

    def numbers(self, averages: Averages) -> dict[str, Tensor]:
        # The sum over latents may be rounded another way than the joint: no dependence below 1e-12 nats is one.
        dependence = averages["each_given_image"].sum() - averages["joint_given_image"]
        dependence = torch.where(dependence.abs() < 1e-12, 0.0 * dependence, dependence)
        total_correlation = averages["each"].sum() - averages["joint"]
        return {
            "value": dependence - total_correlation,
            "posterior_dependence": dependence,
            "minus_total_correlation": -total_correlation,
            "informativeness": averages["each"] - averages["each_given_image"],
            "joint_informativeness": (averages["joint"] - averages["joint_given_image"])[None],
        }
