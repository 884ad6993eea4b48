"""Mutual information of groups of latents and factors from nearest neighbors."""

from dataclasses import dataclass
from typing import ClassVar, final

from unbraid._internal import row_draws
from unbraid.metrics.estimators.neighbors import Estimated, NeighborEstimator, neighbor_information, points
from unbraid.metrics.metric import Feature
from unbraid.metrics.reductions.statistics import Statistics


@final
@dataclass(frozen=True)
class GroupNeighbors(NeighborEstimator):
    """Nearest-neighbor estimate of the information of groups of latents about discrete factors (Ross, PLoS ONE 2014).

    The estimator is the same as `Neighbors`, with Euclidean distances (Ross, PLoS ONE 9(2), e87357). It also measures
    nonlinear encodings. A latent outside all groups is a separate group. Groups are ordered by their first latents, and
    tables have one row per group. Distances within a group depend on the scales of its latents.
    """

    accepts: ClassVar[frozenset[Feature]] = frozenset(
        {"missing labels", "means without std", "draws without densities", "correlated posteriors"}
    )

    num_samples: int = 5_000
    """Maximum number of images. For large groups, the time is quadratic in this number."""
    seed: int = 0
    """Seed of the selection of images and of the draws from posteriors."""

    def estimate(self, statistics: Statistics) -> Estimated:
        codes = statistics.codes
        if len(codes) > self.num_samples:
            rows = row_draws.permuted_rows(len(codes), self.seed, "group neighbours")[: self.num_samples]
            codes = codes[rows.sort().values]
        grouped = {latent for group in codes.groups for latent in group}
        alone = ((latent,) for latent in range(codes.mean.shape[1]) if latent not in grouped)
        z = points(codes, self.seed)
        each = [z[:, list(unit)] for unit in sorted([*codes.groups, *alone])]
        return neighbor_information(each, codes.factors, self.k)
