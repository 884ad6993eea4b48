"""Plots of a measure against a hyperparameter such as beta, and of distortion against rate."""

import math
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np
from markupsafe import Markup

from unbraid.config.paths import fields_of
from unbraid.figures.point_labels import spread
from unbraid.show.pages.svg import Axis, Frame, element, line, polyline, text, tick_text
from unbraid.show.report.groups import Group
from unbraid.show.report.measures import Measure
from unbraid.show.report.provenance import flag_of
from unbraid.show.report.strip_plot import model_dot, value_axis
from unbraid.training.runs.spec import RunSpec

FRAME = Frame(width=380, height=262, left=44, right=12, top=26, bottom=42)
_EDGE = 16.0  # the distance of the first and the last value from the edges
_DODGE = 7.0  # the distance between dots of two families with the same value
_MOST_DODGED, _MOST_LEVELS = 8, 4
_LINE = 12.0  # the height of a line of text
_LEAST_SPACE = 26.0  # the minimum distance of two tick labels
# The minimum number of values of a sweep. Settings of a smaller sweep are shown in the strip plot.
LEAST_VALUES = 3
# The ratio of the largest and the smallest value above which the axis is logarithmic.
_LOG_RATIO = 8.0
# Of the rate-distortion plot: the width of a letter, the maximum number of labels, and the number of ELBO contours.
_LETTER, _MOST_MEDIANS, _NUM_LEVELS = 6.6, 40, 6
_RATE, _DISTORTION = Measure("training-rate", None), Measure("training-distortion", higher_is_better=False)

Point = tuple[float, float]
Series = tuple[tuple[float, Group], ...]
"""Pairs of a value and a group, in ascending order, for groups that differ only in one numeric field."""


@final
@dataclass(frozen=True, eq=False)
class Sweep:
    """Series of groups that differ in one numeric field.

    `field` is the flag of the field. `others` has the groups outside of all sweeps, for comparison.
    """

    field: str
    series: tuple[Series, ...]
    others: tuple[Group, ...]

    @property
    def values(self) -> list[float]:
        return sorted({value for each in self.series for value, _ in each})

    def share(self, value: float) -> float:
        """Returns the position of a value on the x-axis, from 0 to 1.

        The axis is logarithmic for a wide range of values. If one of these values is 0, all values are evenly spaced.
        """
        values = self.values
        if values[-1] <= 0 or values[-1] < _LOG_RATIO * abs(values[0]):
            return (value - values[0]) / (values[-1] - values[0])
        if values[0] <= 0:
            return values.index(value) / (len(values) - 1)
        return math.log(value / values[0]) / math.log(values[-1] / values[0])


def sweeps_of(groups: Sequence[Group]) -> tuple[list[Sweep], list[Group]]:
    """Returns a sweep for each numeric field that varies within a family, and the groups outside of all sweeps."""
    by_path: dict[str, list[Series]] = {}
    for family in dict.fromkeys(group.family for group in groups):
        members = [group for group in groups if group.family == family]
        if path := swept_path([group.spec for group in members], LEAST_VALUES):
            by_path.setdefault(path, []).extend(_series(members, path))
    inside = {id(group) for found in by_path.values() for each in found for _, group in each}
    others = [group for group in groups if id(group) not in inside]
    return [Sweep(flag_of(path), tuple(found), tuple(others)) for path, found in by_path.items() if found], others


def swept_path(specs: Sequence[RunSpec], least_values: int = 2) -> str | None:
    """Returns the path of the numeric field with the most distinct values, such as "objective.beta".

    Fields of the objective take precedence. Returns None if no field has `least_values` or more distinct values.
    """
    fields = [fields_of(spec) for spec in specs]
    numbers = {
        path: {each[path] for each in fields if is_plain_number(each.get(path))}
        for path in dict.fromkeys(path for each in fields for path in each)
    }
    found = [path for path, values in numbers.items() if len(values) >= least_values]
    return max(found, key=lambda path: (path.startswith("objective."), len(numbers[path])), default=None)


def _series(members: Sequence[Group], path: str) -> list[Series]:
    """Returns a series for each combination of the other fields for which the field at `path` has several values."""
    by_rest: dict[Hashable, dict[float, Group]] = {}
    for group in members:
        fields = fields_of(group.spec)
        if is_plain_number(value := fields.pop(path)):
            # The configs that contain the number differ as well and are ignored.
            rest = repr({name: each for name, each in fields.items() if not path.startswith(f"{name}.")})
            by_rest.setdefault(rest, {})[float(value)] = group
    return [tuple(sorted(each.items())) for each in by_rest.values() if len(each) > 1]


def is_plain_number(value: Any) -> bool:
    """Returns whether a value is an int or a float, and neither a schedule nor a bool."""
    return isinstance(value, (int, float)) and not isinstance(value, bool)


@final
@dataclass(frozen=True, eq=False)
class SweepPlot:
    """The SVG plot of a sweep. `has_levels` is true if it has horizontal lines at the medians of other settings."""

    field: str
    svg: Markup
    has_levels: bool


