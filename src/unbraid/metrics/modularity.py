"""Modularity: whether a latent speaks of one factor alone."""

from dataclasses import dataclass
from typing import Any, ClassVar, Literal, final

import torch
from torch import Tensor

from unbraid.errors import SpecError
from unbraid.information.latent_information import LatentInformation
from unbraid.metrics.estimators import Estimator, Quantized
from unbraid.metrics.information_metric import InformationMetric
from unbraid.metrics.metric import Interval
from unbraid.metrics.reductions.gaps import varies

Uninformative = Literal["zero", "left_out", "published"]

# No number that Do & Tran's code divides by counts as less.
_PUBLISHED_FLOOR = 1e-8


@final
@dataclass(frozen=True)
class Modularity(InformationMetric):
    """M_i = 1 - sum_{k != k*} I(z_i; v_k)^2 / (I(z_i; v_k*)^2 (K - 1)), where factor k* is the one that latent i says
    most of; the mean over latents.

    Ridgeway & Mozer, arXiv:1802.05312v2, who bin the means (`MeansHistogram()`); Do & Tran,
    arXiv:1908.09961v4, section 4, Fig. 8c, who take the information from q(z | x), which is the default here. Higher is
    better, at most 1. K counts the factors that vary; with one there is nothing to compare, and the value is NaN. A
    latent that says at most `threshold` nats of every factor has no shares to compare: `uninformative` says whether it
    scores 0 ("zero"), or has no score and does not count in the mean ("left_out"). With "published" no latent is
    looked at apart, and the denominator counts as 1e-8 at least, as in the code behind Do & Tran's figure: a latent
    that says nothing scores what sampling noise makes of it, and 1 without noise.
    """

    bounds: ClassVar[Interval] = (0.0, 1.0)
    quantity: ClassVar[str] = "modularity"
    needs_factor_entropy: ClassVar[bool] = False
    why_undefined: ClassVar[str] = (
        "Modularity compares factors, and only one varies in these codes, or every latent was left out: undefined."
    )

    estimator: Estimator = Quantized()  # noqa: RUF009 (frozen)
    """How information is estimated."""
    uninformative: Uninformative = "zero"
    """What a latent counts that tells of no factor: zero, nothing (left_out), or what Do & Tran's code makes of it
    (published)."""
    threshold: float = 1e-6
    """Most that such a latent may tell of a factor, in nats; published code has none."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 <= self.threshold < float("inf"):
            raise SpecError(f"Modularity: threshold is {self.threshold}; expected nats, 0 or more (1e-6 is usual).")

    @property
    def settings(self) -> dict[str, Any]:
        if self.uninformative != "published":
            return super().settings
        return {name: value for name, value in super().settings.items() if name != "threshold"}

    @property
    def limits(self) -> Interval:
        return self.bounds

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
