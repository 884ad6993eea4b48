"""The plane of rate and distortion: what the code costs, against what the reconstruction misses."""

import math
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import final

import numpy as np

from unbraid.pages.axis import Axis, tick_text
from unbraid.report.groups import Group
from unbraid.report.measures import Measure
from unbraid.report.sweep_plot import BOTTOM, HEIGHT, LEFT, RIGHT, TOP, WIDTH, PlotDot, PlotLine
from unbraid.report.sweeps import Sweep

_LETTER, _LINE = 6.6, 12.0  # pixels that a letter takes across, and a line down
_MOST_MEDIANS = 40
_NUM_LEVELS = 6


@final
@dataclass(frozen=True, eq=False)
class Plane:
    """Shows every member that has a rate and a distortion. `lines` go through the medians of a sweep in its order, and
    `labels` are their values; on each of the `levels`, from end to end, the ELBO is the same.
    """

    dots: tuple[PlotDot, ...]
    lines: tuple[PlotLine, ...]
    labels: tuple[tuple[float, float, str, str], ...]
    levels: tuple[tuple[float, float, float, float], ...]
    x_ticks: tuple[tuple[float, str], ...]
    y_ticks: tuple[tuple[float, str], ...]
    coloured: tuple[float, float]
    """The values of the measure that are the faintest and the strongest."""


def plane(groups: Sequence[Group], sweeps: Sequence[Sweep], measure: Measure) -> Plane | None:
    """Returns the plane, its dots coloured by the measure; nothing where fewer than three members have both."""
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

    def place(rate: float, distortion: float) -> tuple[float, float]:
        x = LEFT + (WIDTH - LEFT - RIGHT) * x_axis.share(rate)
        return round(x, 1), round(HEIGHT - BOTTOM - (HEIGHT - BOTTOM - TOP) * y_axis.share(distortion), 1)

    values = [measure.value(member) for _, member in found]
    medians = [
        (series, at, group, place(*_median(group)))
        for sweep in sweeps
        for series in sweep.series
        for at, group in series.points
        if all(map(math.isfinite, _median(group)))
    ]
    lines = {id(series): series for series, *_ in medians}
    return Plane(
        dots=tuple(
            PlotDot(*place(m.rate, m.distortion), m, group.colour, share)
            for (group, m), share in zip(found, measure.shares(values), strict=True)
        ),
        lines=tuple(
            PlotLine(
                " ".join(f"{x},{y}" for other, _, _, (x, y) in medians if other is series), series.colour, series.label
            )
            for series in lines.values()
        ),
        labels=_labels([(*xy, tick_text(at), group.colour) for _, at, group, xy in medians[:_MOST_MEDIANS]]),
        levels=_levels(x_axis, y_axis, place),
        x_ticks=tuple((place(tick, y_axis.ticks[0])[0], tick_text(tick)) for tick in x_axis.ticks),
        y_ticks=tuple((place(x_axis.ticks[0], tick)[1], tick_text(tick)) for tick in y_axis.ticks),
        coloured=measure.colour_ends(values),
    )


def _median(group: Group) -> tuple[float, float]:
    rates = [member.rate for member in group.members if math.isfinite(member.rate)]
    distortions = [member.distortion for member in group.members if math.isfinite(member.distortion)]
    return statistics.median(rates or [math.nan]), statistics.median(distortions or [math.nan])


def _levels(
    x_axis: Axis, y_axis: Axis, place: Callable[[float, float], tuple[float, float]]
) -> tuple[tuple[float, float, float, float], ...]:
    """Returns lines of one ELBO, cut at the edges of the plane."""
    (left, right), (low, high) = (x_axis.ticks[0], x_axis.ticks[-1]), (y_axis.ticks[0], y_axis.ticks[-1])
    lines = []
    for total in np.linspace(left + low, right + high, _NUM_LEVELS + 2)[1:-1].tolist():
        rates = max(left, total - high), min(right, total - low)
        lines.append((*place(rates[0], total - rates[0]), *place(rates[1], total - rates[1])))
    return tuple(lines)


def _labels(points: Sequence[tuple[float, float, str, str]]) -> tuple[tuple[float, float, str, str], ...]:
    """Returns the texts beside their points, without those that would lie on others."""
    kept: list[tuple[float, float, str, str]] = []
    for x, y, text, colour in points:
        label = (round(x + 6, 1), round(y - 6, 1), text, colour)
        if all(abs(label[0] - a) >= _LETTER * (len(text) + 0.5) or abs(label[1] - b) >= _LINE for a, b, *_ in kept):
            kept.append(label)
    return tuple(kept)
