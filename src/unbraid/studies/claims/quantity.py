"""Quantity: what a claim is about, and the sides that it compares."""

import dataclasses
import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, final

import numpy as np

from unbraid.config import Config
from unbraid.studies.statistics import Measurement, StatisticsError
from unbraid.studies.statistics.arrangements import num_groupings, num_used

MIN_SEEDS = 4
"""On each side. A claim about fewer is undecided."""

_SIDES = ("setting", "settings", "ours", "theirs", "others")
_METRICS = ("metric", "other_metric", "first", "second")


class Scores(Protocol):
    """Scores by setting and metric, such as `StudyScores`."""

    def values(self, setting: str, metric: str) -> Mapping[int, float]:
        """Returns the score of each seed that has one."""


@final
@dataclass(frozen=True)
class best_of(Config):  # noqa: N801  # written like a function in a claim
    """The setting with the highest median of the metric `by`, or the lowest: a side that is chosen from the scores.

    By default it is chosen by the metric that is then compared. Because the choice uses the same scores, every p-value
    of the claim is multiplied by the number of settings.
    """

    settings: tuple[str, ...]
    by: str = ""
    lowest: bool = False


Side = str | tuple[str, ...] | best_of


@dataclass(frozen=True)
class Quantity(Config, ABC):
    """A number that the scores of a study estimate, with one-sided tests at any border.

    A quantity of your own is a frozen dataclass with `measure`, and `smallest_p` where it rests on other arrangements.
    Its settings are in fields named setting, settings, ours, theirs or others, and its metrics in metric, other_metric,
    first or second.
    """

    @abstractmethod
    def measure(self, scores: Scores) -> Measurement:
        """Returns the estimate with its test.

        Raises:
            StatisticsError: The claim is then undecided, for the reason in the message.
        """

    def num_arrangements(self, sizes: Sequence[int]) -> int:
        """Returns in how many ways sides of these sizes can be arranged, by default those of dealing seeds to sides."""
        return num_groupings(tuple(sizes))

    def smallest_p(self, sizes: Sequence[int], border: float) -> tuple[float, float]:
        """Returns the smallest p-values that the test at a border can have with so many seeds on each side: that the
        quantity lies above it, and that it lies below.
        """
        return (1 / num_used(self.num_arrangements(sizes)),) * 2

    def sizes(self, num_seeds: Mapping[str, int]) -> list[int]:
        """Returns how many seeds each side has, of a side that is chosen the fewest."""
        by_side = [(side, [num_seeds[label] for label in labels_of(side)]) for side in self.sides]
        return [min(counts) if isinstance(side, best_of) else sum(counts) for side, counts in by_side]

    @property
    def sides(self) -> list[Side]:
        """The sides that are compared."""
        return [getattr(self, field.name) for field in dataclasses.fields(self) if field.name in _SIDES]

    @property
    def num_choices(self) -> int:
        """How many settings the sides are chosen from, which multiplies every p-value; 1 where nothing is chosen."""
        return math.prod(len(side.settings) for side in self.sides if isinstance(side, best_of))

    @property
    def settings_used(self) -> list[str]:
        """The labels of all settings, each once."""
        return list(dict.fromkeys(label for side in self.sides for label in labels_of(side)))

    @property
    def metrics_used(self) -> list[str]:
        """The names of all metrics, each once."""
        named = [getattr(self, field.name) for field in dataclasses.fields(self) if field.name in _METRICS]
        chosen_by = [side.by for side in self.sides if isinstance(side, best_of)]
        return [name for name in dict.fromkeys([*named, *chosen_by]) if name]

    @property
    def text(self) -> str:
        """What is measured, in short: "difference in mig (beta-tcvae, beta-vae)"."""
        labels = self.settings_used
        listed = ", ".join(labels[:4]) + (f" and {len(labels) - 4} more" if len(labels) > 4 else "")
        kind = type(self).__name__.replace("_", " ")
        return f"{kind} in {' and '.join(self.metrics_used)} ({listed})" if labels else kind


def labels_of(side: Side) -> tuple[str, ...]:
    """Returns all settings of a side, before any choice."""
    return (side,) if isinstance(side, str) else side.settings if isinstance(side, best_of) else side


def chosen(side: Side, metric: str, scores: Scores) -> tuple[str, ...]:
    """Returns the settings of a side, after the choice."""
    if not isinstance(side, best_of):
        return labels_of(side)
    values = {label: list(scores.values(label, side.by or metric).values()) for label in side.settings}
    medians = {label: float(np.median(found)) for label, found in values.items() if found}
    if not medians:
        raise StatisticsError(f"None of {', '.join(side.settings)} has a score of {side.by or metric}.")
    return (min(medians, key=lambda label: medians[label] * (1 if side.lowest else -1)),)


def values_of(side: Side, metric: str, scores: Scores) -> list[float]:
    """Returns the scores of all seeds of a side. Raises if a setting has none."""
    by_label = {label: scores.values(label, metric) for label in chosen(side, metric, scores)}
    missing = [label for label, values in by_label.items() if not values] if by_label else ["A side without settings"]
    if missing:
        raise StatisticsError(f"{missing[0]} has no {metric}.")
    return [value for values in by_label.values() for value in values.values()]
