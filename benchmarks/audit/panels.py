"""The figure behind each cell: where its values lie, as geometry that a page draws."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import final

from benchmarks.audit.design import MIDDLE, NOTHING, PERFECT
from benchmarks.audit.experiments import EXPERIMENTS, Experiment
from benchmarks.audit.findings import Audit, AuditedMetric
from benchmarks.audit.table import HEADS
from unbraid.show.pages.svg import Axis, tick_text

WIDTH, HEIGHT = 260, 134
_LEFT, _RIGHT, _TOP, _BOTTOM = 44, 10, 10, 18


@final
@dataclass(frozen=True)
class Panel:
    """A small figure: values over places from left to right. `lines` are polylines, `dots` single values, `references`
    the values of perfect codes and of noise; the `legend` stands below it.
    """

    column: str
    title: str
    axis: str
    ticks: tuple[tuple[float, str], ...]
    places: tuple[tuple[float, str], ...]
    dots: tuple[tuple[float, float, str], ...]
    lines: tuple[str, ...]
    references: tuple[tuple[float, str], ...] = ()
    legend: tuple[str, ...] = ()


def panels_of(audit: Audit, one: AuditedMetric) -> Iterator[Panel]:
    """Returns the figures of a metric, one for each column of its row but the agreement, which has a table for all."""
    references = {"perfect": audit.mean(one, PERFECT), "noise": audit.mean(one, NOTHING)}
    middle = audit.values(one, MIDDLE)
    settings = {name: [value] for name, value in audit.settings(one).items()}
    shown = {
        "range": ("codes", {"noise": audit.values(one, NOTHING), "perfect": audit.values(one, PERFECT)}),
        "redrawn": ("codes of middling quality", {"drawn again": middle}),
        "own seed": ("codes of middling quality", {"seeds of its own": audit.own_seeds(one)}),
        **{
            name: (each.axis, {label: audit.values(one, design) for label, design in each.levels.items()})
            for name, each in EXPERIMENTS.items()
        },
        "settings": ("settings, as numbered below", {"as audited": middle[:1], **settings} if settings else {}),
    }
    for column, (axis, values) in shown.items():
        if known := {label: each for label, each in values.items() if each}:
            is_level, is_setting = column in EXPERIMENTS, column == "settings"
            ends = _ends(audit, one, EXPERIMENTS[column]) if is_level else references
            yield _panel(column, axis, known, ends, joined=is_level, numbered=is_setting)
    if training := audit.training(one):
        yield _training(training, references)


def _ends(audit: Audit, one: AuditedMetric, experiment: Experiment) -> dict[str, float]:
    """Returns the values between which shares of an experiment lie."""
    return {"perfect": audit.mean(one, experiment.first), "noise": audit.mean(one, experiment.nothing)}


def _panel(
    column: str,
    axis: str,
    values: Mapping[str, Sequence[float]],
    references: Mapping[str, float],
    *,
    joined: bool = False,
    numbered: bool = False,
) -> Panel:
    shown = [value for each in values.values() for value in each]
    scale = Axis.over([*shown, *(value for value in references.values() if math.isfinite(value))], steps=3)
    step = (WIDTH - _LEFT - _RIGHT) / len(values)
    at = {label: _LEFT + step * (place + 0.5) for place, label in enumerate(values)}
    dots = tuple(
        (at[label], _y(scale, value), f"{label}: {value:.4g}") for label, each in values.items() for value in each
    )
    means = [(at[label], _y(scale, sum(each) / len(each))) for label, each in values.items()]
    names = [str(place) if numbered else label for place, label in enumerate(values)]
    return Panel(
        column,
        HEADS[column],
        axis,
        tuple((_y(scale, tick), tick_text(tick)) for tick in scale.ticks),
        tuple((at[label], name) for label, name in zip(values, names, strict=True)),
        dots,
        (_path(means),) if joined else (),
        tuple((_y(scale, value), name) for name, value in references.items() if math.isfinite(value)),
        tuple(f"{place}: {label} ({each[0]:.3g})" for place, (label, each) in enumerate(values.items()))
        if numbered
        else (),
    )


def _training(training: Mapping[str, Mapping[int, float]], references: Mapping[str, float]) -> Panel:
    steps = sorted({step for values in training.values() for step in values})
    shown = [value for values in training.values() for value in values.values()]
    scale = Axis.over([*shown, *(value for value in references.values() if math.isfinite(value))], steps=3)
    room = (WIDTH - _LEFT - _RIGHT) / len(steps)
    at = {step: _LEFT + room * (place + 0.5) for place, step in enumerate(steps)}
    return Panel(
        "training",
        HEADS["training"],
        "step of the snapshot",
        tuple((_y(scale, tick), tick_text(tick)) for tick in scale.ticks),
        tuple((x, tick_text(step)) for step, x in at.items()),
        tuple(
            (at[step], _y(scale, value), f"{run}, step {step}: {value:.4g}")
            for run, values in training.items()
            for step, value in values.items()
        ),
        tuple(_path([(at[step], _y(scale, value)) for step, value in values.items()]) for values in training.values()),
        tuple((_y(scale, value), name) for name, value in references.items() if math.isfinite(value)),
    )


def _y(scale: Axis, value: float) -> float:
    return round(HEIGHT - _BOTTOM - (HEIGHT - _TOP - _BOTTOM) * scale.share(value), 1)


def _path(points: Sequence[tuple[float, float]]) -> str:
    return " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
