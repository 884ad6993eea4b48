"""Minimality and sufficiency: disentanglement that does not ask for independent factors."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar, Literal, final

import torch
from torch import Tensor

from unbraid.errors import SpecError
from unbraid.information.latent_information import LatentInformation
from unbraid.metrics.information_metric import InformationMetric
from unbraid.metrics.metric import Interval
from unbraid.metrics.reductions.gaps import mean_over_factors, varies, where_defined

Uninformative = Literal["left_out", "zero"]


@final
@dataclass(frozen=True)
class Minimality(InformationMetric):
    """mean_j max_k I(z_j; v_k) / I(x; z_j): how much of what a latent says of the image it says of one factor. Higher
    is better, at most 1. The part "sufficiency" is mean_k max_j I(z_j; v_k) / H(v_k): how much of a factor one latent
    says.

    Almudévar et al., arXiv:2408.07016v3. Neither compares factors with each other, so both mean the same where factors
    depend on each other. A latent that says at most `threshold` nats of the image has no share: it is "left_out", or
    counts "zero". Binned means say everything of themselves, so with `MeansHistogram(15)` it is max_k I / H(z_j), as in
    the authors' code.
    """

    bounds: ClassVar[Interval] = (0.0, 1.0)
    quantity: ClassVar[str] = "minimality"
    quantity_of_factors: ClassVar[str] = "sufficiency"
    reported_parts: ClassVar[Mapping[str, bool]] = MappingProxyType({"sufficiency": True})
    why_undefined: ClassVar[str] = "No latent says more of the image than the threshold: undefined."

    uninformative: Uninformative = "left_out"
    """What a latent counts that tells nothing of the image: nothing (left_out) or zero."""
    threshold: float = 0.01
    """Most that such a latent may tell of the image, in nats."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 <= self.threshold < math.inf:
            raise SpecError(f"Minimality: threshold is {self.threshold}; expected nats, 0 or more (0.01 is usual).")

    @property
    def needs_entropies(self) -> bool:
        return True

    @property
    def limits(self) -> Interval:
        # Where a factor is known in some images only, a latent may say more of it there than of all images.
        return (0.0, math.inf)

    def numbers(self, information: LatentInformation) -> dict[str, Tensor]:
        defined, whole = varies(information.factor_entropy), information.informativeness
        table = information.mutual_information.clamp(min=0)
        informative = whole > self.threshold
        share = table[:, defined].amax(dim=1) / torch.where(informative, whole, 1.0)
        counted = torch.where(informative, share, 0.0)
        sufficiency = table.amax(dim=0) / torch.where(defined, information.factor_entropy, 1.0)
        # Without any informative latent 0 / 0: NaN.
        num_latents = informative.sum() if self.uninformative == "left_out" else len(whole)
        rest = torch.nan if self.uninformative == "left_out" else 0.0
        return {
            "value": counted.sum() / num_latents,
            "sufficiency": mean_over_factors(sufficiency, defined),
            "per_factor": where_defined(sufficiency, defined),
            "per_latent": torch.where(informative, share, rest),
            "informativeness": whole,
        }
