"""Every member a dot, one strip an objective.

Across, places are percent of the width, so that the plot fits a phone and a wall without its text being scaled; down,
they are pixels.
"""

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

from unbraid.pages.axis import Axis, tick_text
from unbraid.report.members import Ranking, ReportedRun, Role

DIAMETER = 12.0
# Dots that would touch on a screen of this width are moved apart; on a wider one they have more room.
_NARROWEST = 300.0
# The first and the last tick stand this far from the edges, in percent, so that the dots on them are whole.
_EDGE = 3.0


@final
@dataclass(frozen=True)
class Dot:
    """A member that is drawn: where it stands (percent across, pixels below the middle), and what is said of it."""

    x: float
    y: float
    seed: int
    value: float
    role: Role | None


@final
@dataclass(frozen=True)
class Strip:
    """Holds the members of one spec that have a value. `half_height` is the room that the dots need above and below the
    middle, in pixels.
    """

    dots: tuple[Dot, ...]
    median: float
    median_x: float
    half_height: float


@final
@dataclass(frozen=True)
class StripPlot:
    """Holds a strip for each group, over one axis."""

    strips: tuple[Strip, ...]
    ticks: tuple[tuple[float, str], ...]


def strip_plot(groups: Sequence[Sequence[ReportedRun]], ranking: Ranking, shown: dict[Role, ReportedRun]) -> StripPlot:
    """Returns the plot. MIG is drawn from 0, where it begins; an ELBO has no such point."""
    values = [[ranking.value(member) for member in group] for group in groups]
    finite = [value for row in values for value in row if math.isfinite(value)]
    axis = Axis.over([0.0, *finite] if ranking.name == "MIG" else finite or [0.0])
    return StripPlot(
        strips=tuple(_strip(group, row, axis, shown) for group, row in zip(groups, values, strict=True)),
        ticks=tuple((round(_across(axis, tick), 2), tick_text(tick)) for tick in axis.ticks),
    )


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


def _strip(group: Sequence[ReportedRun], values: Sequence[float], axis: Axis, shown: dict[Role, ReportedRun]) -> Strip:
    roles = {id(member): role for role, member in shown.items()}
    known = [(member, value) for member, value in zip(group, values, strict=True) if math.isfinite(value)]
    places = [_across(axis, value) for _, value in known]
    heights = swarm([place / 100 * _NARROWEST for place in places], DIAMETER)
    median = statistics.median(value for _, value in known) if known else math.nan
    return Strip(
        dots=tuple(
            Dot(round(x, 2), round(y, 1), member.run.seed, value, roles.get(id(member)))
            for (member, value), x, y in zip(known, places, heights, strict=True)
        ),
        median=median,
        median_x=round(_across(axis, median), 2),
        half_height=round(max(map(abs, heights), default=0.0) + DIAMETER / 2, 1),
    )


def _across(axis: Axis, value: float) -> float:
    return _EDGE + (100 - 2 * _EDGE) * axis.share(value)
