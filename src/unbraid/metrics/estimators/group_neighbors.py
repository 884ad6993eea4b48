"""Mutual information of groups of latents with factors, from nearest neighbors."""

from dataclasses import dataclass
from typing import final

from unbraid._internal import row_draws
from unbraid.metrics.estimators.neighbor_estimator import Estimated, NeighborEstimator
from unbraid.metrics.estimators.neighbors import neighbor_information, points
from unbraid.metrics.metric import Feature
from unbraid.metrics.reductions.statistics import Statistics


@final
@dataclass(frozen=True)
class GroupNeighbors(NeighborEstimator):
    """Takes each group of latents as a unit, and finds what the vector says of each factor as `Neighbors` does, by
    Euclidean distances: Ross, PLoS ONE 9(2), e87357 (2014).

    No direction is chosen and nothing is fitted, so a factor that a vector holds in any way counts. A latent in no
    group is a unit by itself; units come in the order of their first latents, and tables have a row for each of them.
    Distances within a group depend on the scales of its latents. At most `num_samples` images are looked at. Discrete
    factors only.
    """

    num_samples: int = 5_000
    """How many images are looked at, at most: the time grows with their square where groups are large."""
    seed: int = 0
    """Which images are looked at, and which draw of each posterior."""

    @property
    def accepts(self) -> frozenset[Feature]:
        return frozenset({"missing labels", "means without std", "draws without densities", "correlated posteriors"})

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
