"""Mutual information of groups of latents with factors, from nearest neighbours."""

from dataclasses import dataclass
from typing import final

from unbraid import sampling
from unbraid.metrics.estimators.neighbour_estimator import Estimated, NeighbourEstimator
from unbraid.metrics.estimators.neighbours import neighbour_information, points
from unbraid.metrics.metric import Feature
from unbraid.metrics.reductions.statistics import Statistics


@final
@dataclass(frozen=True)
class GroupNeighbours(NeighbourEstimator):
    """Takes each group of latents as a unit, and finds what the vector says of each factor as `Neighbours` does, by
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
            rows = sampling.permuted_rows(len(codes), self.seed, "group neighbours")[: self.num_samples]
            codes = codes.rows(rows.sort().values)
        grouped = {latent for group in codes.groups for latent in group}
        alone = ((latent,) for latent in range(codes.mean.shape[1]) if latent not in grouped)
        z = points(codes, self.seed)
        each = [z[:, list(unit)] for unit in sorted([*codes.groups, *alone])]
        return neighbour_information(each, codes.factors, self.k)
