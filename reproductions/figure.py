"""Figures of items, from scores alone."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from matplotlib.figure import Figure

from unbraid import figures
from unbraid.errors import UnbraidError
from unbraid.studies import StudyScores, run_table

_BETTER = {True: " ↑", False: " ↓", None: ""}
_MOST_PANELS = 3


def subplots(titles: Sequence[str], height: float = 2.6) -> list[Any]:
    """Returns axes beside each other in one figure, one for each title."""
    figure = Figure(figsize=(3.4 * len(titles), height), layout="constrained")
    axes = [figure.add_subplot(1, len(titles), place + 1) for place in range(len(titles))]
    for each, title in zip(axes, titles, strict=True):
        each.set_title(title, fontsize=8)
        each.tick_params(labelsize=7)
        each.spines[["top", "right"]].set_visible(False)
    return axes


def drawn(given: str | Mapping[str, Sequence[str]], central: Sequence[str], labels: Sequence[str], scores: StudyScores) -> Any:
    """Draws the figure of an item: a "strip", "box" or "violin" plot of these settings for each score that central claims
    are about, or, for `{ "a title" = ["rate", "distortion"] }`, a point for each run at two of its scores.
    """
    panels = {metric + _BETTER[scores.higher_is_better.get(metric)]: [metric] for metric in central} if isinstance(given, str) else given
    known = [(title, each) for title, each in panels.items() if _are_scored(scores, each)][:_MOST_PANELS]
    if not known:
        raise UnbraidError(f"No setting has the scores of {', '.join(panels)}.")
    axes = subplots([title for title, _ in known], 3.0 if len(known[0][1]) > 1 else max(1.6, 0.9 + 0.26 * len(labels)))
    for each, (_, metrics) in zip(axes, known, strict=True):
        table = run_table(scores, list(metrics))
        rows = type(table)(table.columns, tuple(row for label in labels for row in table.rows if row[0] == label))
        if isinstance(given, str):
            getattr(figures, f"{given}_plot")(rows, metrics[0], label=" ", axes=each)
        else:
            figures.scatter_plot(rows, *metrics, labels=(metrics[0], metrics[1]), axes=each)
    return axes[0]


def lines(scores: StudyScores, named: Mapping[str, tuple[str, Mapping[float, str]]], across: str, title: str, axes: Any) -> None:
    """Draws a line for each name: the scores of a setting, each over the number that its metric belongs to."""
    rows = [
        {"setting": name, "family": name, across: place, title: value}
        for name, (label, by_place) in named.items()
        for place, metric in by_place.items()
        for value in scores.values(label, metric).values()
    ]
    figures.mean_band(type(run_table(scores, [])).from_records(rows), across, title, axes=axes)


def swept(metrics: Mapping[str, str], first: str, families: Sequence[str]) -> Callable[[StudyScores], Any]:
    """Returns what draws scores over the number that a label ends with; `first` is where every family begins."""

    def draw(scores: StudyScores) -> Any:
        axes = subplots([""] * len(metrics))
        for each, (title, metric) in zip(axes, metrics.items(), strict=True):
            rows = []
            for row in run_table(scores, [metric]):
                family, _, number = row["setting"].rpartition(" ")
                for name in families if row["setting"] == first else [family]:
                    beta = 1.0 if row["setting"] == first else float(number)
                    rows.append({"setting": row["setting"], "family": name, "beta": beta, metric: row[metric]})
            figures.mean_band(type(run_table(scores, [])).from_records(rows), "beta", metric, label=title, axes=each)
        return axes[0]

    return draw


def _are_scored(scores: StudyScores, metrics: Sequence[str]) -> bool:
    try:
        return all(scores.with_any_score(metric) for metric in metrics)
    except UnbraidError:  # on other datasets
        return False
