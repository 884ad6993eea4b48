"""Figures of the scores of a study."""

from collections.abc import Callable, Sequence
from typing import Any

from unbraid import figures
from unbraid._internal.table import Table
from unbraid.errors import UnbraidError
from unbraid.show.report.measures import named_measure
from unbraid.studies.study_scores import StudyScores

_STRENGTH = "strength"


def run_table(scores: StudyScores, metrics: Sequence[str] | None = None) -> Table:
    """Returns a table for `unbraid.figures`, with a row for each finished run and a column for each metric.

    The column "strength" has the value of the numeric field that varies within a family, such as beta. Missing values
    are None.
    """
    if metrics is not None:
        scores.check(metrics=metrics)
    names = tuple(scores.metrics if metrics is None else dict.fromkeys(metrics))
    values = {(label, name): scores.values(label, name) for label in scores.settings for name in names}
    rows = (
        (
            *(label, scores.families[label], scores.swept.get(label), run.seed, run.run),
            *(values[label, name].get(run.seed) for name in names),
        )
        for label in scores.settings
        for run in scores.runs_of(label)
        if run.state == "finished"
    )
    return Table(("setting", "family", _STRENGTH, "seed", "run", *names), tuple(rows))


_OF_ONE: dict[str, Callable[..., Any]] = {
    "box": figures.box_plot,
    "violin": figures.violin_plot,
    "strip": figures.strip_plot,
    "sorted-bars": figures.sorted_bars,
    "bars": figures.error_bars,
    "line": figures.mean_band,
}
_OF_MANY: dict[str, Callable[..., Any]] = {
    "parallel": figures.parallel_coordinates,
    "correlation": figures.metric_correlation,
}
KINDS = (*_OF_ONE, "scatter", "rate-distortion", *_OF_MANY)


def draw(scores: StudyScores, kind: str, metrics: Sequence[str] = ()) -> Any:
    """Draws a figure and returns its axes. `kind` is an entry of `KINDS`. Raises UnbraidError if scores are missing."""
    if kind not in KINDS:
        raise UnbraidError(f"Unknown kind of figure {kind!r}. Choose one of {', '.join(KINDS)}.")
    scores.check(metrics=metrics)
    if not scores.numbers:
        raise UnbraidError("Expected at least one scored run, got none. Run the study first: unbraid study run.")
    if kind in _OF_ONE:
        return _draw_one(scores, kind, *_expected(metrics, 1, "one metric, such as --metric mig"))
    if kind == "scatter":
        first, second = _expected(metrics, 2, "two metrics, such as --metric mig,sap")
        labels = (_titled(scores, first), _titled(scores, second))
        return figures.scatter_plot(run_table(scores, metrics), first, second, labels=labels)
    if kind == "rate-distortion":
        if missing := [name for name in ("rate", "distortion") if name not in scores.higher_is_better]:
            raise UnbraidError(
                f"A rate-distortion figure requires the metric {missing[0]!r}; the study has "
                f"{', '.join(scores.metrics)}. Add {missing[0]!r} to the metrics and run the study again."
            )
        return figures.rate_distortion_plane(run_table(scores, ["rate", "distortion"]))
    named = list(metrics) or [name for name in scores.metrics if scores.with_any_score(name)]
    lower = {name for name in named if scores.higher_is_better[name] is False}
    return _OF_MANY[kind](run_table(scores, named), named, lower_is_better=lower)


def _draw_one(scores: StudyScores, kind: str, metric: str) -> Any:
    table, label = run_table(scores, [metric]), _titled(scores, metric)
    if kind == "bars":
        return figures.error_bars(table, metric, label=label, bounds=named_measure(metric).bounds)
    if kind != "line":
        return _OF_ONE[kind](table, metric, label=label)
    strengths = [value for value in table[_STRENGTH] if value is not None]
    if len(set(strengths)) < 2:
        raise UnbraidError(
            "A line figure requires settings of one family that differ in a number, such as beta; the settings are "
            f"{', '.join(scores.settings[:5])}. Use --kind box instead."
        )
    bounds, is_log = named_measure(metric).bounds, min(strengths) > 0
    axes = figures.mean_band(table, _STRENGTH, metric, label=label, log=is_log, bounds=bounds)
    axes.set_xlabel("hyperparameter")
    return axes


def _expected(metrics: Sequence[str], count: int, what: str) -> Sequence[str]:
    if len(metrics) != count:
        given = ", ".join(metrics) or "none"
        raise UnbraidError(f"Expected {what}, for this kind of figure, got {given}. Change --metric.")
    return metrics


def _titled(scores: StudyScores, metric: str) -> str:
    return metric + {True: " ↑", False: " ↓", None: ""}[scores.higher_is_better[metric]]
