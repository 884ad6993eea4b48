"""Plots of loss terms over training: a plot for each term, with a line for each model."""

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
"""The steps and the values of a curve."""

Line = tuple[Group, Curve, str]
"""A group, a curve, and the kind of the line: "thin" for one model, "thick" for the median of a group."""

FRAME = Frame(width=330, height=190, left=40, right=42, top=8, bottom=26)
NUM_POINTS = 80
MAX_THIN = 24  # for more models, only medians are drawn
_MOST_POINTS, _LEAST_POINTS = 40_000, 8  # of all lines together, and of one line
# The share of the first steps that is ignored for the range of the y-axis, because losses are very large at first.
_BEGINNING = 0.05
_LABEL_DISTANCE = 12.0
_MOST_LABELS, _MOST_DESCRIBED = 7, 12  # settings with a number at the end of the line, and in the description

_MEANINGS = {
    "loss": ("loss", "the minimized sum, without constants of the estimator; weights differ between objectives"),
    "held_out_elbo": (
        "ELBO of held-out images",
        "a lower bound on log p(x) of images that are not in the training set",
    ),
    "distortion": ("distortion", "−log p(x | z): the reconstruction error"),
    "rate": ("rate", "KL(q(z | x) ‖ p(z))"),
    "mutual_information": ("mutual information", "I(x; z) of image and code"),
    "total_correlation": ("total correlation", "the dependence between latents"),
    "dimension_wise_kl": ("dimension-wise KL", "the KL divergence of each latent from its prior"),
}
_OF_LATENTS = (
    "information of each latent",
    "I(x; z_d), estimated from a batch, with a line for each latent of the first seed",
)


@final
@dataclass(frozen=True)
class LossPanel:
    """The plot of one loss term, with its title and explanation."""

    name: str
    meaning: str
    svg: Markup


def loss_panels(groups: Sequence[Group]) -> list[LossPanel]:
    """Returns panels in this order: each logged term, the total loss, and the information of latents (if logged)."""
    logged = dict.fromkeys(part for group in groups for m in group.members for part in m.history.columns[1:])
    latents = [name for name in logged if is_latent_column(name)]
    names = sorted((part for part in logged if part not in latents), key=lambda part: part == "loss")
    num_members = sum(len(group.members) for group in groups)
    num_lines = num_members if num_members <= MAX_THIN else len(groups)
    count = max(_LEAST_POINTS, min(NUM_POINTS, _MOST_POINTS // max(1, num_lines * len(names))))
    ends = [m.history["step"][-1] for group in groups for m in group.members if m.history.rows]
    x_axis = Axis.until(max(ends, default=0.0) or 1.0, steps=3)
    panels = []
    for name in names:
        curves = [(group, mean_curve(member.history, name, count)) for group in groups for member in group.members]
        if known := [(group, curve) for group, curve in curves if curve.size]:
            panels.append(_of_part(name, known, x_axis, len(groups)))
    # The order of latents differs between seeds, so only the first seed is shown.
    every = [(group, mean_curve(group.members[0].history, name, count), "thin") for group in groups for name in latents]
    if lines := [line for line in every if line[1].size]:
        y_axis = Axis.over([value for _, curve, _ in lines for value in curve[1].tolist()])
        panels.append(LossPanel(*_OF_LATENTS, _plot(lines, [], x_axis, y_axis, f"{_OF_LATENTS[0]} over training")))
    return panels


def mean_curve(history: History, part: str, count: int) -> Curve:
    """Returns the means of a loss term over `count` intervals of logged steps; empty if the term was never logged."""
    if part not in history.columns:
        return np.empty((2, 0))
    table = np.array([history["step"], history[part]])
    stretches = np.array_split(table[:, ~np.isnan(table[1])], count, axis=1)
    means = [each.mean(axis=1) for each in stretches if each.size]
    return np.stack(means, axis=1) if means else np.empty((2, 0))


def _of_part(name: str, curves: Sequence[tuple[Group, Curve]], x_axis: Axis, num_groups: int) -> LossPanel:
    y_axis = Axis.over([value for _, each in curves for value in each[1, int(_BEGINNING * each.shape[1]) :].tolist()])
    by_group: dict[Group, list[Curve]] = {}
    for group, curve in curves:
        by_group.setdefault(group, []).append(curve)
    medians = {group: _median(of_group) for group, of_group in by_group.items()}
    thin = [(group, curve, "thin") for group, curve in curves if len(by_group[group]) > 1 and len(curves) <= MAX_THIN]
    thick = [(group, curve, "thick") for group, curve in medians.items()]
    ends = {group: float(curve[1, -1]) for group, curve in medians.items()}
    labels = _end_labels(ends, y_axis) if num_groups <= _MOST_LABELS else []
    title, meaning = _MEANINGS.get(name, (name_text(name), ""))
    described = ", ".join(f"{group.label} {_short(end)}" for group, end in list(ends.items())[:_MOST_DESCRIBED])
    label = f"{title} over training, at the end: {described}"
    return LossPanel(title, meaning, _plot([*thin, *thick], labels, x_axis, y_axis, label))


def _median(curves: Sequence[Curve]) -> Curve:
    """Returns the median curve of the runs of a group.

    Runs that were logged at other steps than the first run are left out.
    """
    steps = curves[0][0]
    return np.stack([steps, np.median([curve[1] for curve in curves if np.array_equal(curve[0], steps)], axis=0)])


def _plot(lines: Sequence[Line], labels: Sequence[Markup], x_axis: Axis, y_axis: Axis, label: str) -> Markup:
    """Draws a plot of lines, clipped at the edges, with labels and both axes."""
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
    """Draws the last value of each line at its end. Labels are moved apart, with lines to the ends of the curves."""
    drawn = [min(max(FRAME.y(axis.share(end)), FRAME.top), FRAME.base) for end in ends.values()]
    places = spread(drawn, _LABEL_DISTANCE, FRAME.top, FRAME.base)
    return [
        polyline([(FRAME.end, at), (FRAME.end + 6, place)], class_=f"leader {group.color}")
        + text(_short(end), FRAME.end + 8, place + 4, class_=f"end {group.color}")
        for (group, end), at, place in zip(ends.items(), drawn, places, strict=True)
    ]


def _short(value: float) -> str:
    return f"{value:z.{2 if abs(value) < 10 else 1 if abs(value) < 100 else 0}f}".replace("-", "−")
