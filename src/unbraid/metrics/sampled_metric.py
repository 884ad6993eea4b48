"""Metrics that are functions of joint entropies, averaged over draws."""

from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, final

import torch
from torch import Tensor

from unbraid.codes import Codes
from unbraid.information.delta_method import Averages
from unbraid.metrics.estimators import Sampled
from unbraid.metrics.estimators.estimator import settled
from unbraid.metrics.estimators.sampled import FIRST_HALF
from unbraid.metrics.metric import OF_FACTORS, Feature, Interval, Metric, Score, Value, score_of
from unbraid.metrics.reductions.sampled_entropies import Conditional, SampledEntropies
from unbraid.metrics.reductions.statistics import Statistics

# A value that moves by less has not moved: sums of float32 terms are good to 1e-5 nats, of float64 terms to more.
_ROUNDING = 1e-5

# Labels are not read, so any will do.
ANY_LABELS: frozenset[Feature] = frozenset(OF_FACTORS)


@dataclass(frozen=True)
class SampledMetric(Metric):
    """A metric computed from `SampledEntropies`: averages over the draws of `estimator`, against the mixture of all
    images.

    `conditional`: "analytic" takes H(. | x) in closed form over all images. "mc" averages it over the same draws, as Do
    & Tran's code does; its noise then cancels in I(x, z), which is at most log N draw by draw. All metrics with equal
    settings share one pass over draws and images.
    """

    estimator: Sampled = Sampled()  # noqa: RUF009 (frozen)
    """How many draws, and their seed."""
    conditional: Conditional = "analytic"
    """H(. | x) in closed form over all images, or averaged over the same draws as Do & Tran's code does."""

    @abstractmethod
    def entropies(self, statistics: Statistics) -> SampledEntropies:
        """Returns the averages that the numbers are functions of."""

    @abstractmethod
    def numbers(self, averages: Averages) -> dict[str, Tensor]:
        """Returns every number of the score: "value" and the parts (scalars), "per_latent" (a vector), and the tables.
        They are differentiable.
        """

    def notes(self, codes: Codes) -> tuple[str, ...]:
        """Returns sentences that readers of the score should know of these codes. By default, there are none."""
        del codes
        return ()

    @property
    def accepts(self) -> frozenset[Feature]:
        return ANY_LABELS | {"weights", "correlated posteriors", "discrete latents"}

    @final
    def measure(self, statistics: Statistics) -> Score:
        settings = self.settings | self.estimator.used(statistics)
        score = sampled_score(type(self).__name__, self.entropies(statistics), self.numbers, self.bounds, settings)
        return replace(score, notes=(*score.notes, *self.notes(statistics.codes)))


def sampled_score(
    name: str,
    entropies: SampledEntropies,
    numbers: Callable[[Averages], dict[str, Tensor]],
    bounds: Interval,
    settings: Mapping[str, Any],
) -> Score:
    """Returns the score whose numbers are functions of sampled entropies, with intervals, and whether half the draws
    would have done.
    """
    found = numbers(entropies.averages)
    scalars = [key for key, number in found.items() if number.ndim == 0]

    def stacked(averages: Averages) -> Tensor:
        moved = numbers(averages)
        return torch.stack([moved[key] for key in scalars])

    errors = dict(zip(scalars, entropies.standard_error(stacked).tolist(), strict=True))
    value = Value.from_standard_error(found["value"], errors["value"], bounds)
    moved = float(numbers(entropies.half)["value"]) - value.value
    is_settled, notes = settled(value, (moved, FIRST_HALF), _ROUNDING)
    return score_of(name, found, errors, value, settled=is_settled, notes=notes, settings=settings)


def labels_aside(statistics: Statistics) -> Statistics:
    """Returns the statistics for estimators that also look at labels: without the continuous ones, which these cannot
    take and we do not read.
    """
    if any(labels.is_continuous for labels in statistics.codes.factors):
        return statistics.restricted(lambda labels: not labels.is_continuous)
    return statistics
