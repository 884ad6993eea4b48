"""Every member a dot, one strip a setting.

Across, places are percent of the width, so that the plot fits a phone and a wall without its text being scaled; down,
they are pixels.
"""

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import final

from unbraid.pages.axis import Axis, tick_text
from unbraid.report.measures import Measure
from unbraid.report.members import ReportedRun
from unbraid.report.shown import Role

DIAMETER = 12.0
# Dots that would touch on a screen of this width are moved apart; on a wider one they have more room.
_NARROWEST = 300.0
# The first and the last tick stand this far from the edges, in percent, so that the dots on them are whole.
_EDGE = 3.0
# Many dots at one place are stacked no higher than this, however they overlap.
_MOST_HEIGHT = 42.0
_LEAST_REACH = 0.05
_LETTER = 6.6  # pixels that a letter of a label takes across, at most


@final
@dataclass(frozen=True, eq=False)
class Dot:
    """A member that is drawn: where it stands (percent across, pixels below the middle), and what it is shown as."""

    x: float
    y: float
    member: ReportedRun
    value: float
    role: Role | None


@final
@dataclass(frozen=True)
class RoleLabel:
    """What the dots above it are shown as: "worst", or "middle, worst" where two labels would touch."""

    x: float
    text: str

    @property
    def anchor(self) -> str:
        """Returns which end of the text stands at its place, so that it does not leave the plot."""
        return "start" if self.x < 20 else "end" if self.x > 80 else "middle"

    @property
    def reach(self) -> tuple[float, float]:
        """Returns the ends of the text in percent of the narrowest plot."""
        width = 100 * _LETTER * (len(self.text) + 1) / _NARROWEST
        left = self.x - {"start": 0.0, "middle": 0.5, "end": 1.0}[self.anchor] * width
        return left, left + width


@final
@dataclass(frozen=True, eq=False)
class Strip:
    """Holds the members of one spec that have a value. `half_height` is the room that the dots need above and below the
    middle, in pixels.
    """

    dots: tuple[Dot, ...]
    labels: tuple[RoleLabel, ...]
    median: float
    median_x: float
    half_height: float


@final
@dataclass(frozen=True, eq=False)
class StripPlot:
    """Holds a strip for each group, over one axis, and what is to be known of the end of that axis."""

    strips: tuple[Strip, ...]
    ticks: tuple[tuple[float, str], ...]
    note: str


def strip_plot(
    groups: Sequence[Sequence[ReportedRun]], measure: Measure, shown: Mapping[Role, ReportedRun]
) -> StripPlot:
    """Returns the plot. A measure is drawn from where it begins, if it begins at 0; an ELBO has no such point."""
    values = [[measure.value(member) for member in group] for group in groups]
    axis = value_axis(measure, [value for row in values for value in row])
    return StripPlot(
        strips=tuple(_strip(group, row, axis, shown) for group, row in zip(groups, values, strict=True)),
        ticks=tuple((round(_across(axis, tick), 2), tick_text(tick)) for tick in axis.ticks),
        note=measure.beyond(axis.ticks[0], axis.ticks[-1]),
    )


def value_axis(measure: Measure, values: Sequence[float]) -> Axis:
    """Returns the axis of a measure over all values that are finite. Where a measure has a top, differences of noise do
    not fill the axis: it reaches a twentieth of it in any case.
    """
    finite = [value for value in values if math.isfinite(value)]
    if measure.ends[0] != 0:
        return Axis.over(finite or [0.0])
    least = _LEAST_REACH * measure.ends[1] if math.isfinite(measure.ends[1]) else 0.0
    return Axis.over([0.0, least, *finite])


def swarm(places: Sequence[float], diameter: float) -> list[float]:
    """Returns how far each dot must leave the line so that none overlap: the nearest free place, above before below."""
    offsets: dict[int, float] = {}
    for index in sorted(range(len(places)), key=lambda i: places[i]):
        near = [
            (places[other] - places[index], y)
            for other, y in offsets.items()
            if abs(places[other] - places[index]) < diameter
        ]
        candidates = [0.0, *(y + sign * math.sqrt(diameter**2 - dx**2) for dx, y in near for sign in (-1, 1))]
        free = [y for y in candidates if all(math.hypot(dx, y - other) >= diameter * (1 - 1e-9) for dx, other in near)]
        offsets[index] = min(free, key=lambda y: (abs(y), y))
    return [offsets[index] for index in range(len(places))]


def merged_labels(labels: Sequence[RoleLabel]) -> tuple[RoleLabel, ...]:
    """Returns the labels, those that would touch on the narrowest screen as one, in the middle between them."""
    found: list[RoleLabel] = []
    for label in sorted(labels, key=lambda label: label.x):
        found.append(label)
        while len(found) > 1 and found[-2].reach[1] > found[-1].reach[0]:
            one, other = found[-2:]
            found[-2:] = [RoleLabel(round((one.x + other.x) / 2, 2), f"{one.text}, {other.text}")]
    return tuple(found)


def _strip(
    group: Sequence[ReportedRun], values: Sequence[float], axis: Axis, shown: Mapping[Role, ReportedRun]
) -> Strip:
    roles = {id(member): role for role, member in shown.items()}
    known = [(member, value) for member, value in zip(group, values, strict=True) if math.isfinite(value)]
    places = [_across(axis, value) for _, value in known]
    heights = _at_most(swarm([place / 100 * _NARROWEST for place in places], DIAMETER))
    median = statistics.median(value for _, value in known) if known else math.nan
    dots = tuple(
        Dot(round(x, 2), round(y, 1), member, value, roles.get(id(member)))
        for (member, value), x, y in zip(known, places, heights, strict=True)
    )
    return Strip(
        dots=dots,
        labels=merged_labels([RoleLabel(dot.x, dot.role) for dot in dots if dot.role]),
        median=median,
        median_x=round(_across(axis, median), 2),
        half_height=round(max(map(abs, heights), default=0.0) + DIAMETER / 2, 1),
    )


def _at_most(heights: Sequence[float]) -> list[float]:
    """Returns heights that stay within the plot: all of them are lowered alike where one is too high."""
    factor = min(1.0, _MOST_HEIGHT / max([*map(abs, heights), 1.0]))
    return [factor * height for height in heights]


def _across(axis: Axis, value: float) -> float:
    return _EDGE + (100 - 2 * _EDGE) * axis.share(value)
