"""Importance-weighted bound of a trained model."""

import math
from dataclasses import dataclass
from typing import ClassVar, final

import torch

from unbraid.metrics.model.model_score import ModelScore, PerImage
from unbraid.models.trained.elbo import CodedImages


@final
@dataclass(frozen=True)
class ImportanceWeightedBound(ModelScore):
    """Importance-weighted lower bound on log p(x), in nats per image (Burda et al., arXiv:1509.00519v4, eq. 8).

    The value is the logarithm of the mean of w_k = p(x | z_k) p(z_k) / q(z_k | x) over `num_draws` codes z_k, averaged
    over images. More draws give a tighter bound. The part "elbo" is the mean of log w_k over the same draws. Discrete
    latents are evaluated as categories.
    """

    num_draws: int = 64
    """Number of codes drawn per image."""
    seed: int = 0
    """Seed of the draws of codes."""

    quantity: ClassVar[str] = "importance-weighted bound"
    higher_is_better: ClassVar[bool | None] = True
    needs_density: ClassVar[bool] = True

    def per_image(self, coded: CodedImages) -> PerImage:
        table = torch.stack([coded.log_weight(self.seed, number) for number in range(self.num_draws)])
        return {"value": table.logsumexp(dim=0) - math.log(self.num_draws), "elbo": table.mean(dim=0)}
