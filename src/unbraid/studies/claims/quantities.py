"""Quantities of claims: medians, differences, correlations and other statistics of scores.

Class names are lower case because a claim uses them like functions: `difference("mig", "a", "b")`.
"""

import dataclasses
import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, final

import numpy as np

from unbraid.config import Config
from unbraid.studies.statistics import (
    Measurement,
    StatisticsError,
    binomial,
    mann_whitney,
    sign_test,
    signed_rank,
    slope,
    spearman,
)
from unbraid.studies.statistics.arrangements import num_groupings, num_used

MIN_SEEDS = 4
"""The minimum number of seeds in each compared group. Claims with fewer seeds are undecided."""

_SIDES = ("setting", "settings", "ours", "theirs", "others")
_METRICS = ("metric", "other_metric", "first", "second")


class Scores(Protocol):
    """Interface of scores by setting and metric, such as `StudyScores`."""

    def values(self, setting: str, metric: str) -> Mapping[int, float]:
        """Returns the scores of a setting by seed, without NaN."""


@final
@dataclass(frozen=True)
class best_of(Config):  # noqa: N801  # written like a function in a claim
    """The setting with the highest (or lowest) median of the metric `by`, for use in a comparison.

    The default of `by` is the compared metric. The same scores choose and compare the setting, so each p-value of the
    claim is multiplied by the number of settings.
    """

    settings: tuple[str, ...]
    by: str = ""
    lowest: bool = False


Side = str | tuple[str, ...] | best_of


@dataclass(frozen=True)
class Quantity(Config, ABC):
    """Base class of quantities: an estimate from the scores of a study, with one-sided tests at any border.

    A custom quantity is a frozen dataclass that implements `measure` and, if needed, `num_arrangements` or
    `smallest_p`. Settings are in fields named setting, settings, ours, theirs or others. Metrics are in fields named
    metric, other_metric, first or second.
    """

    @abstractmethod
    def measure(self, scores: Scores) -> Measurement:
        """Returns the estimate with its test.

        Raises:
            StatisticsError: The estimate is undefined. The claim is then undecided, with this message as the reason.
        """

    def num_arrangements(self, sizes: Sequence[int]) -> int:
        """Returns the number of arrangements in the permutation test, for sides with these numbers of seeds."""
        return num_groupings(tuple(sizes))

    def smallest_p(self, sizes: Sequence[int], border: float) -> tuple[float, float]:
        """Returns the smallest possible p-values for sides with these numbers of seeds.

        The first p-value tests that the quantity lies above the border, and the second that the quantity lies below.
        """
        return (1 / num_used(self.num_arrangements(sizes)),) * 2

    def sizes(self, num_seeds: Mapping[str, int]) -> list[int]:
        """Returns the number of seeds on each side. For `best_of`, this is the smallest number of its settings."""
        by_side = [(side, [num_seeds[label] for label in labels_of(side)]) for side in self.sides]
        return [min(counts) if isinstance(side, best_of) else sum(counts) for side, counts in by_side]

    @property
    def sides(self) -> list[Side]:
        """The compared sides: each a setting, several settings, or `best_of`."""
        return [getattr(self, field.name) for field in dataclasses.fields(self) if field.name in _SIDES]

    @property
    def num_choices(self) -> int:
        """The number of combinations from which `best_of` chooses (1 without `best_of`): a factor of each p-value."""
        return math.prod(len(side.settings) for side in self.sides if isinstance(side, best_of))

    @property
    def settings_used(self) -> list[str]:
        """The distinct labels of all settings."""
        return list(dict.fromkeys(label for side in self.sides for label in labels_of(side)))

    @property
    def metrics_used(self) -> list[str]:
        """The distinct names of all metrics."""
        named = [getattr(self, field.name) for field in dataclasses.fields(self) if field.name in _METRICS]
        chosen_by = [side.by for side in self.sides if isinstance(side, best_of)]
        return [name for name in dict.fromkeys([*named, *chosen_by]) if name]

    @property
    def text(self) -> str:
        """A short description, such as "difference in mig (beta-tcvae, beta-vae)"."""
        labels = self.settings_used
        listed = ", ".join(labels[:4]) + (f" and {len(labels) - 4} more" if len(labels) > 4 else "")
        kind = type(self).__name__.replace("_", " ")
        return f"{kind} in {' and '.join(self.metrics_used)} ({listed})" if labels else kind


@final
@dataclass(frozen=True)
class median(Quantity):  # noqa: N801
    """Median of a metric over seeds, with the sign test (no assumption about the distribution)."""

    metric: str
    setting: Side

    def measure(self, scores: Scores) -> Measurement:
        return sign_test(values_of(self.setting, self.metric, scores))

    def num_arrangements(self, sizes: Sequence[int]) -> int:
        return 2 ** sizes[0]


@final
@dataclass(frozen=True)
class difference(Quantity):  # noqa: N801
    """Difference of a metric between the settings `ours` and `theirs`, with the Mann-Whitney test."""

    metric: str
    ours: Side
    theirs: Side

    def measure(self, scores: Scores) -> Measurement:
        return mann_whitney(values_of(self.ours, self.metric, scores), values_of(self.theirs, self.metric, scores))


