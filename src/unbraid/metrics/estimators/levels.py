"""Information of means with a few levels per latent."""

from dataclasses import dataclass, replace
from typing import final

import torch
from jaxtyping import Int64
from torch import Tensor

from unbraid.errors import CodesError
from unbraid.metrics.estimators.means_histogram import CountedMeans
from unbraid.metrics.metric import Score
from unbraid.metrics.reductions.statistics import Statistics

# Maximum number of different means of a quantized latent.
_MAX_LEVELS = 1_000
_FEW_LEVELS = 50


@final
@dataclass(frozen=True)
class Levels(CountedMeans):
    """Plug-in estimator for quantized codes, with the unique means of a latent as its levels.

    Hsu et al., arXiv:2305.18378v2, use this estimator for quantized latents. A latent may have at most 1,000 levels. It
    may have more than 50 levels only if there are at least twice as many images.
    """

    num_samples: int | None = None
    """Maximum number of images, drawn at random with a fixed seed; None for all."""

    def seen(self, statistics: Statistics) -> Statistics:
        return statistics.drawn(self.num_samples)

    def cells(self, statistics: Statistics) -> tuple[Int64[Tensor, "image latent"], int]:
        """Returns the level index of each mean, and the largest number of levels of a latent."""
        mean = statistics.codes.mean
        found = [column.unique(return_inverse=True) for column in mean.T.contiguous()]
        # If almost every image has a separate level, levels determine the image and therefore every factor.
        most = min(_MAX_LEVELS, max(_FEW_LEVELS, len(mean) // 2))
        for latent, (levels, _) in enumerate(found):
            if len(levels) > most:
                raise CodesError(
                    f"Latent {latent} has {len(levels):,} different means in {len(mean):,} images; expected at most "
                    f"{most:,} for Levels(). Use Neighbors() or MeansHistogram() (--like infomec) for codes that are "
                    "not quantized."
                )
        return torch.stack([places for _, places in found], dim=1), max(len(levels) for levels, _ in found)

    def checked(self, score: Score, statistics: Statistics) -> Score:
        """Returns the score, with a note if almost every image has a separate level."""
        mean = self.seen(statistics).codes.mean
        if len(mean) >= 2 * _FEW_LEVELS:  # `cells` refuses more levels
            return score
        many = [latent for latent, column in enumerate(mean.T) if 2 * len(column.unique()) > len(mean)]
        if not many:
            return score
        note = (
            f"Latents {many} have more than half as many levels as there are images ({len(mean):,}), so levels "
            "determine the image and every factor. Use more images, or MeansHistogram() for codes that are not "
            "quantized."
        )
        return replace(score, notes=(*score.notes, note))
