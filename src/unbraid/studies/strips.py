"""One dot per seed, one row per setting: what a page of a study shows of a metric, as numbers for an SVG."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

import numpy as np

from unbraid.pages.axis import round_step
from unbraid.pages.families import family_class
from unbraid.studies.study_scores import StudyScores

WIDTH, ROW = 640, 26
_LEFT, _RIGHT, _TOP = 170, 20, 30
_MOST_TICKS = 6


@final
@dataclass(frozen=True)
class StripRow:
    """A setting: where its seeds lie, where their median, and the classes that give it the colour of its family."""

    label: str
    y: float
    xs: tuple[float, ...]
    median: float | None
    title: str
    colour: str


@final
@dataclass(frozen=True)
class Strip:
    """The figure of one metric."""

    metric: str
    width: int
    height: int
    left: int
    rows: tuple[StripRow, ...]
    ticks: tuple[tuple[float, str], ...]


def strip_of(scores: StudyScores, metric: str) -> Strip:
    """Returns where the seeds of every setting lie in a metric."""
    values = {label: scores.of_seeds(label, metric) for label in scores.settings}
    finite = [value for each in values.values() for value in each if math.isfinite(value)]
    low, high = _ends(finite)

    def place(value: float) -> float:
        return round(_LEFT + (WIDTH - _LEFT - _RIGHT) * (value - low) / (high - low), 1)

    rows = tuple(
        StripRow(
            label,
            _TOP + ROW * (number + 0.5),
            tuple(place(value) for value in each if math.isfinite(value)),
            place(float(np.median(each))) if each and math.isfinite(float(np.median(each))) else None,
            f"{label}: " + (", ".join(f"{value:.3g}" for value in sorted(each)) or "no scores"),
            family_class(scores.families[label]),
        )
        for number, (label, each) in enumerate(values.items())
    )
    ticks = tuple((place(tick), f"{tick:g}") for tick in _ticks(low, high))
    return Strip(metric, WIDTH, _TOP + ROW * len(rows) + 10, _LEFT, rows, ticks)


def _ends(values: Sequence[float]) -> tuple[float, float]:
    """Returns the range of an axis: 0 to 1 where scores lie within, else a little beyond the values."""
    if not values:
        return 0.0, 1.0
    low, high = min(values), max(values)
    if low >= 0 and high <= 1:
        return 0.0, 1.0
    room = 0.03 * (high - low) or 1.0
    return low - room, high + room


def _ticks(low: float, high: float) -> list[float]:
    """Returns round numbers within the range, at most six."""
    step = round_step((high - low) / (_MOST_TICKS - 1))
    first = math.ceil(low / step - 1e-9)
    last = math.floor(high / step + 1e-9)
    return [round(number * step, 12) for number in range(first, last + 1)]
