"""Modularity: whether each latent is informative about one factor only."""

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

# The least divisor in Do & Tran's code.
_PUBLISHED_FLOOR = 1e-8


@final
@dataclass(frozen=True)
class Modularity(InformationMetric):
    """Modularity: whether each latent is informative about one factor (Ridgeway & Mozer, arXiv:1802.05312v2).

    M_i = 1 - sum_{k != k*} I(z_i; v_k)^2 / (I(z_i; v_k*)^2 (K - 1)), where latent i has the most information about
    factor k*; the value is the mean over latents. Higher is better, at most 1. Ridgeway & Mozer bin the means
    (`MeansHistogram()`); Do & Tran, arXiv:1908.09961v4, section 4, Fig. 8c, take the information from q(z | x), the
    default here. K counts the factors that vary; with one the value is NaN. An uninformative latent has at most
    `threshold` nats about every factor. With `uninformative="published"` it is scored like any other latent, with a
    denominator of at least 1e-8, as in the code behind Do & Tran's figure. Its score then depends on sampling noise,
    and is 1 without noise.
    """

    bounds: ClassVar[Interval] = (0.0, 1.0)
    quantity: ClassVar[str] = "modularity"
    needs_factor_entropy: ClassVar[bool] = False
    ranges: ClassVar[Mapping[str, Interval]] = MappingProxyType({"threshold": NOT_NEGATIVE})
    why_undefined: ClassVar[str] = (
        "Modularity compares factors, and only one varies in these codes, or every latent was left out: undefined."
    )

    estimator: Estimator = Quantized()
    """The estimator of information."""
    uninformative: Uninformative = "zero"
    """The treatment of latents without information about a factor: counted as zero, left out, or scored as in Do &
    Tran's code (published)."""
    threshold: float = 1e-6
    """The largest information of an uninformative latent about any factor, in nats; not used by "published"."""

    @property
    def settings(self) -> dict[str, Any]:
        if self.uninformative != "published":
            return super().settings
        return {name: value for name, value in super().settings.items() if name != "threshold"}

    def numbers(self, information: LatentInformation) -> dict[str, Tensor]:
        # Below zero there is only rounding and sampling noise, which squares would turn into information.
        table = information.mutual_information[:, varies(information.factor_entropy)].clamp(min=0)
        most = table.amax(dim=1)
        others = (table.square().sum(dim=1) - most.square()).clamp(min=0)
        num_others = table.shape[1] - 1
        if self.uninformative == "published" and num_others > 0:
            per_latent = 1 - others / (most.square() * num_others).clamp(min=_PUBLISHED_FLOOR)
            return {"value": per_latent.mean(), "per_latent": per_latent}
        informative = most > self.threshold
        # 0 / 0 with a single factor: NaN.
        template = torch.where(informative, most, 1.0).square() * num_others
        scored = torch.where(informative | (template == 0), 1 - others / template, 0.0)
        if self.uninformative == "left_out":
            # Without any informative latent 0 / 0: NaN.
            return {
                "value": scored.sum() / informative.sum(),
                "per_latent": torch.where(informative, scored, torch.nan),
            }
        return {"value": scored.mean(), "per_latent": scored}
