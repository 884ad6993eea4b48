"""Modularity: whether each latent is informative about only one factor."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, ClassVar, Literal, final

import torch
from torch import Tensor

from unbraid.information.latent_information import LatentInformation
from unbraid.metrics.estimators import Estimator, Quantized
from unbraid.metrics.information_metric import InformationMetric
from unbraid.metrics.metric import Interval
from unbraid.metrics.reductions.gaps import varies
from unbraid.metrics.settings import NOT_NEGATIVE

Uninformative = Literal["zero", "left_out", "published"]

# Minimum denominator in Do & Tran's code.
_PUBLISHED_FLOOR = 1e-8


@final
@dataclass(frozen=True)
class Modularity(InformationMetric):
    """Modularity: whether each latent is informative about only one factor (Ridgeway & Mozer, arXiv:1802.05312v2).

    M_i = 1 - sum_{k != k*} I(z_i; v_k)^2 / (I(z_i; v_k*)^2 (K - 1)), where latent i has the most information about
    factor k*. The value is the mean over latents. Higher is better, at most 1. Ridgeway & Mozer use binned means
    (`MeansHistogram()`). Do & Tran, arXiv:1908.09961v4, section 4, Fig. 8c, use the information of q(z | x), the
    default here. K is the number of factors that vary; for K = 1 the value is NaN. An uninformative latent has at most
    `threshold` nats about every factor. With `uninformative="published"`, such a latent is scored like other latents,
    with a denominator of at least 1e-8, as in the code of Do & Tran's figure. Its score then depends on sampling noise.
    """

    bounds: ClassVar[Interval] = (0.0, 1.0)
    quantity: ClassVar[str] = "modularity"
    needs_factor_entropy: ClassVar[bool] = False
    ranges: ClassVar[Mapping[str, Interval]] = MappingProxyType({"threshold": NOT_NEGATIVE})
    why_undefined: ClassVar[str] = (
        "The score is undefined, because fewer than two factors vary or all latents were left out."
    )

    estimator: Estimator = Quantized()
    """Estimator of information."""
    uninformative: Uninformative = "zero"
    """Treatment of latents without information: counted as zero, left out, or as in Do & Tran's code (published)."""
    threshold: float = 1e-6
    """Maximum information of an uninformative latent about any factor, in nats; unused with "published"."""

    @property
    def settings(self) -> dict[str, Any]:
        if self.uninformative != "published":
            return super().settings
        return {name: value for name, value in super().settings.items() if name != "threshold"}

    def numbers(self, information: LatentInformation) -> dict[str, Tensor]:
        # Clipped, because negative estimates are errors and their squares would count as information.
        table = information.mutual_information[:, varies(information.factor_entropy)].clamp(min=0)
        most = table.amax(dim=1)
        others = (table.square().sum(dim=1) - most.square()).clamp(min=0)
        num_others = table.shape[1] - 1
        if self.uninformative == "published" and num_others > 0:
            per_latent = 1 - others / (most.square() * num_others).clamp(min=_PUBLISHED_FLOOR)
            return {"value": per_latent.mean(), "per_latent": per_latent}
        informative = most > self.threshold
        # NaN (0 / 0) with a single factor.
        template = torch.where(informative, most, 1.0).square() * num_others
        scored = torch.where(informative | (template == 0), 1 - others / template, 0.0)
        if self.uninformative == "left_out":
            # NaN (0 / 0) without informative latents.
            return {
                "value": scored.sum() / informative.sum(),
                "per_latent": torch.where(informative, scored, torch.nan),
            }
        return {"value": scored.mean(), "per_latent": scored}
