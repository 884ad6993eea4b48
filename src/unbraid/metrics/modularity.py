"""Modularity: whether a latent speaks of one factor alone."""

import math
from dataclasses import dataclass
from typing import ClassVar, final

import torch
from torch import Tensor

from unbraid.errors import SpecError
from unbraid.information.latent_information import LatentInformation
from unbraid.metrics.estimators import Estimator, Quantised
from unbraid.metrics.information_metric import InformationMetric
from unbraid.metrics.metric import Interval
from unbraid.metrics.reductions.gaps import varies

# A latent that says no more than this of any factor, in nats, has no shares to compare: they would be rounding.
UNINFORMATIVE = 1e-6


@final
@dataclass(frozen=True)
class Modularity(InformationMetric):
    """M_i = 1 - sum_{k != k*} I(z_i; v_k)^2 / (I(z_i; v_k*)^2 (K - 1)), where factor k* is the one that latent i says
    most of; the mean over latents.

    Ridgeway & Mozer, arXiv:1802.05312v2, who bin the means (`MeansHistogram()`); Do & Tran,
    arXiv:1908.09961v4, section 4, Fig. 8c, who take the information from q(z | x), which is the default here. Higher is
    better, at most 1. A latent that says nothing scores 0. K counts the factors that vary; with one there is nothing to
    compare, and the value is NaN. `denominator_floor` is None, but for comparison with Do & Tran's figure, whose code
    divides by no less than 1e-8: a latent that says nothing then scores 1.
    """

    bounds: ClassVar[Interval] = (0.0, 1.0)
    quantity: ClassVar[str] = "modularity"
    needs_factor_entropy: ClassVar[bool] = False
    why_undefined: ClassVar[str] = "Modularity compares factors, and only one varies in these codes: undefined."

    estimator: Estimator = Quantised()  # noqa: RUF009 (frozen)
    """How information is estimated."""
    denominator_floor: float | None = None
    """Least number that is divided by, as in Do & Tran's code; none for no such limit."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.denominator_floor is not None and not 0 < self.denominator_floor < math.inf:
            raise SpecError(
                f"Modularity: denominator_floor is {self.denominator_floor}; expected a number above 0 (Do & Tran's "
                "code has 1e-8), or None."
            )

    @property
    def limits(self) -> Interval:
        return self.bounds

    def numbers(self, information: LatentInformation) -> dict[str, Tensor]:
        # Below zero there is only rounding and sampling noise, which squares would turn into information.
        table = information.mutual_information[:, varies(information.factor_entropy)].clamp(min=0)
        most = table.amax(dim=1)
        others = (table.square().sum(dim=1) - most.square()).clamp(min=0)
        if self.denominator_floor is not None and table.shape[1] > 1:
            template = (most.square() * (table.shape[1] - 1)).clamp(min=self.denominator_floor)
            per_latent = 1 - others / template
        else:
            informative = most > UNINFORMATIVE
            # 0 / 0 with a single factor: NaN.
            template = torch.where(informative, most, 1.0).square() * (table.shape[1] - 1)
            per_latent = torch.where(informative | (template == 0), 1 - others / template, 0.0)
        return {"value": per_latent.mean(), "per_latent": per_latent}
