"""A measure against a number of the settings, such as beta: a line for each family through its medians."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import final

from unbraid.pages.axis import tick_text
from unbraid.report.groups import Group
from unbraid.report.loss_curves import spread_within
from unbraid.report.measures import Measure
from unbraid.report.members import ReportedRun
from unbraid.report.strip_plot import value_axis
from unbraid.report.sweeps import Series, Sweep

Scale = Callable[[float], float]
"""Where a value lies in the plot."""

# The plot in units of its own; on the page it is scaled by 0.9 to 1.3.
WIDTH, HEIGHT = 380.0, 262.0
LEFT, RIGHT, TOP, BOTTOM = 44.0, 12.0, 26.0, 42.0
_EDGE = 16.0  # between the axes and the first and last values
_DODGE = 7.0  # between the dots of two families at one value
_MOST_LABELS, _MOST_LEVELS = 8, 4
_LINE = 12.0  # between two lines of text
_LEAST_SPACE = 26.0  # between the middles of two numbers below the axis


@final
@dataclass(frozen=True, eq=False)
class PlotDot:
    """A member at its place in a plot. `share` says how strongly the measure colours it, from 0 to 1."""

    x: float
    y: float
    member: ReportedRun
    colour: str
    share: float = 1.0


@final
@dataclass(frozen=True)
class PlotLine:
    """A line through medians, in the colour of its family."""

    points: str
    colour: str
    label: str


@final
@dataclass(frozen=True)
class Level:
    """A line across, at `y`, with the name of its family a little above or below it, at `text_y`."""

    y: float
    text_y: float
    label: str
    colour: str


@final
@dataclass(frozen=True, eq=False)
class SweepPlot:
    """Shows one sweep. `levels` are medians of groups that have no such number, to compare with."""

    field: str
    dots: tuple[PlotDot, ...]
    lines: tuple[PlotLine, ...]
    levels: tuple[Level, ...]
    x_ticks: tuple[tuple[float, str], ...]
    y_ticks: tuple[tuple[float, str], ...]
    note: str


def sweep_plot(sweep: Sweep, measure: Measure) -> SweepPlot:
    """Returns the plot of a sweep in a measure, over the members that have a value."""
    groups = [group for series in sweep.series for _, group in series.points]
    axis = value_axis(
        measure, [measure.value(member) for each in (groups, sweep.others) for g in each for member in g.members]
    )

    def down(value: float) -> float:
        return round(HEIGHT - BOTTOM - (HEIGHT - BOTTOM - TOP) * axis.share(value), 1)

    def across(value: float) -> float:
        return round(LEFT + _EDGE + (WIDTH - LEFT - RIGHT - 2 * _EDGE) * sweep.share(value), 1)

    dodges = {id(each): _DODGE * (n - (len(sweep.series) - 1) / 2) for n, each in enumerate(sweep.series)}
    if len(sweep.series) > _MOST_LABELS:
        dodges = dict.fromkeys(dodges, 0.0)
    return SweepPlot(
        field=sweep.field,
        dots=tuple(
            PlotDot(round(across(at) + dodges[id(series)], 1), down(value), member, group.colour)
            for series in sweep.series
            for at, group in series.points
            for member in group.members
            if math.isfinite(value := measure.value(member))
        ),
        lines=tuple(
            PlotLine(_points(series, measure, across, down, dodges[id(series)]), series.colour, series.label)
            for series in sweep.series
        ),
        levels=_levels(sweep.others, measure, down),
        x_ticks=_numbers(sweep, across),
        y_ticks=tuple((down(tick), tick_text(tick)) for tick in axis.ticks),
        note=measure.beyond(axis.ticks[0], axis.ticks[-1]),
    )


def _levels(others: Sequence[Group], measure: Measure, down: Scale) -> tuple[Level, ...]:
    """Returns a line for each family of a single setting, if there are not too many; their names lie apart."""
    families = [group.family for group in others]
    alone = [group for group in others if families.count(group.family) == 1]
    known = [(group, down(value)) for group in alone if math.isfinite(value := group.median(measure))]
    if len(known) > _MOST_LEVELS:
        return ()
    texts = spread_within([y - 4 for _, y in known], _LINE, TOP + _LINE, HEIGHT - BOTTOM - 3)
    return tuple(
        Level(y, round(text, 1), group.family, group.colour) for (group, y), text in zip(known, texts, strict=True)
    )


def _points(series: Series, measure: Measure, across: Scale, down: Scale, dodge: float) -> str:
    medians = [(at, group.median(measure)) for at, group in series.points]
    return " ".join(f"{across(at) + dodge:.1f},{down(value)}" for at, value in medians if math.isfinite(value))


def _numbers(sweep: Sweep, across: Scale) -> tuple[tuple[float, str], ...]:
    """Returns the values of the sweep below its axis, without those that have no room."""
    found: list[tuple[float, str]] = []
    for value in sweep.values:
        place = across(value)
        if not found or place - found[-1][0] >= _LEAST_SPACE:
            found.append((place, tick_text(value)))
    return tuple(found)
