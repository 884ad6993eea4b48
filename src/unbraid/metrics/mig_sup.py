"""The mutual information gap between factors, latent by latent."""

import math
from dataclasses import dataclass
from typing import ClassVar, Literal, final

import torch
from torch import Tensor

from unbraid.errors import SpecError
from unbraid.information.latent_information import LatentInformation
from unbraid.metrics.information_metric import InformationMetric
from unbraid.metrics.metric import Interval
from unbraid.metrics.reductions.gaps import top_two, varies

Uninformative = Literal["left_out", "zero"]


@final
@dataclass(frozen=True)
class MIGSup(InformationMetric):
    """MIG-sup = mean_j (I(z_j; v_a) / H(v_a) - I(z_j; v_b) / H(v_b)), where factors a and b are those that latent j
    says most of, as a share of their entropy. Higher is better, at most 1.

    Li et al., arXiv:2002.10549v1. It is MIG with the roles of latents and factors swapped: 1 if every latent names one
    factor and says nothing of any other. A latent that says at most `threshold` nats of every factor has no score and
    does not count ("left_out"), or scores 0 ("zero"). With one factor the second says nothing.
    """

    bounds: ClassVar[Interval] = (0.0, 1.0)
    quantity: ClassVar[str] = "MIG-sup"
    why_undefined: ClassVar[str] = "No latent says more of any factor than the threshold: undefined."

    uninformative: Uninformative = "left_out"
    """What a latent counts that tells of no factor: nothing (left_out) or zero."""
    threshold: float = 0.01
    """Most that such a latent may tell of a factor, in nats."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 <= self.threshold < math.inf:
            raise SpecError(f"MIGSup: threshold is {self.threshold}; expected nats, 0 or more (0.01 is usual).")

    @property
    def limits(self) -> Interval:
        return self.bounds

    def numbers(self, information: LatentInformation) -> dict[str, Tensor]:
        defined = varies(information.factor_entropy)
        # Clipped before the gap, as in MIG: below zero there is only rounding and sampling noise.
        table = information.mutual_information[:, defined].clamp(min=0)
        gaps = top_two((table / information.factor_entropy[defined]).T).gap
        informative = table.amax(dim=1) > self.threshold
        if self.uninformative == "zero":
            per_latent = torch.where(informative, gaps, 0.0)
            return {"value": per_latent.mean(), "per_latent": per_latent}
        # Without any informative latent 0 / 0: NaN.
        value = torch.where(informative, gaps, 0.0).sum() / informative.sum()
        return {"value": value, "per_latent": torch.where(informative, gaps, torch.nan)}
