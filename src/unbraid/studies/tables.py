"""The scores of a study as tables: long, a row for each number; wide, a row for each setting."""

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple, final

import numpy as np

from unbraid._internal.table import Table
from unbraid.metrics.score_rows import in_markdown, number_text
from unbraid.studies.claims.judgment import Judgment
from unbraid.studies.study_scores import StudyScores

Form = Literal["wide", "long"]
_ARROWS = {True: " ↑", False: " ↓", None: ""}
_LATEX_ARROWS = {True: r" $\uparrow$", False: r" $\downarrow$", None: ""}
_LATEX = {
    "\\": r"\textbackslash{}",
    **{sign: f"\\{sign}" for sign in "&%$#_{}"},
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
}

CLAIM_NOTE = "p-values are adjusted for all claims (Holm, 5 %); intervals are not."


def long_table(scores: StudyScores) -> Table:
    """Returns a row for each number of each run: values, parts and factors of metrics, with intervals over images."""
    columns = ("setting", "family", "seed", "metric", "scoring", "quantity", "of", "value", "low", "high", "run")
    rows = tuple(
        (n.setting, scores.families[n.setting], n.seed, n.metric, n.scoring, n.quantity, n.of, *_ends(n), n.run)
        for n in scores.numbers
    )
    return Table(columns, rows)


def wide_table(scores: StudyScores, metrics: Sequence[str] | None = None) -> Table:
    """Returns a row for each setting: its seeds by state, and each metric's median, quartiles and number of seeds."""
    chosen = _chosen(scores, metrics)
    summaries = _summaries(scores, chosen)
    return Table.from_records(
        {**_counts(scores, label), **{k: v for m in chosen for k, v in _named(m, summaries[label, m]).items()}}
        for label in scores.settings
    )


def wide_rows(scores: StudyScores, metrics: Sequence[str] | None = None) -> tuple[list[str], list[list[str]]]:
    """Returns the heads and the cells of the wide table as text: "median (quartiles)" of each metric."""
    chosen = _chosen(scores, metrics)
    heads = ["setting", "seeds", *(f"{name}{_ARROWS[scores.higher_is_better.get(name)]}" for name in chosen)]
    return heads, _text_rows(scores, chosen)


def wide_markdown(scores: StudyScores, metrics: Sequence[str] | None = None) -> str:
    """Returns the wide table in Markdown: "median (quartiles)" in each cell."""
    heads, rows = wide_rows(scores, metrics)
    lines = [heads, ["---", *["---:"] * (len(heads) - 1)], *([in_markdown(cell) for cell in row] for row in rows)]
    notes = ["Median over seeds (quartiles)." + _explained(scores), *factors_of(scores, metrics)]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n\n" + "\n".join(notes) + "\n"


def wide_latex(scores: StudyScores, metrics: Sequence[str] | None = None) -> str:
    """Returns the wide table in LaTeX, with the rules of booktabs."""
    chosen = _chosen(scores, metrics)
    heads = ["setting", "seeds", *(f"{_in_latex(n)}{_LATEX_ARROWS[scores.higher_is_better.get(n)]}" for n in chosen)]
    body = [" & ".join(map(_in_latex, row)) + r" \\" for row in _text_rows(scores, chosen)]
    return "\n".join(
        [
            "% Median over seeds (quartiles). Needs \\usepackage{booktabs}.",
            *(f"% {sentence}" for sentence in factors_of(scores, metrics)),
            r"\begin{tabular}{l" + "r" * (len(heads) - 1) + "}",
            r"\toprule",
            " & ".join(heads) + r" \\",
            r"\midrule",
            *body,
            r"\bottomrule",
            r"\end{tabular}",
            "",
        ]
    )


def claim_rows(judgment: Judgment) -> tuple[list[str], list[list[str]]]:
    """Returns the heads and the cells of the table of claims: verdict, sentence, reason."""
    rows = [[each.verdict, each.claim.sentence, each.reason] for each in judgment.claims]
    return ["verdict", "claim", "reason"], rows


