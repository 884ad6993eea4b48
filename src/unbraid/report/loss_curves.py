"""The parts of the loss over training: one small plot a part, one line a member."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

import numpy as np

from unbraid.pages.axis import Axis, tick_text
from unbraid.report.members import ReportedRun
from unbraid.runs.history import History, is_latent_column
from unbraid.runs.spec_words import in_words

# The plot in units of its own; on the page it is scaled by 0.9 to 1.2.
WIDTH, HEIGHT = 330.0, 190.0
LEFT, RIGHT, TOP, BOTTOM = 40.0, 42.0, 8.0, 26.0
_NUM_POINTS = 80
# Of more members than this only the medians are drawn; of many settings, with fewer points.
MAX_THIN = 24
_MOST_POINTS, _LEAST_POINTS = 40_000, 8
# The first steps from random weights dwarf all that follows: they may leave the plot.
_BEGINNING = 0.05
_LABEL_DISTANCE = 12.0

_IN_WORDS = {
    "loss": ("loss", "what was minimised, without the constants of its estimator; weights differ between objectives"),
    "held_out_elbo": ("ELBO of held-out images", "a bound on log p(x) of images that were not trained on"),
    "distortion": ("distortion", "−log p(x | z): what the reconstruction misses"),
    "rate": ("rate", "KL(q(z | x) ‖ p(z)): what the code costs"),
    "mutual_information": ("mutual information", "I(x; z): what the code says of the image"),
    "total_correlation": ("total correlation", "what the latents say of each other"),
    "dimension_wise_kl": ("dimension-wise KL", "how far each latent is from its prior"),
}


@final
@dataclass(frozen=True)
class Line:
    """A polyline that runs inside the plot, in the colour of its group."""

    points: str
    group: int
    is_median: bool


@final
@dataclass(frozen=True)
class EndLabel:
    """Shows the last value of a group's median. `end_y` is where the line ends that it belongs to."""

    y: float
    text: str
    group: int
    end_y: float = 0.0


@final
@dataclass(frozen=True)
class Panel:
    """Shows one part of the loss."""

    name: str
    meaning: str
    lines: tuple[Line, ...]
    labels: tuple[EndLabel, ...]
    x_ticks: tuple[tuple[float, str], ...]
    y_ticks: tuple[tuple[float, str], ...]