def sweep_plot(sweep: Sweep, measure: Measure) -> SweepPlot:
    """Draws a measure against the field of a sweep: a dot for each run, and lines through the medians."""
    groups = [*(group for series in sweep.series for _, group in series), *sweep.others]
    axis = value_axis(measure, [measure.value(member) for group in groups for member in group.members])

    def up(value: float) -> float:
        return FRAME.y(axis.share(value))

    def across(value: float) -> float:
        return FRAME.left + _EDGE + (FRAME.end - FRAME.left - 2 * _EDGE) * sweep.share(value)

    step = _DODGE if len(sweep.series) <= _MOST_DODGED else 0.0
    lines, drawn = [], []
    for number, series in enumerate(sweep.series):
        dodge = step * (number - (len(sweep.series) - 1) / 2)
        medians = [(across(at) + dodge, group.median(measure)) for at, group in series]
        known = [(x, up(value)) for x, value in medians if math.isfinite(value)]
        lines.append(polyline(known, class_=f"thick {series[0][1].color}"))
        drawn += [
            model_dot(member, across(at) + dodge, up(value), 3.5, family=group.color)
            for at, group in series
            for member in group.members
            if math.isfinite(value := measure.value(member))
        ]
    levels = _levels(sweep.others, measure, up)
    frame = FRAME.y_axis(axis) + FRAME.x_axis(_numbers(sweep, across)) + FRAME.titles(sweep.field, measure.title)
    svg = FRAME.svg(frame, *levels, *lines, *drawn, label=f"{measure.label} against {sweep.field}")
    return SweepPlot(sweep.field, svg, bool(levels))


def _levels(others: Sequence[Group], measure: Measure, up: Callable[[float], float]) -> list[Markup]:
    """Draws a horizontal line at the median of each family with a single setting. Draws none for more than 4."""
    families = [group.family for group in others]
    single = [group for group in others if families.count(group.family) == 1]
    known = [(group, up(value)) for group in single if math.isfinite(value := group.median(measure))]
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
    """Returns the tick labels of the values of a sweep, without labels that would overlap."""
    found: list[tuple[float, str]] = []
    for value in sweep.values:
        place = across(value)
        if not found or place - found[-1][0] >= _LEAST_SPACE:
            found.append((place, tick_text(value)))
    return found


@final
@dataclass(frozen=True, eq=False)
class RateDistortionPlot:
    """The SVG plot of distortion against rate.

    `has_lines` is true if lines connect the settings of sweeps. `color_ends` has the values of the measure with the
    faintest and the strongest color.
    """

    svg: Markup
    has_lines: bool
    color_ends: tuple[float, float]


def rate_distortion_plot(
    groups: Sequence[Group], sweeps: Sequence[Sweep], measure: Measure
) -> RateDistortionPlot | None:
    """Draws distortion against rate for each model, colored by the measure. Returns None for fewer than 3 models."""
    found = [
        (group, member)
        for group in groups
        for member in group.members
        if math.isfinite(member.rate) and math.isfinite(member.distortion)
    ]
    if len(found) < 3:
        return None
    x_axis = Axis.over([member.rate for _, member in found])
    y_axis = Axis.over([member.distortion for _, member in found])

    def place(rate: float, distortion: float) -> Point:
        return FRAME.x(x_axis.share(rate)), FRAME.y(y_axis.share(distortion))

    # Contours of equal ELBO, clipped at the edges of the plot.
    (left, right), (low, high) = (x_axis.ticks[0], x_axis.ticks[-1]), (y_axis.ticks[0], y_axis.ticks[-1])
    levels = []
    for total in np.linspace(left + low, right + high, _NUM_LEVELS + 2)[1:-1].tolist():
        first, last = max(left, total - high), min(right, total - low)
        levels.append(line(*place(first, total - first), *place(last, total - last), class_="iso"))
    lines: list[Markup] = []
    medians: list[tuple[Point, str, str]] = []
    for series in (series for sweep in sweeps for series in sweep.series):
        points = [(at, group, (group.median(_RATE), group.median(_DISTORTION))) for at, group in series]
        known = [(place(*m), tick_text(at), group.color) for at, group, m in points if all(map(math.isfinite, m))]
        lines += [polyline([point for point, *_ in known], class_=f"thick {series[0][1].color}")] if known else []
        medians += known
    values = [measure.value(member) for _, member in found]
    svg = FRAME.svg(
        FRAME.y_axis(y_axis),
        FRAME.x_axis([(FRAME.x(x_axis.share(tick)), tick_text(tick)) for tick in x_axis.ticks]),
        FRAME.titles("rate, nats per image", "distortion, nats per image"),
        *levels,
        *lines,
        *(
            model_dot(member, *place(member.rate, member.distortion), 4, family=group.color, share=share)
            for (group, member), share in zip(found, measure.shares(values), strict=True)
        ),
        *_labels(medians[:_MOST_MEDIANS]),
        label=f"Distortion against rate of every model, colored by {measure.label}",
    )
    return RateDistortionPlot(svg, bool(lines), measure.color_ends(values))


def _labels(medians: Sequence[tuple[Point, str, str]]) -> list[Markup]:
    """Draws labels beside points, and omits labels that would overlap."""
    drawn: list[Markup] = []
    kept: list[Point] = []
    for (x, y), label, family in medians:
        x, y = x + 6, y - 6
        if all(abs(x - a) >= _LETTER * (len(label) + 0.5) or abs(y - b) >= _LINE for a, b in kept):
            kept.append((x, y))
            drawn.append(text(label, x, y, class_=f"end {family}"))
    return drawn
