"""A measure against a number of the settings, such as beta: a line for each family through its medians."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import final

from markupsafe import Markup

from unbraid.figures.point_labels import spread
from unbraid.show.pages.svg import Frame, element, line, polyline, text, tick_text
from unbraid.show.report.groups import Group
from unbraid.show.report.measures import Measure
from unbraid.show.report.model_dots import ModelDots
from unbraid.show.report.strip_plot import value_axis
from unbraid.show.report.sweeps import Sweep

FRAME = Frame(width=380, height=262, left=44, right=12, top=26, bottom=42)
_EDGE = 16.0  # between the axes and the first and last values
_DODGE = 7.0  # between the dots of two families at one value
_MOST_DODGED, _MOST_LEVELS = 8, 4
_LINE = 12.0  # between two lines of text
_LEAST_SPACE = 26.0  # between the middles of two numbers below the axis


@final
@dataclass(frozen=True, eq=False)
class SweepPlot:
    """A drawn sweep, and what its caption needs: whether medians of other settings are lines across."""

    field: str
    svg: Markup
    has_levels: bool
    note: str


def sweep_plot(sweep: Sweep, measure: Measure, dots: ModelDots) -> SweepPlot:
    """Draws a sweep in a measure, over the members that have a value."""
    groups = [group for series in sweep.series for _, group in series.points]
    axis = value_axis(measure, [measure.value(m) for group in (*groups, *sweep.others) for m in group.members])

    def up(value: float) -> float:
        return FRAME.y(axis.share(value))

    def across(value: float) -> float:
        return FRAME.left + _EDGE + (FRAME.end - FRAME.left - 2 * _EDGE) * sweep.share(value)

    step = _DODGE if len(sweep.series) <= _MOST_DODGED else 0.0
    lines, drawn = [], []
    for number, series in enumerate(sweep.series):
        dodge = step * (number - (len(sweep.series) - 1) / 2)
        medians = [(across(at) + dodge, group.median(measure)) for at, group in series.points]
        known = [(x, up(value)) for x, value in medians if math.isfinite(value)]
        lines.append(polyline(known, class_=f"thick {series.color}"))
        drawn += [
            dots.draw(member, across(at) + dodge, up(value), 3.5, family=group.color)
            for at, group in series.points
            for member in group.members
            if math.isfinite(value := measure.value(member))
        ]
    levels = _levels(sweep.others, measure, up)
    frame = FRAME.y_axis(axis) + FRAME.x_axis(_numbers(sweep, across)) + FRAME.titles(sweep.field, measure.title)
    svg = FRAME.svg(frame, *levels, *lines, *drawn, label=f"{measure.name} against {sweep.field}")
    return SweepPlot(sweep.field, svg, bool(levels), measure.beyond(axis.ticks[0], axis.ticks[-1]))


def _levels(others: Sequence[Group], measure: Measure, up: Callable[[float], float]) -> list[Markup]:
    """Draws a line across for each family of a single setting, if there are not too many; their names lie apart."""
    families = [group.family for group in others]
    alone = [group for group in others if families.count(group.family) == 1]
    known = [(group, up(value)) for group in alone if math.isfinite(value := group.median(measure))]
    if len(known) > _MOST_LEVELS:
        return []
    places = spread([y - 4 for _, y in known], _LINE, FRAME.top + _LINE, FRAME.base - 3)
    return [
        element(
            "g",
            line(FRAME.left, y, FRAME.end, y, class_="level"),
            text(group.family, FRAME.end, place, class_="level-text", text_anchor="end"),
            class_=group.color,
        )
        for (group, y), place in zip(known, places, strict=True)
    ]


def _numbers(sweep: Sweep, across: Callable[[float], float]) -> list[tuple[float, str]]:
    """Returns the values of the sweep below its axis, without those that have no room."""
    found: list[tuple[float, str]] = []
    for value in sweep.values:
        place = across(value)
        if not found or place - found[-1][0] >= _LEAST_SPACE:
            found.append((place, tick_text(value)))
    return found
