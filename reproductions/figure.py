"""Figures of items, from scores alone: each function returns what draws them."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from unbraid import figures
from unbraid.errors import UnbraidError
from unbraid.studies import StudyScores, run_table

Draw = Callable[[StudyScores], Any]


def subplots(titles: Sequence[str], height: float = 2.6, width: float = 3.4) -> list[Any]:
    """Returns axes beside each other in one figure, one for each title."""
    figure = Figure(figsize=(width * len(titles), height), layout="constrained")
    axes = [figure.add_subplot(1, len(titles), place + 1) for place in range(len(titles))]
    for each, title in zip(axes, titles, strict=True):
        each.set_title(title, fontsize=8)
        each.tick_params(labelsize=7)
        each.spines[["top", "right"]].set_visible(False)
    return axes


def rows_of(scores: StudyScores, metrics: Sequence[str], labels: Sequence[str] = (), prefix: str = "") -> Any:
    """Returns the rows of these settings: those of `labels`, in this order, or those whose label begins so."""
    table = run_table(scores, list(metrics))
    chosen = [row for label in labels or scores.settings for row in table.rows if row[0] == label]
    return type(table)(table.columns, tuple(row for row in chosen if row[0].startswith(prefix)))


def per_metric(kind: str, metrics: Mapping[str, str], labels: Sequence[str] = (), height: float = 2.4, width: float = 3.4) -> Draw:
    """Returns what draws a panel for each title and its metric: "strip", "box", "violin" or "error_bars"."""

    def draw(scores: StudyScores) -> Any:
        known = {title: metric for title, metric in metrics.items() if _is_scored(scores, metric)}
        if not known:
            raise UnbraidError(f"No setting has a score of {', '.join(metrics.values())}.")
        axes = subplots([""] * len(known), height, width)
        for each, (title, metric) in zip(axes, known.items(), strict=True):
            function = getattr(figures, kind if kind == "error_bars" else f"{kind}_plot")
            function(rows_of(scores, [metric], labels), metric, label=title, axes=each)
        return axes[0]

    return draw


def per_objective(kind: str, metrics: Sequence[str], height: float = 2.4, **options: Any) -> Draw:
    """Returns what draws a panel for each objective: labels are "objective, encoder"."""

    def draw(scores: StudyScores) -> Any:
        names = list(dict.fromkeys(name.partition(",")[0] for name in scores.settings))
        axes = subplots(names, height)
        for each, name in zip(axes, names, strict=True):
            getattr(figures, f"{kind}_plot")(rows_of(scores, metrics, prefix=f"{name},"), *metrics, **options, axes=each)
        return axes[0]

    return draw


def points(pairs: Mapping[str, tuple[str, str]], *, diagonal: bool = False, height: float = 3.0) -> Draw:
    """Returns what draws a panel for each title, with a point for each run at two of its scores."""

    def draw(scores: StudyScores) -> Any:
        axes = subplots(list(pairs), height)
        for each, (x, y) in zip(axes, pairs.values(), strict=True):
            labels = (x.replace(":", ", "), y.replace(":", ", "))
            figures.scatter_plot(rows_of(scores, [x, y]), x, y, labels=labels, diagonal=diagonal, axes=each)
        return axes[0]

    return draw


def curves(metrics: Mapping[str, Mapping[float, str]], across: str) -> Draw:
    """Returns what draws a panel for each title: the median of a score, a line for each setting, over its number."""

    def draw(scores: StudyScores) -> Any:
        axes = subplots(list(metrics), 3.0)
        for each, (title, by_place) in zip(axes, metrics.items(), strict=True):
            lines(scores, {label: (label, by_place) for label in scores.settings}, across, title, each)
        return axes[0]

    return draw


def lines(scores: StudyScores, named: Mapping[str, tuple[str, Mapping[float, str]]], across: str, title: str, axes: Any) -> None:
    """Draws a line for each name: the scores of a setting, each over the number that its metric belongs to."""
    rows = [
        {"setting": name, "family": name, across: place, title: value}
        for name, (label, by_place) in named.items()
        for place, metric in by_place.items()
        for value in scores.values(label, metric).values()
    ]
    figures.mean_band(type(run_table(scores, [])).from_records(rows), across, title, axes=axes)


def swept(metrics: Mapping[str, str], first: str, families: Sequence[str]) -> Draw:
    """Returns what draws scores over the number that a label ends with; `first` is where every family begins."""

    def draw(scores: StudyScores) -> Any:
        axes = subplots([""] * len(metrics))
        for each, (title, metric) in zip(axes, metrics.items(), strict=True):
            table = swept_rows(scores, [metric], first, families)
            figures.mean_band(table, "beta", metric, label=title, axes=each)
        return axes[0]

    return draw


def swept_rows(scores: StudyScores, metrics: Sequence[str], first: str, families: Sequence[str]) -> Any:
    """Returns a row for each run with its family and its number; runs of `first` belong to every family."""
    rows = []
    for row in run_table(scores, list(metrics)):
        beginning = row["setting"] == first
        for family in families if beginning else [row["setting"].rpartition(" ")[0]]:
            beta = 1.0 if beginning else float(row["setting"].rpartition(" ")[2])
            rows.append({"setting": row["setting"], "family": family, "beta": beta, **{m: row[m] for m in metrics}})
    return type(run_table(scores, [])).from_records(rows)


def averages(x: str, y: str, labels: tuple[str, str], first: str, families: Sequence[str]) -> Draw:
    """Returns what draws the means of two scores, a point for each setting of a sweep."""

    def draw(scores: StudyScores) -> Any:
        means: dict[tuple[str, float], list[tuple[float, float]]] = {}
        table = swept_rows(scores, [x, y], first, families)
        for row in table:
            if row[x] is not None and row[y] is not None:
                means.setdefault((row["family"], row["beta"]), []).append((row[x], row[y]))
        found = [(family, family, beta, *np.mean(each, axis=0).tolist()) for (family, beta), each in means.items()]
        axes = figures.scatter_plot(type(table)(("setting", "family", "beta", *labels), tuple(found)), *labels, labels=labels)
        for _, _, beta, across, up in found:
            axes.annotate(f"{beta:g}", (across, up), (3, 3), textcoords="offset points", fontsize=7)
        return axes

    return draw


def medians(metrics: Mapping[str, str], labels: Sequence[str]) -> Draw:
    """Returns what draws the median of each score as a matrix, a row for each setting."""

    def draw(scores: StudyScores) -> Any:
        rows = [label for label in labels if label in scores.settings]
        found = [[scores.of_seeds(label, metric) for metric in metrics.values()] for label in rows]
        values = [[float(np.median(each)) if each else np.nan for each in row] for row in found]
        return figures.heat_map(values, rows, list(metrics), ends=(0.0, 1.0), label="median |correlation|")

    return draw


def _is_scored(scores: StudyScores, metric: str) -> bool:
    try:
        return bool(scores.with_any_score(metric))
    except UnbraidError:  # on other datasets
        return False
