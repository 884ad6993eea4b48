"""Joint entropy minus mutual information gap."""

import math
from dataclasses import dataclass
from typing import ClassVar, final

import torch
from torch import Tensor

from unbraid.information.latent_information import LatentInformation
from unbraid.metrics.estimators import Estimator, Quantized
from unbraid.metrics.information_metric import InformationMetric
from unbraid.metrics.metric import Interval
from unbraid.metrics.reductions.gaps import top_two, varies


@final
@dataclass(frozen=True)
class JEMMIG(InformationMetric):
    """Joint entropy minus mutual information gap (Do & Tran, arXiv:1908.09961v4, section 3.3 and eq. 17).

    JEMMIG = mean_k (H(z_a, y_k) - I(z_a; y_k) + I(z_b; y_k)) / (H(y_k) + log B), where latents a and b have the largest
    and the second largest information about factor k, with B bins (appendix A.12). Lower is better. The score is 0 if
    each factor is determined by only one latent and this latent has no other information. The part "unnormalized" is
    the mean without the denominator, in nats. The table "jemmig" contains its terms by factor.

    Estimators without bins (`Exact`, `Sampled`) have unbounded differential entropies. With these estimators the value
    is unnormalized, in nats, and may be negative.
    """

    bounds: ClassVar[Interval] = (0.0, 1.0)
    needs_entropies: ClassVar[bool] = True
    higher_is_better: ClassVar[bool | None] = False

    estimator: Estimator = Quantized()
    """Estimator of information."""

    @property
    def limits(self) -> Interval:
        # Scores of discrete latents with more categories than bins may exceed 1.
        return (0.0, math.inf) if self.estimator.num_bins else (-math.inf, math.inf)

    def numbers(self, information: LatentInformation) -> dict[str, Tensor]:
        defined = varies(information.factor_entropy)
        best = top_two(information.mutual_information)
        joint_entropy = information.joint_entropy.gather(0, best.top[None])[0]
        raw = torch.where(defined, joint_entropy - best.gap, torch.nan)
        per_factor = raw
        if self.estimator.num_bins:
            most = information.factor_entropy + math.log(self.estimator.num_bins)
            per_factor = raw / torch.where(defined, most, 1.0)
        return {
            "value": per_factor[defined].mean(),
            "unnormalized": raw[defined].mean(),
            "per_factor": per_factor,
            "jemmig": raw,
        }
