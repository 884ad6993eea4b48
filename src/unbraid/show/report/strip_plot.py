"""Strip plots: a strip for each setting, with a dot for each model that links to its card.

Horizontal positions are in percent of the width, so that the plot fits any screen and the text is not scaled. Vertical
positions are in pixels.
"""

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

from markupsafe import Markup

from unbraid.show.pages.svg import Axis, element, line, swarm, text, tick_text
from unbraid.show.report.groups import Group
from unbraid.show.report.measures import Measure
from unbraid.show.report.members import ReportedRun

DIAMETER = 12.0
# The width in pixels for which overlapping dots are moved apart.
_NARROWEST = 300.0
# The distance of the first and the last tick from the edges in percent, so that dots at both ends are not clipped.
_EDGE = 3.0
# The maximum height of stacked dots. Dots overlap if there are too many.
_MOST_HEIGHT = 42.0
_LEAST_REACH = 0.05
_MOST_DESCRIBED = 20  # the number of models in the description for screen readers


def model_dot(
    member: ReportedRun,
    x: float | str,
    y: float,
    radius: float,
    *,
    family: str = "",
    share: float | None = None,
    title: str = "",
) -> Markup:
    """Draws a model as a dot. `family` is a CSS class, and `share` (0 to 1) the color strength of a measure, if given.

    Without `share`, dots of collapsed models are hollow. Models that are shown in full have a ring.
    """
    kinds = ["dot", family, "heated" if share is not None else "hollow" if member.badge else ""]
    dot = element(
        "circle",
        *([element("title", title)] if title else []),
        class_=" ".join(filter(None, kinds)),
        data_m=member.number,
        cx=x,
        cy=y,
        r=radius,
        style=None if share is None else f"--share:{share}",
    )
    return element("circle", class_="ring", cx=x, cy=y, r=radius + 3) + dot if member.role else dot


@final
@dataclass(frozen=True, eq=False)
class StripPlot:
    """The SVG strip of each group, and the SVG of their common x-axis."""

    strips: tuple[tuple[Group, Markup], ...]
    axis: Markup


def score_strips(groups: Sequence[Group], measure: Measure) -> StripPlot:
    """Draws a strip of models for each group. The axis begins at 0 if the lower bound of the measure is 0."""
    axis = value_axis(measure, [measure.value(member) for group in groups for member in group.members])
    return StripPlot(
        tuple((group, _strip(group, measure, axis)) for group in groups),
        element(
            "svg",
            *(text(tick_text(tick), f"{_across(axis, tick):.2f}%", 14, text_anchor="middle") for tick in axis.ticks),
            text(f"{measure.label}, {measure.direction}", "50%", 32, text_anchor="middle"),
            height=36,
            aria_hidden="true",
        ),
    )


def value_axis(measure: Measure, values: Sequence[float]) -> Axis:
    """Returns an axis that contains all finite values of a measure.

    For a measure with bounds [0, b], the axis begins at 0 and spans at least b / 20, so that noise is not magnified.
    """
    finite = [value for value in values if math.isfinite(value)]
    if measure.bounds[0] != 0:
        return Axis.over(finite or [0.0])
    least = _LEAST_REACH * measure.bounds[1] if math.isfinite(measure.bounds[1]) else 0.0
    return Axis.over([0.0, least, *finite])


def _strip(group: Group, measure: Measure, axis: Axis) -> Markup:
    known = [(m, measure.value(m)) for m in group.members if math.isfinite(measure.value(m))]
    places = [_across(axis, value) for _, value in known]
    heights = swarm([place / 100 * _NARROWEST for place in places], DIAMETER)
    lowered = min(1.0, _MOST_HEIGHT / max([*map(abs, heights), 1.0]))
    half = lowered * max(map(abs, heights), default=0.0) + DIAMETER / 2
    middle, height = half + 24, 2 * half + 30
    drawn = [
        *(line(f"{x:.2f}%", 0, f"{x:.2f}%", height, class_="grid") for x in (_across(axis, t) for t in axis.ticks)),
        line(0, middle, "100%", middle, class_="base"),
    ]
    if known:
        median = statistics.median(value for _, value in known)
        x = _across(axis, median)
        label = f"median {measure.text(median)}" + (f", {group.collapsed}" if group.collapsed else "")
        anchor = "start" if x < 40 else "end" if x > 60 else "middle"
        drawn += [
            line(f"{x:.2f}%", 18, f"{x:.2f}%", middle + half, class_="median"),
            text(label, f"{x:.2f}%", 13, class_="median-text", text_anchor=anchor),
        ]
    for (member, value), x, y in zip(known, places, heights, strict=True):
        role = f"{member.role}: " if member.role else ""
        title = f"{role}seed {member.run.seed}: {measure.label} {measure.text(value)}"
        drawn.append(model_dot(member, f"{x:.2f}%", middle + lowered * y, DIAMETER / 2 - 0.5, title=title))
    described = ", ".join(f"seed {m.run.seed} {measure.text(value)}" for m, value in known[:_MOST_DESCRIBED])
    label = f"{measure.label} of {group.label}: {described}"
    return element("svg", *drawn, height=height, role="img", aria_label=label)


def _across(axis: Axis, value: float) -> float:
    return _EDGE + (100 - 2 * _EDGE) * axis.share(value)
