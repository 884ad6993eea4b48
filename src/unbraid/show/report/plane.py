"""The plane of rate and distortion: the cost of the code against the error of the reconstruction."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

import numpy as np
from markupsafe import Markup

from unbraid.show.pages.svg import Axis, line, polyline, text, tick_text
from unbraid.show.report.groups import Group
from unbraid.show.report.measures import Measure
from unbraid.show.report.strip_plot import model_dot
from unbraid.show.report.sweeps import FRAME, Sweep

Point = tuple[float, float]

_LETTER, _LINE = 6.6, 12.0  # pixels that a letter takes across, and a line down
_MOST_MEDIANS = 40
_NUM_LEVELS = 6
_RATE, _DISTORTION = Measure("training-rate", None), Measure("training-distortion", higher_is_better=False)


@final
@dataclass(frozen=True, eq=False)
class RateDistortionPlot:
    """The drawn plane, and what its caption needs.

    `has_lines` is whether lines go through sweeps, `color_ends` are the values of the measure that are colored faintest
    and strongest.
    """

    svg: Markup
    has_lines: bool
    color_ends: tuple[float, float]


def rate_distortion_plot(
    groups: Sequence[Group], sweeps: Sequence[Sweep], measure: Measure
) -> RateDistortionPlot | None:
    """Draws every model that has a rate and a distortion, colored by the measure; None where fewer than three have."""
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

    # Along a level the ELBO is the same; it is cut at the edges of the plane.
    (left, right), (low, high) = (x_axis.ticks[0], x_axis.ticks[-1]), (y_axis.ticks[0], y_axis.ticks[-1])
    levels = []
    for total in np.linspace(left + low, right + high, _NUM_LEVELS + 2)[1:-1].tolist():
        first, last = max(left, total - high), min(right, total - low)
        levels.append(line(*place(first, total - first), *place(last, total - last), class_="iso"))
    lines: list[Markup] = []
    medians: list[tuple[Point, str, str]] = []
    for series in (series for sweep in sweeps for series in sweep.series):
        points = [(at, group, (group.median(_RATE), group.median(_DISTORTION))) for at, group in series.points]
        known = [(place(*m), tick_text(at), group.color) for at, group, m in points if all(map(math.isfinite, m))]
        lines += [polyline([point for point, *_ in known], class_=f"thick {series.color}")] if known else []
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
    """Draws texts beside their points, without those that would lie on others."""
    drawn: list[Markup] = []
    kept: list[Point] = []
    for (x, y), label, family in medians:
        x, y = x + 6, y - 6
        if all(abs(x - a) >= _LETTER * (len(label) + 0.5) or abs(y - b) >= _LINE for a, b in kept):
            kept.append((x, y))
            drawn.append(text(label, x, y, class_=f"end {family}"))
    return drawn
