"""The parts of the loss over training: one small plot for each part, one line for each model."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import final

import numpy as np
from jaxtyping import Float
from markupsafe import Markup

from unbraid.figures.point_labels import spread
from unbraid.show.pages.svg import Axis, Frame, element, polyline, text, tick_text
from unbraid.show.report.groups import Group
from unbraid.training.runs.history import History, is_latent_column
from unbraid.training.runs.spec_text import name_text

Curve = Float[np.ndarray, "2 _point"]
"""Steps, and values."""

FRAME = Frame(width=330, height=190, left=40, right=42, top=8, bottom=26)
NUM_POINTS = 80
# Of more models than this only the medians are drawn; of many settings, with fewer points.
MAX_THIN = 24
_MOST_POINTS, _LEAST_POINTS = 40_000, 8
# The first steps from random weights dwarf all that follows: they may leave the plot.
_BEGINNING = 0.05
_LABEL_DISTANCE = 12.0
_MOST_LABELS, _MOST_DESCRIBED = 7, 12  # settings with a number at the end of their line, and in the description

_MEANINGS = {
    "loss": ("loss", "the minimized sum, without the constants of its estimator; weights differ between objectives"),
    "held_out_elbo": ("ELBO of held-out images", "a bound on log p(x) of images that were not trained on"),
    "distortion": ("distortion", "−log p(x | z): the error of the reconstruction"),
    "rate": ("rate", "KL(q(z | x) ‖ p(z)): the cost of the code"),
    "mutual_information": ("mutual information", "I(x; z): how informative the code is about the image"),
    "total_correlation": ("total correlation", "how informative latents are about each other"),
    "dimension_wise_kl": ("dimension-wise KL", "how far each latent is from its prior"),
}
_OF_LATENTS = (
    "information of each latent",
    "I(x; z_d), estimated from a batch: a line for each latent of the first seed",
)


@final
@dataclass(frozen=True)
class LossPanel:
    """The drawn curves of one part of the loss."""

    name: str
    meaning: str
    svg: Markup


def loss_panels(groups: Sequence[Group]) -> list[LossPanel]:
    """Returns every logged part, the loss itself last, and then the information of each latent, where it was logged."""
    logged = dict.fromkeys(part for group in groups for m in group.members for part in m.history.columns[1:])
    latents = [name for name in logged if is_latent_column(name)]
    names = sorted((part for part in logged if part not in latents), key=lambda part: part == "loss")
    num_members = sum(len(group.members) for group in groups)
    num_lines = num_members if num_members <= MAX_THIN else len(groups)
    count = max(_LEAST_POINTS, min(NUM_POINTS, _MOST_POINTS // max(1, num_lines * len(names))))
    ends = [m.history["step"][-1] for group in groups for m in group.members if m.history.rows]
    last = max(ends, default=0.0) or 1.0
    found = {
        name: {g.index: _known([mean_curve(m.history, name, count) for m in g.members]) for g in groups}
        for name in names
    }
    panels = [_of_part(name, groups, curves, last) for name, curves in found.items() if any(curves.values())]
    # Latents come in any order, so those of different seeds cannot be compared: the first seed is shown.
    of_latents = {g.index: _known([mean_curve(g.members[0].history, n, count) for n in latents]) for g in groups}
    if any(of_latents.values()):
        lines = [(groups[index], curve, "thin") for index, curves in of_latents.items() for curve in curves]
        axis = Axis.over([value for _, curve, _ in lines for value in curve[1].tolist()])
        panels.append(LossPanel(*_OF_LATENTS, _plot(lines, [], axis, last, f"{_OF_LATENTS[0]} over training")))
    return panels


def mean_curve(history: History, part: str, count: int) -> Curve:
    """Returns the means of a part over equal stretches of training; no points where it was not logged."""
    if part not in history.columns:
        return np.empty((2, 0))
    table = np.array([history["step"], history[part]])
    table = table[:, ~np.isnan(table[1])]
    if table.size == 0:
        return table
    total, count = table.shape[1], min(count, table.shape[1])
    first = np.arange(count) * (total // count) + np.minimum(np.arange(count), total % count)
    return np.add.reduceat(table, first, axis=1) / np.diff([*first, total])


def _known(curves: Sequence[Curve]) -> list[Curve]:
    return [curve for curve in curves if curve.size]


def _of_part(name: str, groups: Sequence[Group], curves: Mapping[int, Sequence[Curve]], last: float) -> LossPanel:
    every = [curve for of_group in curves.values() for curve in of_group]
    axis = Axis.over([value for curve in every for value in curve[1, int(_BEGINNING * curve.shape[1]) :].tolist()])
    medians = {index: _median(of_group) for index, of_group in curves.items() if of_group}
    thin = [
        (groups[index], curve, "thin")
        for index, of_group in curves.items()
        for curve in of_group
        if len(of_group) > 1 and len(every) <= MAX_THIN
    ]
    thick = [(groups[index], curve, "thick") for index, curve in medians.items()]
    ends = {index: float(curve[1, -1]) for index, curve in medians.items()}
    described = ", ".join(f"{groups[index].label} {_short(end)}" for index, end in list(ends.items())[:_MOST_DESCRIBED])
    title, meaning = _MEANINGS.get(name, (name_text(name), ""))
    labels = (
        _end_labels({groups[index]: end for index, end in ends.items()}, axis) if len(groups) <= _MOST_LABELS else []
    )
    label = f"{title} over training, at the end: {described}"
    return LossPanel(title, meaning, _plot([*thin, *thick], labels, axis, last, label))


def _median(curves: Sequence[Curve]) -> Curve:
    """Returns the median of the members of a group.

    They share a spec and so the steps that were logged; members that were logged at other steps than the first are left
    out.
    """
    steps = curves[0][0]
    alike = [curve[1] for curve in curves if np.array_equal(curve[0], steps)]
    return np.stack([steps, np.median(alike, axis=0)])


def _plot(
    lines: Sequence[tuple[Group, Curve, str]], labels: Sequence[Markup], y_axis: Axis, last: float, label: str
) -> Markup:
    """Draws lines, each thin or thick, cut off at the edges of the plot."""
    x_axis = Axis.until(last, steps=3)
    ticks = [(FRAME.x(x_axis.share(tick)), tick_text(tick)) for tick in x_axis.ticks]
    ticks[-1] = (ticks[-1][0], f"{ticks[-1][1]} steps")
    drawn = [
        polyline(
            [(FRAME.x(x_axis.share(step)), FRAME.y(y_axis.share(value))) for step, value in curve.T.tolist()],
            class_=f"{kind} {group.color}",
            stroke_opacity=group.shade if kind == "thick" and group.shade < 1 else None,
        )
        for group, curve, kind in lines
    ]
    across, down = FRAME.end - FRAME.left, FRAME.base - FRAME.top
    box = {"x": FRAME.left, "y": FRAME.top, "width": across, "height": down}
    inside = element("svg", *drawn, **box, viewBox=f"{FRAME.left:g} {FRAME.top:g} {across:g} {down:g}")
    return FRAME.svg(FRAME.y_axis(y_axis), FRAME.x_axis(ticks, grid=False), inside, *labels, label=label)


def _end_labels(ends: Mapping[Group, float], axis: Axis) -> list[Markup]:
    """Draws the value at the end of each line, and a short line to it where it had to move."""
    drawn = [min(max(FRAME.y(axis.share(end)), FRAME.top), FRAME.base) for end in ends.values()]
    places = spread(drawn, _LABEL_DISTANCE, FRAME.top, FRAME.base)
    return [
        polyline([(FRAME.end, at), (FRAME.end + 6, place)], class_=f"leader {group.color}")
        + text(_short(end), FRAME.end + 8, place + 4, class_=f"end {group.color}")
        for (group, end), at, place in zip(ends.items(), drawn, places, strict=True)
    ]


def _short(value: float) -> str:
    return f"{value:z.{2 if abs(value) < 10 else 1 if abs(value) < 100 else 0}f}".replace("-", "−")
