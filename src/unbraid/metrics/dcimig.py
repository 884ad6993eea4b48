"""DCIMIG: a score for both one latent per factor and one factor per latent."""

from dataclasses import dataclass
from typing import ClassVar, final

import torch
from torch import Tensor

from unbraid.information.latent_information import LatentInformation
from unbraid.metrics.information_metric import InformationMetric
from unbraid.metrics.metric import Interval
from unbraid.metrics.reductions.gaps import top_two, varies


@final
@dataclass(frozen=True)
class DCIMIG(InformationMetric):
    """DCIMIG, sum_k max_j g_jk / sum_k H(v_k) (Sepliarskaia, Kiseleva & de Rijke, arXiv:1910.05587v3).

    g_jk is the gap I(z_j; v_k) - I(z_j; v_b) if latent j has the most information about factor k and the second most
    information about factor b, and 0 for all other factors k. Higher is better, at most 1.

    The formula follows the published code. A latent that encodes two factors lowers the score, and a factor without a
    separate latent lowers the score. Several latents of the same factor do not lower the score. Factors are weighted by
    entropy. With one factor, the gap is the mutual information.
    """

    bounds: ClassVar[Interval] = (0.0, 1.0)

    def numbers(self, information: LatentInformation) -> dict[str, Tensor]:
        entropy = information.factor_entropy
        defined = varies(entropy)
        # Clipped before the gap, as in MIG, because negative estimates are rounding errors or sampling noise.
        best = top_two(information.mutual_information[:, defined].clamp(min=0).T)
        gaps = best.gap[:, None] * torch.nn.functional.one_hot(best.top, int(defined.sum()))
        most = gaps.amax(dim=0)
        per_factor = torch.full_like(entropy, torch.nan).masked_scatter(defined, most / entropy[defined])
        return {
            "value": most.sum() / entropy[defined].sum(),
            "per_factor": per_factor,
            "per_latent": best.gap,
        }
