"""MED: disentanglement as in DCI, with mutual information as importance."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar, final

import torch
from jaxtyping import Bool, Float64
from torch import Tensor

from unbraid.information.latent_information import LatentInformation
from unbraid.metrics.dci import (
    completeness_of_factors,
    disentanglement,
    disentanglement_of_latents,
    weighted_completeness,
)
from unbraid.metrics.information_metric import InformationMetric
from unbraid.metrics.metric import Interval
from unbraid.metrics.reductions.gaps import varies

# Minimum information in nats. Smaller values are rounding errors, and the gradient of log 0 would be infinite.
_LEAST = 1e-12


@final
@dataclass(frozen=True)
class MED(InformationMetric):
    """MED, the weighted mean of D_j = 1 - H(R_j. / sum_k R_jk) / log K over latents (Cao et al., arXiv:2206.04756v2).

    R_jk = I(z_j; v_k) / sum_i I(z_i; v_k) is the share of latent j in the information of all latents about factor k,
    and the weight of latent j is sum_k R_jk. Higher is better, at most 1.

    MED needs no predictor, unlike DCI, and is suitable for codes with hundreds of latents. With `num_top` (top-k MED),
    each latent is assigned to the factor of its largest share, and for each factor only the `num_top` latents with the
    largest D_j are included. The part "completeness" is the weighted completeness as in DCI.
    """

    bounds: ClassVar[Interval] = (0.0, 1.0)
    needs_factor_entropy: ClassVar[bool] = False
    quantity_of_factors: ClassVar[str] = "completeness"
    reported_parts: ClassVar[Mapping[str, bool]] = MappingProxyType({"completeness": True})

    num_top: int | None = None
    """Maximum number of latents per factor; None for all."""

    def numbers(self, information: LatentInformation) -> dict[str, Tensor]:
        defined = varies(information.factor_entropy)
        table = information.mutual_information[:, defined].clamp(min=_LEAST)
        # For a factor without information, the shares of all latents are equal.
        share = table / table.sum(dim=0)
        # The shares of an uninformative latent would be largest for the factor with the least information.
        is_uninformative = (table <= _LEAST).all(dim=1)
        of_latents = torch.where(is_uninformative, 0.0, disentanglement_of_latents(share.detach()))
        chosen = self._chosen(share.detach(), of_latents)
        per_factor = torch.full_like(information.factor_entropy, torch.nan)
        return {
            "value": disentanglement(share[chosen]),
            "completeness": weighted_completeness(share[chosen]),
            "per_factor": per_factor.masked_scatter(defined, completeness_of_factors(share[chosen].detach())),
            "per_latent": torch.where(chosen, of_latents, torch.nan),
        }

    def _chosen(
        self, share: Float64[Tensor, "latent factor"], of_latents: Float64[Tensor, " latent"]
    ) -> Bool[Tensor, " latent"]:
        if self.num_top is None:
            return torch.ones(len(share), dtype=torch.bool, device=share.device)
        own = share.argmax(dim=1)
        chosen = torch.zeros_like(own, dtype=torch.bool)
        for factor in range(share.shape[1]):
            of_factor = (own == factor).nonzero()[:, 0]
            order = of_latents[of_factor].sort(descending=True, stable=True).indices
            chosen[of_factor[order[: self.num_top]]] = True
        return chosen