def claim_markdown(judgment: Judgment) -> str:
    """Returns the table of claims in Markdown, with the verdict of them all."""
    heads, rows = claim_rows(judgment)
    lines = [heads, ["---"] * len(heads), *([in_markdown(cell) for cell in row] for row in rows)]
    table = "\n".join("| " + " | ".join(line) + " |" for line in lines)
    return f"Together: {judgment.text}. {CLAIM_NOTE}\n\n{table}\n"


def factors_of(scores: StudyScores, metrics: Sequence[str] | None = None) -> list[str]:
    """Returns a sentence for each group of metrics with the same factors, in the first scoring of the study.

    Scores over other factors cannot be compared.
    """
    sharing = defaultdict[tuple[str, ...], list[str]](list)
    for metric in _chosen(scores, metrics):
        if metric in scores.factors:
            sharing[tuple(scores.factors[metric])].append(metric)
    return [f"Over {', '.join(factors)}: {', '.join(names)}." for factors, names in sharing.items()]


def _chosen(scores: StudyScores, metrics: Sequence[str] | None) -> list[str]:
    """Returns the metrics that were asked for, or all that any run has."""
    if metrics is None:
        return [name for name in scores.metrics if any(scores.values(label, name) for label in scores.settings)]
    scores.check(metrics=metrics)
    return list(metrics)


def _counts(scores: StudyScores, label: str) -> dict[str, Any]:
    runs = scores.runs_of(label)
    digest = runs[0].run.rpartition("-seed")[0].rpartition("-")[2] if runs else ""
    finished = [run for run in runs if run.state == "finished"]
    return {
        "setting": label,
        "digest": digest,
        "seeds": len(runs),
        "finished": len(finished),
        "failed": sum(run.state == "failed" for run in runs),
        "collapsed": sum(run.is_collapsed for run in finished),
    }


@final
class _Summary(NamedTuple):
    """The median and the quartiles of so many values."""

    num_values: int
    low: float | None = None
    median: float | None = None
    high: float | None = None


def _summaries(scores: StudyScores, metrics: Sequence[str]) -> Mapping[tuple[str, str], _Summary]:
    """Returns the summary of each setting and metric.

    Summaries of equally many values are computed at once, because there may be very many.
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


def _named(metric: str, of: _Summary) -> dict[str, Any]:
    return {metric: of.median, f"{metric} q1": of.low, f"{metric} q3": of.high, f"{metric} n": of.num_values}


def _text_rows(scores: StudyScores, metrics: Sequence[str]) -> list[list[str]]:
    rows, summaries = [], _summaries(scores, metrics)
    for label in scores.settings:
        counts = _counts(scores, label)
        seeds = (
            f"{counts['finished']} of {counts['seeds']}"
            if counts["finished"] < counts["seeds"]
            else f"{counts['seeds']}"
        )
        marks = [f"{counts[word]} {word}" for word in ("failed", "collapsed") if counts[word]]
        rows.append([label, ", ".join([seeds, *marks]), *(_cell(summaries[label, metric]) for metric in metrics)])
    return rows


def _cell(of: _Summary) -> str:
    if of.low is None or of.median is None or of.high is None:
        return "–"
    return f"{number_text(of.median)} ({number_text(of.low)} to {number_text(of.high)})"


def _explained(scores: StudyScores) -> str:
    count = sum(run.is_collapsed for run in scores.runs)
    return f" Collapsed: fewer than two latents are informative ({count} runs)." if count else ""


def _ends(number: Any) -> tuple[Any, Any, Any]:
    return tuple(None if math.isnan(x) else x for x in (number.value, number.low, number.high))  # type: ignore[return-value]


def _in_latex(text: str) -> str:
    return "".join(_LATEX.get(letter, letter) for letter in text).replace("–", "--").replace("↑", "").strip()
