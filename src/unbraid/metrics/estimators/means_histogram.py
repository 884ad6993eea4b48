"""Information of binned means."""

from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar, final

import torch
from jaxtyping import Int64
from torch import Tensor

from unbraid.information.latent_information import LatentInformation, information_of_tables
from unbraid.information.quantized import QuantizedStatistics, Quantizer, histogram_bins, statistics_of_masses
from unbraid.metrics.estimators.estimator import OF_POSTERIORS, Deviations, Estimator, with_discrete
from unbraid.metrics.estimators.image_influences import image_influences
from unbraid.metrics.metric import Feature
from unbraid.metrics.reductions.statistics import Statistics


@dataclass(frozen=True)
class CountedMeans(Estimator):
    """Base class of estimators that count means in cells and ignore the std of posteriors."""

    accepts: ClassVar[frozenset[Feature]] = OF_POSTERIORS | {"draws without densities", "means without std"}

    @abstractmethod
    def cells(self, statistics: Statistics) -> tuple[Int64[Tensor, "image latent"], int]:
        """Returns the cell of each mean and the number of cells."""

    def sample(self, statistics: Statistics) -> Statistics:
        return self.seen(statistics).subset()

    @final
    def information(self, statistics: Statistics) -> LatentInformation:
        seen = self.seen(statistics)

        def continuous() -> LatentInformation:
            cells, num_cells = self.cells(seen)
            tables = torch.stack([seen.values.grouped_columns(each, num_cells)[0] for each in cells.unbind(1)])
            none = tables.new_zeros(len(tables))
            return information_of_tables(tables[:, :, 0], seen.values.split(tables), entropy_given_image=none)

        return seen.once(self, lambda: with_discrete(seen, continuous))

    @final
    def deviations(self, statistics: Statistics) -> tuple[Deviations, ...]:
        seen = self.seen(statistics)

        def continuous() -> tuple[Quantizer, QuantizedStatistics]:
            cells, num_cells = self.cells(seen)
            table = torch.eye(num_cells, dtype=torch.float64, device=cells.device)
            sums = statistics_of_masses(lambda rows: table[cells[rows]], cells.shape[1], num_cells, seen.values)
            return lambda part: table[cells[seen.influence_sample.rows[part]]], sums

        found = seen.once(("influences", self), lambda: image_influences(seen, continuous))
        return ((found, float(len(seen.codes))),)


@final
@dataclass(frozen=True)
class MeansHistogram(CountedMeans):
    """Histogram of means in bins of equal width between the smallest and the largest mean of each latent.

    The estimator ignores the std of posteriors, so differences below the noise count as information. Use it for
    comparison with published values: Locatello et al., arXiv:1811.12359v4, use 20 bins and, in configuration files,
    10,000 images; Do & Tran use 100 bins.
    """

    num_bins: int = 20
    """Number of bins between the smallest and the largest mean of a latent."""
    num_samples: int | None = None
    """Maximum number of images, drawn at random with a fixed seed; None for all."""

    def seen(self, statistics: Statistics) -> Statistics:
        return statistics.drawn(self.num_samples)

    def cells(self, statistics: Statistics) -> tuple[Int64[Tensor, "image latent"], int]:
        return histogram_bins(statistics.codes.mean, self.num_bins, statistics.values.weights), self.num_bins
