"""Information in means with a few levels per latent."""

from dataclasses import dataclass, replace
from typing import final

import torch
from jaxtyping import Int64
from torch import Tensor

from unbraid.errors import CodesError
from unbraid.metrics.estimators.means_histogram import CountedMeans
from unbraid.metrics.metric import Score
from unbraid.metrics.reductions.statistics import Statistics

# A latent with more different means is not quantized.
_MAX_LEVELS = 1_000
_FEW_LEVELS = 50


@final
@dataclass(frozen=True)
class Levels(CountedMeans):
    """Plug-in estimate from unique means as levels, for quantized codes with few values per latent.

    Hsu et al., arXiv:2305.18378v2, use this estimate for quantized latents. A latent may have at most 1,000 levels,
    and more than 50 levels only if they are at most half of the number of images.
    """

    num_samples: int | None = None
    """The largest number of images, drawn at random with a fixed seed; None for all."""

    def seen(self, statistics: Statistics) -> Statistics:
        return statistics.drawn(self.num_samples)

    def cells(self, statistics: Statistics) -> tuple[Int64[Tensor, "image latent"], int]:
        """Returns the level index of each mean within its latent, and the largest number of levels of a latent."""
        mean = statistics.codes.mean
        found = [column.unique(return_inverse=True) for column in mean.T.contiguous()]
        # If almost no images share a level, each level determines its image, and so every factor.
        most = min(_MAX_LEVELS, max(_FEW_LEVELS, len(mean) // 2))
        for latent, (levels, _) in enumerate(found):
            if len(levels) > most:
                raise CodesError(
                    f"Levels counts each different mean as a level, and latent {latent} has {len(levels):,} of them in "
                    f"{len(mean):,} images; expected at most {most:,}. Use Neighbors() or MeansHistogram() "
                    "(--like infomec) for codes that are not quantized."
                )
        return torch.stack([places for _, places in found], dim=1), max(len(levels) for levels, _ in found)

    def checked(self, score: Score, statistics: Statistics) -> Score:
        """Returns the score, with a note if almost no images share a level."""
        mean = self.seen(statistics).codes.mean
        if len(mean) >= 2 * _FEW_LEVELS:  # more levels were refused
            return score
        many = [latent for latent, column in enumerate(mean.T) if 2 * len(column.unique()) > len(mean)]
        if not many:
            return score
        note = (
            f"Latents {many} have more than half as many levels as there are images ({len(mean):,}): a level "
            "determines its image, and so every factor. Give more images, or use MeansHistogram() for codes that are "
            "not quantized."
        )
        return replace(score, notes=(*score.notes, note))
