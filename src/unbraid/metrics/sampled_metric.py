"""Metrics that are functions of joint entropies, averaged over draws."""

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import ClassVar, final

import torch
from torch import Tensor

from unbraid.codes import Codes
from unbraid.information.delta_method import Averages
from unbraid.metrics.estimators import Sampled
from unbraid.metrics.estimators.estimator import settled
from unbraid.metrics.estimators.sampled import FIRST_HALF
from unbraid.metrics.metric import OF_FACTORS, Feature, Metric, Score, Value, score_fields
from unbraid.metrics.reductions.sampled_entropies import Conditional, SampledEntropies
from unbraid.metrics.reductions.statistics import Statistics

# A smaller change is rounding: sums of float32 terms are exact to 1e-5 nats.
_ROUNDING = 1e-5

# What a metric accepts that does not read labels.
ANY_LABELS: frozenset[Feature] = frozenset(OF_FACTORS)


@dataclass(frozen=True)
class SampledMetric(Metric):
    """A metric computed from `SampledEntropies`: averages over the draws of `estimator`, against the mixture of all
    images.

    With `conditional="mc"` the noise of H(. | x) cancels in I(x, z), which is at most log N draw by draw. All metrics
    with equal settings share one pass over draws and images.
    """

    accepts: ClassVar[frozenset[Feature]] = ANY_LABELS | {"weights", "correlated posteriors", "discrete latents"}

    estimator: Sampled = Sampled()  # noqa: RUF009 (frozen)
    """How many draws, and their seed."""
    conditional: Conditional = "analytic"
    """Whether H(. | x) is in closed form over all images, or averaged over the same draws as in Do & Tran's code."""

    @abstractmethod
    def entropies(self, statistics: Statistics) -> SampledEntropies:
        """Returns the averages that the numbers are computed from."""

    @abstractmethod
    def numbers(self, averages: Averages) -> dict[str, Tensor]:
        """Returns every number of the score: "value" and the parts (scalars), "per_latent" (a vector), and the tables.
        They are differentiable.
        """

    def notes(self, codes: Codes) -> tuple[str, ...]:
        """Returns notes on these codes, by default none."""
        del codes
        return ()

    @final
    def measure(self, statistics: Statistics) -> Score:
        score = sampled_score(self, self.estimator, statistics, self.entropies(statistics), self.numbers)
        return replace(score, notes=(*score.notes, *self.notes(statistics.codes)))


def sampled_score(
    metric: Metric,
    estimator: Sampled,
    statistics: Statistics,
    entropies: SampledEntropies,
    numbers: Callable[[Averages], dict[str, Tensor]],
) -> Score:
    """Returns the score with numbers that are functions of sampled entropies; it is settled if half of the draws give
    the same value, up to its interval.
    """
    found = numbers(entropies.averages)
    scalars = [key for key, number in found.items() if number.ndim == 0]

    def stacked(averages: Averages) -> Tensor:
        moved = numbers(averages)
        return torch.stack([moved[key] for key in scalars])

    errors = dict(zip(scalars, entropies.standard_error(stacked).tolist(), strict=True))
    value = Value.from_standard_error(found["value"], errors["value"], metric.bounds)
    moved = float(numbers(entropies.half)["value"]) - value.value
    is_settled, notes = settled(value, (moved, FIRST_HALF), _ROUNDING)
    settings = metric.settings | estimator.used(statistics)
    return metric.score(value, **score_fields(found, errors), settled=is_settled, notes=notes, settings=settings)


def labels_aside(statistics: Statistics) -> Statistics:
    """Returns the statistics without continuous factors, which estimators refuse and the metric does not read."""
    if any(labels.is_continuous for labels in statistics.codes.factors):
        return statistics.restricted(lambda labels: not labels.is_continuous)
    return statistics