def loss_panels(groups: Sequence[Sequence[ReportedRun]]) -> list[Panel]:
    """Returns every part that any objective logs, in the order of the first, the loss itself last; and then one with a
    line for each latent, where it was logged what they say.
    """
    logged = dict.fromkeys(part for group in groups for member in group for part in member.history.columns[1:])
    latents = [name for name in logged if is_latent_column(name)]
    names = sorted((part for part in logged if part not in latents), key=lambda part: part == "loss")
    num_lines = sum(map(len, groups)) if sum(map(len, groups)) <= MAX_THIN else len(groups)
    count = max(_LEAST_POINTS, min(_NUM_POINTS, _MOST_POINTS // max(1, num_lines * len(names))))
    curves = {name: [[_thinned(m.history, name, count) for m in group] for group in groups] for name in names}
    known = {name: [[curve for curve in group if curve.size] for group in found] for name, found in curves.items()}
    last = max((m.history.column("step")[-1] for group in groups for m in group if m.history.rows), default=0.0)
    panels = [_panel(name, found, last) for name, found in known.items() if any(found)]
    # Latents come in any order, so that those of another seed cannot be compared: the first one is shown.
    told = [[_thinned(m.history, name, count) for m in group[:1] for name in latents] for group in groups]
    of_latents = [[curve for curve in group if curve.size] for group in told]
    return [*panels, _latent_panel(of_latents, last)] if any(of_latents) else panels


def spread_labels(places: Sequence[float], distance: float) -> list[float]:
    """Returns the same places, moved as little as keeps any two at least so far apart, in their order."""
    order = sorted(range(len(places)), key=lambda i: places[i])
    # Labels that would touch form a block around their mean; a block that reaches the next one joins it.
    blocks: list[list[int]] = []
    for index in order:
        blocks.append([index])
        while len(blocks) > 1 and _top(blocks[-1], places, distance) - _bottom(blocks[-2], places, distance) < distance:
            blocks[-2:] = [blocks[-2] + blocks[-1]]
    moved = list(places)
    for block in blocks:
        for place, index in enumerate(block):
            moved[index] = _top(block, places, distance) + distance * place
    return moved


def spread_within(places: Sequence[float], distance: float, low: float, high: float) -> list[float]:
    """Returns places so far apart that lie between two ends, as far as there is room: the last below the high end."""
    moved = spread_labels(places, distance)
    order = sorted(range(len(places)), key=lambda i: moved[i])
    for number, index in enumerate(order):
        moved[index] = max(moved[index], low + distance * number)
    for number, index in enumerate(reversed(order)):
        moved[index] = min(moved[index], high - distance * number)
    return moved


def _top(block: Sequence[int], places: Sequence[float], distance: float) -> float:
    return sum(places[i] for i in block) / len(block) - distance * (len(block) - 1) / 2


def _bottom(block: Sequence[int], places: Sequence[float], distance: float) -> float:
    return _top(block, places, distance) + distance * (len(block) - 1)


def _thinned(history: History, part: str, count: int) -> np.ndarray:
    """Returns steps and values (2, point): the means over equal stretches of training. There are no points where none
    is known.
    """
    if part not in history.columns:
        return np.empty((2, 0))
    table = np.array([history.column("step"), history.column(part)])
    table = table[:, ~np.isnan(table[1])]
    if table.size == 0:
        return table
    total, count = table.shape[1], min(count, table.shape[1])
    first = np.arange(count) * (total // count) + np.minimum(np.arange(count), total % count)
    return np.add.reduceat(table, first, axis=1) / np.diff([*first, total])


def _latent_panel(groups: Sequence[Sequence[np.ndarray]], last: float) -> Panel:
    x_axis = Axis.until(last or 1.0, steps=3)
    y_axis = Axis.over([value for group in groups for curve in group for value in curve[1].tolist()])
    return Panel(
        name="information of each latent",
        meaning="I(x; z_d), estimated from a batch: a line for each latent of the first seed of a setting",
        lines=tuple(
            Line(_points(curve, x_axis, y_axis), index, False) for index, group in enumerate(groups) for curve in group
        ),
        labels=(),
        x_ticks=tuple((_x(x_axis, tick), tick_text(tick)) for tick in x_axis.ticks),
        y_ticks=tuple((_y(y_axis, tick), tick_text(tick)) for tick in y_axis.ticks),
    )


def _panel(name: str, groups: Sequence[Sequence[np.ndarray]], last: float) -> Panel:
    curves = [curve for group in groups for curve in group]
    x_axis = Axis.until(last or 1.0, steps=3)
    y_axis = Axis.over([value for curve in curves for value in curve[1, int(_BEGINNING * curve.shape[1]) :].tolist()])
    title, meaning = _IN_WORDS.get(name, (in_words(name), ""))
    medians = {index: _median(group) for index, group in enumerate(groups) if group}
    thin = [
        Line(_points(curve, x_axis, y_axis), index, False)
        for index, group in enumerate(groups)
        for curve in group
        if len(group) > 1 and len(curves) <= MAX_THIN
    ]
    thick = [Line(_points(curve, x_axis, y_axis), index, True) for index, curve in medians.items()]
    return Panel(
        name=title,
        meaning=meaning,
        lines=(*thin, *thick),
        labels=_end_labels(medians, y_axis),
        x_ticks=tuple((_x(x_axis, tick), tick_text(tick)) for tick in x_axis.ticks),
        y_ticks=tuple((_y(y_axis, tick), tick_text(tick)) for tick in y_axis.ticks),
    )


def _median(group: Sequence[np.ndarray]) -> np.ndarray:
    """Returns the median of the members of a group, which share a spec, and so the steps at which they were logged; a
    part that was not logged at the same steps of all is that of those that share them with the first.
    """
    steps = group[0][0]
    alike = [curve[1] for curve in group if np.array_equal(curve[0], steps)]
    return np.stack([steps, np.median(alike, axis=0)])


def _end_labels(medians: dict[int, np.ndarray], y_axis: Axis) -> tuple[EndLabel, ...]:
    ends = {index: float(curve[1, -1]) for index, curve in medians.items()}
    lowest = HEIGHT - BOTTOM
    drawn = [min(max(_y(y_axis, end), TOP), lowest) for end in ends.values()]
    places = spread_within(drawn, _LABEL_DISTANCE, TOP, lowest)
    return tuple(
        EndLabel(round(place, 1), _short(end), index, round(end_y, 1))
        for (index, end), place, end_y in zip(ends.items(), places, drawn, strict=True)
    )


def _short(value: float) -> str:
    return f"{value:z.{2 if abs(value) < 10 else 1 if abs(value) < 100 else 0}f}".replace("-", "−")


def _points(curve: np.ndarray, x_axis: Axis, y_axis: Axis) -> str:
    return " ".join(f"{_x(x_axis, step) - LEFT:.1f},{_y(y_axis, value) - TOP:.1f}" for step, value in curve.T.tolist())


def _x(axis: Axis, value: float) -> float:
    return LEFT + (WIDTH - LEFT - RIGHT) * axis.share(value)


def _y(axis: Axis, value: float) -> float:
    return HEIGHT - BOTTOM - (HEIGHT - BOTTOM - TOP) * axis.share(value)
