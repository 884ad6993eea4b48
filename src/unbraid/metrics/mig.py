"""Mutual information gap."""

from dataclasses import dataclass
from typing import ClassVar, Literal, final

import torch
from torch import Tensor

from unbraid.information.latent_information import LatentInformation
from unbraid.metrics.information_metric import InformationMetric
from unbraid.metrics.metric import Interval
from unbraid.metrics.reductions.gaps import top_two, varies

ValueWeights = Literal["frequency", "uniform"]


@final
@dataclass(frozen=True)
class MIG(InformationMetric):
    """Mutual information gap (Chen et al., arXiv:1802.04942v5, eq. 6).

    MIG = mean_k (I(z_a; v_k) - I(z_b; v_k)) / H(v_k), where latents a and b have the largest and the second largest
    information about factor k. H(v_k) is the entropy of the given labels. Higher is better, at most 1.

    With `value_weights="uniform"`, as in the authors' code, the denominator is log |V_k| and the information is H(z_j)
    minus the unweighted mean of H(z_j | v) over values v. Both versions are equal if all values are equally frequent.
    Otherwise this difference is not a mutual information and may exceed log |V_k|.

    Examples:
        >>> import numpy as np
        >>> from unbraid import Codes
        >>> side = np.arange(60) % 3
        >>> mean = np.stack([side, 0 * side], axis=1) + 0.0  # only the first latent depends on side
        >>> score = MIG()(Codes.from_arrays(mean, 0.1 + 0 * mean, factors={"side": side}))
        >>> round(score.value, 2)
        1.0
    """

    bounds: ClassVar[Interval] = (0.0, 1.0)

    value_weights: ValueWeights = "frequency"
    """Weights of the values of a factor: by frequency, or equal."""

    @property
    def needs_entropies(self) -> bool:
        return self.value_weights == "uniform"

    @property
    def limits(self) -> Interval:
        return self.bounds if self.value_weights == "frequency" else (0.0, torch.inf)

    def numbers(self, information: LatentInformation) -> dict[str, Tensor]:
        table, normalizer = information.mutual_information, information.factor_entropy
        defined = varies(normalizer)
        if self.value_weights == "uniform":
            # H(z_j) over the images with a known label of factor k is I + H(z_j, v_k) - H(v_k).
            table = table + information.joint_entropy - information.factor_entropy - information.entropy_given_value
            normalizer = information.num_values.log()
        # Clipped before the gap, as in Chen et al.'s code, because negative estimates are errors.
        gaps = top_two(table.clamp(min=0)).gap / torch.where(defined, normalizer, 1.0)
        return {"value": gaps[defined].mean(), "per_factor": torch.where(defined, gaps, torch.nan)}
