"""Information in means that take a few levels each."""

from dataclasses import dataclass, replace
from typing import final

import torch
from jaxtyping import Float, Int64
from torch import Tensor

from unbraid.errors import CodesError
from unbraid.information.latent_information import LatentInformation, information_of_tables
from unbraid.information.quantized import QuantizedStatistics, Quantizer, statistics_of_masses
from unbraid.metrics.estimators.estimator import OF_POSTERIORS, Deviations, Estimator, with_discrete
from unbraid.metrics.estimators.image_influences import image_influences
from unbraid.metrics.metric import Feature, Score
from unbraid.metrics.reductions.statistics import Statistics

# A latent with more different means is not quantized.
_MAX_LEVELS = 1_000
_FEW_LEVELS = 50


@final
@dataclass(frozen=True)
class Levels(Estimator):
    """Counts the means alone, each different number as a level of its own: for quantized codes, whose latents take a
    few values each.

    It is the plug-in estimate, that of Hsu et al., arXiv:2305.18378v2, for their quantized latents. There is nothing to
    refine. It refuses a latent of more than 1,000 levels, or of more than 50 and half as many as there are images.
    """

    num_samples: int | None = None
    """How many images are looked at, at most, drawn at random and always the same; without it all."""

    @property
    def accepts(self) -> frozenset[Feature]:
        return OF_POSTERIORS | {"draws without densities", "means without std"}

    def seen(self, statistics: Statistics) -> Statistics:
        return statistics.drawn(self.num_samples)

    def information(self, statistics: Statistics) -> LatentInformation:
        seen = self.seen(statistics)

        def continuous() -> LatentInformation:
            places, num_levels = _levels(seen.codes.mean)
            tables = torch.stack([seen.values.grouped_columns(each, num_levels)[0] for each in places.unbind(1)])
            none = tables.new_zeros(len(tables))
            return information_of_tables(tables[:, :, 0], seen.values.split(tables), entropy_given_image=none)

        return seen.once(self, lambda: with_discrete(seen, continuous))

    def deviations(self, statistics: Statistics) -> tuple[Deviations, ...]:
        seen = self.seen(statistics)

        def continuous() -> tuple[Quantizer, QuantizedStatistics]:
            places, num_levels = _levels(seen.codes.mean)
            table = torch.eye(num_levels, dtype=torch.float64, device=places.device)
            sums = statistics_of_masses(lambda rows: table[places[rows]], places.shape[1], num_levels, seen.values)
            return lambda part: table[places[seen.influence_rows[part]]], sums

        found = seen.once(("influences", self), lambda: image_influences(seen, continuous))
        return ((found, float(len(seen.codes))),)

    def checked(self, score: Score, statistics: Statistics) -> Score:
        """Returns the score; if hardly two images share a level, with a note that says so."""
        mean = self.seen(statistics).codes.mean
        if len(mean) >= 2 * _FEW_LEVELS:  # so many levels were refused
            return score
        many = [latent for latent, column in enumerate(mean.T) if 2 * len(column.unique()) > len(mean)]
        if not many:
            return score
        note = (
            f"Latents {many} have more than half as many levels as there are images ({len(mean):,}): a level names its "
            "image, and so every factor. Give more images, or use MeansHistogram() if the codes are not quantized."
        )
        return replace(score, notes=(*score.notes, note))


def _levels(mean: Float[Tensor, "image latent"]) -> tuple[Int64[Tensor, "image latent"], int]:
    """Returns the place of each mean among those of its latent, and the most levels that a latent has."""
    found = [column.unique(return_inverse=True) for column in mean.T.contiguous()]
    # Where hardly two images share a level, each names its image, and so every factor.
    most = min(_MAX_LEVELS, max(_FEW_LEVELS, len(mean) // 2))
    for latent, (levels, _) in enumerate(found):
        if len(levels) > most:
            raise CodesError(
                f"Levels counts each different mean as a level of its own, and latent {latent} has {len(levels):,} of "
                f"them in {len(mean):,} images; expected at most {most:,}. Use Neighbors() or MeansHistogram() "
                "(--like infomec) for codes that are not quantized."
            )
    return torch.stack([places for _, places in found], dim=1), max(len(levels) for levels, _ in found)
