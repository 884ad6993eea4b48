"""Mutual information of pairs of latents, and their shared information about the image."""

import math
from dataclasses import dataclass
from itertools import combinations
from typing import ClassVar, final

import torch
from torch import Tensor

from unbraid.codes import Codes
from unbraid.errors import CodesError
from unbraid.information.delta_method import Averages
from unbraid.metrics.reductions.statistics import Statistics
from unbraid.metrics.sampled_metric import SampledEntropies
from unbraid.metrics.separation_metric import SeparationMetric

# Maximum number of densities of pairs at draws, which take about 2 GB.
_MOST_DENSITIES = 12_000_000


@final
@dataclass(frozen=True)
class PairwiseInformation(SeparationMetric):
    """Mean mutual information of pairs of latents, I(z_i, z_j) (Do & Tran, arXiv:1908.09961v4, eq. 3).

    I(z_i, z_j) = H(z_i) + H(z_j) - H(z_i, z_j), in nats. The value is the mean over pairs. Lower is better; 0 means
    independent latents. Eq. 2 of the paper is the shared information about the image, I(x, z_i, z_j) = I(x, z_i) +
    I(x, z_j) - I(x, (z_i, z_j)) = I(z_i, z_j) - I(z_i, z_j | x). It equals eq. 3 for latents that are independent given
    the image, and may be negative for other latents. The part "max" is the maximum of eq. 3; "of_image" and
    "of_image_max" are the mean and the maximum of eq. 2. The tables contain both quantities for all pairs, with NaN on
    the diagonal. The time is proportional to the number of pairs.
    """

    bounds: ClassVar[tuple[float, float]] = (-math.inf, math.inf)
    quantity: ClassVar[str] = "information shared by two latents"
    higher_is_better: ClassVar[bool | None] = False
    needs_factors: ClassVar[bool] = False
    by_name_only: ClassVar[bool] = True

    def entropies(self, statistics: Statistics) -> SampledEntropies:
        pairs = tuple(combinations(range(statistics.codes.num_latents), 2))
        given, most = statistics.given_draws, _MOST_DENSITIES // max(1, len(pairs))
        num_draws = self.estimator.num_samples if given is None else len(given)
        if num_draws > most:
            fewer = f"Use at most {most:,} draws, e.g. pairwise-information:sampled:{most}, or fewer latents."
            raise CodesError(
                f"PairwiseInformation: {statistics.codes.num_latents} latents have {len(pairs):,} pairs with "
                f"{num_draws:,} draws each; expected at most {_MOST_DENSITIES:,} pairs times draws (about 2 GB). "
                f"{fewer if most > 1 else 'Use fewer latents.'}"
            )
        return self.sampled(statistics, pairs)

    def numbers(self, averages: Averages) -> dict[str, Tensor]:
        first, second = torch.combinations(torch.arange(len(averages["each"]))).T
        terms = self.terms(averages)
        of_pair = averages["groups"] - averages["groups_given_image"]
        shared = averages["each"][first] + averages["each"][second] - averages["groups"]
        if self.density_floor is not None:
            of_pair, shared = of_pair.clamp(min=0), shared.clamp(min=0)
        of_image = terms.each[first] + terms.each[second] - of_pair

        def table(numbers: Tensor) -> Tensor:
            full = numbers.new_full((len(terms.each), len(terms.each)), math.nan)
            full[first, second] = full[second, first] = numbers.detach()
            return full

        return {
            "value": shared.mean(),
            "max": _largest(shared),
            "of_image": of_image.mean(),
            "of_image_max": _largest(of_image),
            "shared": table(shared),
            "shared_of_image": table(of_image),
            "informativeness_of_pair": table(of_pair),
        }

    def notes(self, codes: Codes) -> tuple[str, ...]:
        has_no_pair = codes.num_latents == 1
        return ("The score is undefined, because the codes have only one latent.",) if has_no_pair else ()


def _largest(numbers: Tensor) -> Tensor:
    return numbers.max() if len(numbers) else numbers.new_tensor(math.nan)
