"""Minimality and sufficiency: disentanglement of factors that may depend on each other."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar, Literal, final

import torch
from torch import Tensor

from unbraid.information.latent_information import LatentInformation
from unbraid.metrics.information_metric import InformationMetric
from unbraid.metrics.metric import Interval
from unbraid.metrics.reductions.gaps import varies
from unbraid.metrics.settings import NOT_NEGATIVE

Uninformative = Literal["left_out", "zero"]


@final
@dataclass(frozen=True)
class Minimality(InformationMetric):
    """Minimality and sufficiency of latents for single factors (Almudévar et al., arXiv:2408.07016v3).

    The value is mean_j max_k I(z_j; v_k) / I(x; z_j), the share of the information of a latent that is about one
    factor. The part "sufficiency" is mean_k max_j I(z_j; v_k) / H(v_k), the share of a factor that one latent
    determines. Higher is better. The maximum is 1 if all labels are known.

    Both quantities are also valid for dependent factors. A latent with at most `threshold` nats about the image is
    excluded ("left_out") or counts as 0 ("zero"). For binned means, I(x; z_j) is H(z_j), so `MeansHistogram(15)` gives
    max_k I / H(z_j), as in the authors' code.
    """

    bounds: ClassVar[Interval] = (0.0, 1.0)
    # With missing labels, the information in the labeled images may exceed the information in all images.
    limits: ClassVar[Interval] = (0.0, math.inf)
    needs_entropies: ClassVar[bool] = True
    quantity: ClassVar[str] = "minimality"
    quantity_of_factors: ClassVar[str] = "sufficiency"
    reported_parts: ClassVar[Mapping[str, bool]] = MappingProxyType({"sufficiency": True})
    ranges: ClassVar[Mapping[str, Interval]] = MappingProxyType({"threshold": NOT_NEGATIVE})
    why_undefined: ClassVar[str] = "The score is undefined, because no latent has more information than the threshold."
    uninformative: Uninformative = "left_out"
    """Treatment of latents without information about the image: left out, or counted as zero."""
    threshold: float = 0.01
    """Maximum information of an uninformative latent about the image, in nats."""

    def numbers(self, information: LatentInformation) -> dict[str, Tensor]:
        defined, whole = varies(information.factor_entropy), information.informativeness
        table = information.mutual_information.clamp(min=0)
        informative = whole > self.threshold
        share = table[:, defined].amax(dim=1) / torch.where(informative, whole, 1.0)
        counted = torch.where(informative, share, 0.0)
        sufficiency = table.amax(dim=0) / torch.where(defined, information.factor_entropy, 1.0)
        # NaN (0 / 0) without informative latents.
        num_latents = informative.sum() if self.uninformative == "left_out" else len(whole)
        rest = torch.nan if self.uninformative == "left_out" else 0.0
        return {
            "value": counted.sum() / num_latents,
            "sufficiency": sufficiency[defined].mean(),
            "per_factor": torch.where(defined, sufficiency, torch.nan),
            "per_latent": torch.where(informative, share, rest),
            "informativeness": whole,
        }
