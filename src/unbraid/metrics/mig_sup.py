"""Mutual information gap of each latent between two factors."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar, Literal, final

import torch
from torch import Tensor

from unbraid.information.latent_information import LatentInformation
from unbraid.metrics.information_metric import InformationMetric
from unbraid.metrics.metric import Interval
from unbraid.metrics.reductions.gaps import top_two, varies
from unbraid.metrics.settings import NOT_NEGATIVE

Uninformative = Literal["left_out", "zero"]


@final
@dataclass(frozen=True)
class MIGSup(InformationMetric):
    """MIG with the roles of latents and factors exchanged, MIG-sup (Li et al., arXiv:2002.10549v1).

    MIG-sup = mean_j (I(z_j; v_a) / H(v_a) - I(z_j; v_b) / H(v_b)), where a and b are the factors with the largest and
    the second largest I(z_j; v_k) / H(v_k). Higher is better. The maximum 1 means that every latent determines one
    factor and is independent of all other factors. A latent with at most `threshold` nats about every factor is
    excluded ("left_out") or has the score 0 ("zero"). With one factor, the second term is 0.
    """

    bounds: ClassVar[Interval] = (0.0, 1.0)
    quantity: ClassVar[str] = "MIG-sup"
    ranges: ClassVar[Mapping[str, Interval]] = MappingProxyType({"threshold": NOT_NEGATIVE})
    why_undefined: ClassVar[str] = "The score is undefined, because no latent has more information than the threshold."
    uninformative: Uninformative = "left_out"
    """Treatment of latents without information about a factor: left out, or counted as zero."""
    threshold: float = 0.01
    """Maximum information of an uninformative latent about any factor, in nats."""

    def numbers(self, information: LatentInformation) -> dict[str, Tensor]:
        defined = varies(information.factor_entropy)
        # Clipped before the gap, as in MIG, because negative estimates are errors.
        table = information.mutual_information[:, defined].clamp(min=0)
        gaps = top_two((table / information.factor_entropy[defined]).T).gap
        informative = table.amax(dim=1) > self.threshold
        if self.uninformative == "zero":
            per_latent = torch.where(informative, gaps, 0.0)
            return {"value": per_latent.mean(), "per_latent": per_latent}
        # NaN (0 / 0) without informative latents.
        value = torch.where(informative, gaps, 0.0).sum() / informative.sum()
        return {"value": value, "per_latent": torch.where(informative, gaps, torch.nan)}
