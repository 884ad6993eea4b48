"""The quantities that claims are about. Their names are written like functions: `difference("mig", "a", "b")`."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, final

import numpy as np

from unbraid.studies.claims.quantity import Quantity, Scores, Side, chosen, values_of
from unbraid.studies.statistics import Measurement, StatisticsError, mann_whitney, signed_rank, slope, spearman
from unbraid.studies.statistics.counts import binomial, sign_test


@final
@dataclass(frozen=True)
class median(Quantity):  # noqa: N801
    """The median of a metric over seeds, by order statistics, which assume nothing of its distribution."""

    metric: str
    setting: Side

    def measure(self, scores: Scores) -> Measurement:
        return sign_test(values_of(self.setting, self.metric, scores))

    def num_arrangements(self, sizes: Sequence[int]) -> int:
        return 2 ** sizes[0]


@final
@dataclass(frozen=True)
class difference(Quantity):  # noqa: N801
    """By how much seeds of `ours` lie above those of `theirs`, by the Mann-Whitney test."""

    metric: str
    ours: Side
    theirs: Side

    def measure(self, scores: Scores) -> Measurement:
        return mann_whitney(values_of(self.ours, self.metric, scores), values_of(self.theirs, self.metric, scores))


@final
@dataclass(frozen=True)
class ratio(Quantity):  # noqa: N801
    """By which factor seeds of `ours` lie above those of `theirs`, for scores above 0."""

    metric: str
    ours: Side
    theirs: Side

    def measure(self, scores: Scores) -> Measurement:
        ours, theirs = (values_of(side, self.metric, scores) for side in (self.ours, self.theirs))
        return mann_whitney(ours, theirs, is_ratio=True)


@final
@dataclass(frozen=True)
class paired_difference(Quantity):  # noqa: N801
    """By how much `ours` lies above `theirs` with the same seed, by the signed-rank test.

    `other_metric` is that of `theirs`: with the same setting on both sides, two metrics of the same runs are compared.
    Where sides have several settings, the first of one is paired with the first of the other, and so on.
    """

    metric: str
    ours: Side
    theirs: Side
    other_metric: str = ""

    def measure(self, scores: Scores) -> Measurement:
        other_metric = self.other_metric or self.metric
        differences: list[float] = []
        sides = chosen(self.ours, self.metric, scores), chosen(self.theirs, other_metric, scores)
        for ours, theirs in zip(*sides, strict=True):
            first, second = scores.values(ours, self.metric), scores.values(theirs, other_metric)
            differences += [first[seed] - second[seed] for seed in first if seed in second]
        return signed_rank(differences)

    def num_arrangements(self, sizes: Sequence[int]) -> int:
        return 2 ** min(sizes)


@final
@dataclass(frozen=True)
class trend(Quantity):  # noqa: N801
    """By how much a metric rises from each setting to the next, or per unit of their positions `at`: the Theil-Sen
    slope, with the rank correlation of scores and positions as the test.
    """

    metric: str
    settings: tuple[str, ...]
    at: tuple[float, ...] = ()

    def measure(self, scores: Scores) -> Measurement:
        return slope([values_of(label, self.metric, scores) for label in self.settings], self.at)

    def sizes(self, num_seeds: Mapping[str, int]) -> list[int]:
        return [num_seeds[label] for label in self.settings]


@final
@dataclass(frozen=True)
class correlation(Quantity):  # noqa: N801
    """The rank correlation of two metrics, over all models of some settings or over the settings' medians."""

    first: str
    second: str
    settings: tuple[str, ...]
    over: Literal["models", "medians"] = "models"

    def measure(self, scores: Scores) -> Measurement:
        points: list[Sequence[float]] = []
        for label in self.settings:
            first, second = scores.values(label, self.first), scores.values(label, self.second)
            pairs = [(first[seed], second[seed]) for seed in first if seed in second]
            if not pairs:
                raise StatisticsError(f"{label} has no run with both {self.first} and {self.second}.")
            points += pairs if self.over == "models" else [np.median(pairs, axis=0).tolist()]
        return spearman(*np.array(points).T)

    def sizes(self, num_seeds: Mapping[str, int]) -> list[int]:
        return super().sizes(num_seeds) if self.over == "models" else [len(self.settings)]

    def num_arrangements(self, sizes: Sequence[int]) -> int:
        return math.factorial(sizes[0])


@final
@dataclass(frozen=True)
class share(Quantity):  # noqa: N801
    """The share of seeds whose metric is at least and at most these values, by the binomial test."""

    metric: str
    settings: Side
    at_least: float | None = None
    at_most: float | None = None

    def measure(self, scores: Scores) -> Measurement:
        values = values_of(self.settings, self.metric, scores)
        low = -math.inf if self.at_least is None else self.at_least
        high = math.inf if self.at_most is None else self.at_most
        return binomial(sum(low <= value <= high for value in values), len(values))

    def smallest_p(self, sizes: Sequence[int], border: float) -> tuple[float, float]:
        return border ** sizes[0], (1 - border) ** sizes[0]


@final
@dataclass(frozen=True)
class lead(Quantity):  # noqa: N801
    """By how much seeds of `ours` lie above those of the closest of the others, or below it with `lowest`.

    That it leads has the largest p-value over the others. That it does not has the smallest, times their number.
    """

    metric: str
    ours: Side
    others: tuple[str, ...]
    lowest: bool = False

    def measure(self, scores: Scores) -> Measurement:
        labels, sign = chosen(self.ours, self.metric, scores), -1 if self.lowest else 1
        rivals: list[Side] = [other for other in self.others if other not in labels]
        ours, *others = (np.multiply(sign, values_of(side, self.metric, scores)) for side in [labels, *rivals])
        if not others:
            raise StatisticsError(f"{self.ours} is compared with itself alone; expected others.")
        found = [mann_whitney(ours, other) for other in others]
        closest = min(found, key=lambda each: each.value)

        def test(border: float) -> tuple[float, float]:
            above, below = zip(*(each.test(border) for each in found), strict=True)
            return max(above), min(1.0, len(found) * min(below))

        return Measurement(closest.value, (len(ours), min(map(len, others))), test, closest.limits)

    def sizes(self, num_seeds: Mapping[str, int]) -> list[int]:
        return [super().sizes(num_seeds)[0], min(num_seeds[label] for label in self.others)]


@final
@dataclass(frozen=True)
class computed(Quantity):  # noqa: N801
    """A result without seeds: the number of every run of these settings has to lie in the region.

    The region is widened by `tolerance` at both ends. There is no p-value, and other claims are not adjusted for it.
    """

    metric: str
    tolerance: float = 0.0
    settings: Side = ()

    def measure(self, scores: Scores) -> Measurement:
        """Returns the median, with a test that is 0 where all numbers lie on that side of the border, else 1."""
        values = values_of(self.settings, self.metric, scores)
        low, high = min(values), max(values)

        def test(border: float) -> tuple[float, float]:
            return float(not low + self.tolerance >= border), float(not high - self.tolerance <= border)

        return Measurement(float(np.median(values)), (len(values),), test, lambda: (low, high))

    def smallest_p(self, sizes: Sequence[int], border: float) -> tuple[float, float]:
        return 0.0, 0.0
