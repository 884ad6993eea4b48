"""Robust mutual information gap."""

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
class RMIG(InformationMetric):
    """Robust mutual information gap, MIG in bins (Do & Tran, arXiv:1908.09961v4, section 3.3, eq. 10).

    RMIG = mean_k (I(z_a; y_k) - I(z_b; y_k)) / H(y_k), where latents a and b have the largest and the second largest
    information about factor k. Higher is better, at most 1. The default estimator has 100 bins. The part "unnormalized"
    is the mean gap in nats, and the table "gap" contains the gap of each factor. With the same estimator, RMIG differs
    from MIG only in that negative information is not clipped to 0.
    """

    bounds: ClassVar[Interval] = (0.0, 1.0)

    estimator: Estimator = Quantized()
    """Estimator of information."""

    def numbers(self, information: LatentInformation) -> dict[str, Tensor]:
        defined = varies(information.factor_entropy)
        gap = torch.where(defined, top_two(information.mutual_information).gap, torch.nan)
        normalized = gap / torch.where(defined, information.factor_entropy, 1.0)
        return {
            "value": normalized[defined].mean(),
            "unnormalized": gap[defined].mean(),
            "per_factor": normalized,
            "gap": gap,
        }
