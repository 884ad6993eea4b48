"""Tables of the scores of a study: long (one row per number) and wide (one row per setting)."""

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, final

import numpy as np

from unbraid._internal.table import Table, in_latex, latex_table
from unbraid.metrics.score_rows import in_markdown, number_text
from unbraid.studies.claims.judgment import Judgment
from unbraid.studies.study_scores import StudyScores

_ARROWS = {True: " ↑", False: " ↓", None: ""}
CLAIM_NOTE = "The p-values are adjusted for all claims (Holm, 5 %), and the intervals are not adjusted."


def long_table(scores: StudyScores) -> Table:
    """Returns a table with one row per number: scores, parts, and scores of factors, with intervals over images."""
    columns = ("setting", "family", "seed", "metric", "scoring", "quantity", "of", "value", "low", "high", "run")
    rows = []
    for number in scores.numbers:
        question = (number.seed, number.metric, number.scoring, number.quantity, number.of)
        ends = (None if math.isnan(each) else each for each in (number.value, number.low, number.high))
        rows.append((number.setting, scores.families[number.setting], *question, *ends, number.run))
    return Table(columns, tuple(rows))


def wide_table(scores: StudyScores, metrics: Sequence[str] | None = None) -> Table:
    """Returns a table with one row per setting: seeds by state; and median, quartiles and seeds of each metric."""
    chosen = _chosen(scores, metrics)
    summaries, records = _summaries(scores, chosen), []
    for label in scores.settings:
        record = _counts(scores, label)
        for metric in chosen:
            found = summaries[label, metric]
            record |= {metric: found.median, f"{metric} q1": found.low, f"{metric} q3": found.high}
            record[f"{metric} n"] = found.num_values
        records.append(record)
    return Table.from_records(records)


def wide_rows(scores: StudyScores, metrics: Sequence[str] | None = None) -> tuple[list[str], list[list[str]]]:
    """Returns the column names and the rows of the wide table as text, with "median (quartiles)" of each metric."""
    chosen = _chosen(scores, metrics)
    heads = ["setting", "seeds", *(f"{name}{_ARROWS[scores.higher_is_better.get(name)]}" for name in chosen)]
    summaries, rows = _summaries(scores, chosen), []
    for label in scores.settings:
        counts = _counts(scores, label)
        unfinished = counts["finished"] < counts["seeds"]
        seeds = f"{counts['finished']} of {counts['seeds']}" if unfinished else f"{counts['seeds']}"
        marks = [f"{counts[word]} {word}" for word in ("failed", "collapsed") if counts[word]]
        rows.append([label, ", ".join([seeds, *marks]), *(summaries[label, metric].text for metric in chosen)])
    return heads, rows


def wide_markdown(scores: StudyScores, metrics: Sequence[str] | None = None) -> str:
    """Returns the wide table in Markdown: "median (quartiles)" in each cell."""
    notes = ["Median over seeds (quartiles).", *factors_of(scores, metrics)]
    if count := sum(run.is_collapsed for run in scores.runs):
        notes[0] += f" Collapsed: fewer than two latents are informative ({count} runs)."
    heads, rows = wide_rows(scores, metrics)
    table = _markdown(heads, ["---", *["---:"] * (len(heads) - 1)], rows)
    return table + "\n\n" + "\n".join(notes) + "\n"


def wide_latex(scores: StudyScores, metrics: Sequence[str] | None = None) -> str:
    """Returns the wide table in LaTeX, with the rules of booktabs."""
    heads, rows = wide_rows(scores, metrics)
    lines = [" & ".join(map(in_latex, row)) + r" \\" for row in (heads, *rows)]
    notes = ["Median over seeds (quartiles). Requires \\usepackage{booktabs}.", *factors_of(scores, metrics)]
    return "".join(f"% {note}\n" for note in notes) + latex_table("l" + "r" * (len(heads) - 1), lines)


def claim_rows(judgment: Judgment) -> tuple[list[str], list[list[str]]]:
    """Returns the column names and the rows of the table of claims: verdict, sentence, reason."""
    rows = [[each.verdict, each.claim.sentence, each.reason] for each in judgment.claims]
    return ["verdict", "claim", "reason"], rows


def claim_markdown(judgment: Judgment) -> str:
    """Returns the table of claims in Markdown, with the overall verdict."""
    heads, rows = claim_rows(judgment)
    return f"All claims: {judgment.text}. {CLAIM_NOTE}\n\n{_markdown(heads, ['---'] * len(heads), rows)}\n"


def factors_of(scores: StudyScores, metrics: Sequence[str] | None = None) -> list[str]:
    """Returns a sentence for each group of metrics that cover the same factors in the first scoring.

    Scores that cover different factors are not comparable.
    """
    sharing = defaultdict[tuple[str, ...], list[str]](list)
    for metric in _chosen(scores, metrics):
        if metric in scores.factors:
            sharing[tuple(scores.factors[metric])].append(metric)
    return [f"Over {', '.join(factors)}: {', '.join(names)}." for factors, names in sharing.items()]


def _chosen(scores: StudyScores, metrics: Sequence[str] | None) -> list[str]:
    """Returns `metrics` or, if it is None, all metrics with a score."""
    if metrics is None:
        return [name for name in scores.metrics if any(scores.values(label, name) for label in scores.settings)]
    scores.check(metrics=metrics)
    return list(metrics)


def _counts(scores: StudyScores, label: str) -> dict[str, Any]:
    runs = scores.runs_of(label)
    finished = [run for run in runs if run.state == "finished"]
    return {
        "setting": label,
        "digest": runs[0].run.rpartition("-seed")[0].rpartition("-")[2] if runs else "",
        "seeds": len(runs),
        "finished": len(finished),
        "failed": sum(run.state == "failed" for run in runs),
        "collapsed": sum(run.is_collapsed for run in finished),
    }


@final
class _Summary(NamedTuple):
    """The number of values and the quartiles of the values, which are None without values."""

    num_values: int
    low: float | None = None
    median: float | None = None
    high: float | None = None

    @property
    def text(self) -> str:
        if self.low is None or self.median is None or self.high is None:
            return "–"
        return f"{number_text(self.median)} ({number_text(self.low)} to {number_text(self.high)})"


def _summaries(scores: StudyScores, metrics: Sequence[str]) -> Mapping[tuple[str, str], _Summary]:
    """Returns the summary of each setting and metric.

    For speed, quartiles of groups with the same number of values are computed in one call.
    """
    by_count = defaultdict[int, dict[tuple[str, str], list[float]]](dict)
    for label in scores.settings:
        for metric in metrics:
            values = scores.of_seeds(label, metric)
            by_count[len(values)][label, metric] = values
    found: dict[tuple[str, str], _Summary] = {}
    for count, groups in by_count.items():
        ends = np.percentile(list(groups.values()), [25, 50, 75], axis=1).T.tolist() if count else [()] * len(groups)
        found |= {key: _Summary(count, *three) for key, three in zip(groups, ends, strict=True)}
    return found


def _markdown(heads: list[str], rules: list[str], rows: list[list[str]]) -> str:
    lines = [heads, rules, *([in_markdown(cell) for cell in row] for row in rows)]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)