@final
@dataclass(frozen=True)
class ratio(Quantity):  # noqa: N801
    """Ratio of a positive metric between the settings `ours` and `theirs`, with the Mann-Whitney test."""

    metric: str
    ours: Side
    theirs: Side

    def measure(self, scores: Scores) -> Measurement:
        ours, theirs = (values_of(side, self.metric, scores) for side in (self.ours, self.theirs))
        return mann_whitney(ours, theirs, is_ratio=True)


@final
@dataclass(frozen=True)
class paired_difference(Quantity):  # noqa: N801
    """Difference between runs of `ours` and `theirs` with the same seed, with the signed-rank test.

    `other_metric` is the metric of `theirs`, by default `metric`. If `ours` and `theirs` are the same setting, two
    metrics of the same runs are compared. If both have several settings, the settings are paired in order.
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
        if not differences:
            raise StatisticsError(
                f"Expected a seed with {' and '.join(self.metrics_used)} in both settings. Train the same seeds."
            )
        return signed_rank(differences)

    def num_arrangements(self, sizes: Sequence[int]) -> int:
        return 2 ** min(sizes)


@final
@dataclass(frozen=True)
class trend(Quantity):  # noqa: N801
    """Theil-Sen slope of a metric over settings, with a rank correlation test of scores and positions.

    `at` has the position of each setting on the x-axis, by default 0, 1, 2, ...
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
    """Rank correlation of the metrics `first` and `second`, over all models or over the medians of the settings."""

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
                raise StatisticsError(f"Expected {self.first} and {self.second} of {label}, got no run. Score runs.")
            points += pairs if self.over == "models" else [np.median(pairs, axis=0).tolist()]
        return spearman(*np.array(points).T)

    def sizes(self, num_seeds: Mapping[str, int]) -> list[int]:
        return super().sizes(num_seeds) if self.over == "models" else [len(self.settings)]

    def num_arrangements(self, sizes: Sequence[int]) -> int:
        return math.factorial(sizes[0])


@final
@dataclass(frozen=True)
class share(Quantity):  # noqa: N801
    """Share of the seeds whose score lies between `at_least` and `at_most`, with the binomial test."""

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
    """Difference between `ours` and the best of the other settings. With `lowest=True`, lower scores are better.

    The p-value for "ours is better" is the largest p-value over the other settings. The p-value against it is the
    smallest p-value over the other settings, multiplied by the number of these settings.
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
            raise StatisticsError(f"Expected settings other than {self.ours}, got others={self.others}. Add a setting.")
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
    """Deterministic value: a claim is supported if the values of all runs of these settings lie in its region.

    The region is widened by `tolerance` at both ends. There is no test, so the claim does not count in the adjustment
    for multiple testing.
    """

    metric: str
    tolerance: float = 0.0
    settings: Side = ()

    @property
    def text(self) -> str:
        return super().text.replace("computed in", "value of", 1)

    def measure(self, scores: Scores) -> Measurement:
        """Returns the median. Its p-value is 0 if all values lie on the tested side of the border, and 1 otherwise."""
        values = values_of(self.settings, self.metric, scores)
        low, high = min(values), max(values)

        def test(border: float) -> tuple[float, float]:
            return float(not low + self.tolerance >= border), float(not high - self.tolerance <= border)

        return Measurement(float(np.median(values)), (len(values),), test, lambda: (low, high))

    def smallest_p(self, sizes: Sequence[int], border: float) -> tuple[float, float]:
        return 0.0, 0.0


def labels_of(side: Side) -> tuple[str, ...]:
    """Returns the labels of all settings of a side, including all candidates of `best_of`."""
    return (side,) if isinstance(side, str) else side.settings if isinstance(side, best_of) else side


def chosen(side: Side, metric: str, scores: Scores) -> tuple[str, ...]:
    """Returns the labels of the compared settings of a side. For `best_of`, this is the best setting."""
    if not isinstance(side, best_of):
        return labels_of(side)
    values = {label: list(scores.values(label, side.by or metric).values()) for label in side.settings}
    medians = {label: float(np.median(found)) for label, found in values.items() if found}
    if not medians:
        raise StatisticsError(
            f"Expected scores {side.by or metric} of {', '.join(side.settings)}, got none. Score runs."
        )
    return (min(medians, key=lambda label: medians[label] * (1 if side.lowest else -1)),)


def values_of(side: Side, metric: str, scores: Scores) -> list[float]:
    """Returns the scores of all seeds of a side. Raises StatisticsError if a setting has no score."""
    by_label = {label: scores.values(label, metric) for label in chosen(side, metric, scores)}
    missing = [label for label, values in by_label.items() if not values] if by_label else ["A side without settings"]
    if missing:
        raise StatisticsError(f"Expected scores {metric} of every setting, got none of {missing[0]}. Score its runs.")
    return [value for values in by_label.values() for value in values.values()]
