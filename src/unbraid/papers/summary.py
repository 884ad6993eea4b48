"""Tables of items: what each is, what it costs, and what came of it."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

from unbraid.amounts import duration
from unbraid.evaluation.score_rows import in_markdown, number_text
from unbraid.evaluation.scoring import Scoring
from unbraid.papers.evidence_files import ItemEvidence, best_evidence
from unbraid.papers.item import Item
from unbraid.recipes import Recipe, text_of
from unbraid.studies.statistics import median
from unbraid.studies.study_scores import StudyScores

NOT_RUN = "not run yet"


def verdict_text(item: Item, found: ItemEvidence | None) -> str:
    """Returns the verdict of an item as a few words: "reproduced (quick)", with how many runs where some are missing,
    and that it is a stand-in where it is one.
    """
    if found is None:
        return NOT_RUN
    judged = found.judgement
    runs = f", {judged.num_runs} of {judged.num_asked} runs" if judged.is_partial else ""
    stand_in = ", on a stand-in" if item.stands_in_for else ""
    return f"{judged.verdict} ({found.scale}{runs}{stand_in})"


def cost_text(item: Item) -> str:
    """Returns what each scale costs, such as "quick 11 min, paper 1.1 h"."""
    return ", ".join(f"{scale} {duration(item.seconds[scale])}" for scale in item.scales if scale in item.seconds)


def verdict_rows(items: Iterable[Item], evidence: Path) -> list[list[str]]:
    """Returns a row for each item: id, title, data, cost, verdict."""
    return [
        [
            item.id,
            item.title,
            item.needs or item.data,
            cost_text(item),
            verdict_text(item, best_evidence(item, evidence)),
        ]
        for item in items
    ]


def short_names(metrics: Sequence[str]) -> dict[str, str]:
    """Returns the metrics that may be called by their kind alone, because no other of them is of that kind: by their
    full names, "rmig" for "rmig:quantised".
    """
    kinds = [name.partition(":")[0] for name in metrics]
    return {name: kind for name, kind in zip(metrics, kinds, strict=True) if name != kind and kinds.count(kind) == 1}


def with_short_names(text: str, short: Mapping[str, str]) -> str:
    """Returns a text, which may be Markdown, with these full names of metrics replaced."""
    for name, kind in short.items():
        text = text.replace(name, kind).replace(in_markdown(name), kind)
    return text


def made_text(made: Mapping[str, Any]) -> str:
    """Returns when, by which code and on what evidence was made, how long it took, and what its note says of that."""
    note = f" ({made['note']})" if "note" in made else ""
    return (
        f"{made['date']}, commit {made['commit']}, {made['machine']}, torch {made['torch']}, "
        f"{duration(float(made['seconds']))}{note}"
    )


def printed_rows(item: Item, scores: StudyScores) -> list[list[str]]:
    """Returns a row for each printed number, ours beside it: setting, score, printed, our median over seeds with its
    interval.
    """
    rows = []
    for printed in item.printed:
        known = printed.setting in scores.families
        values = scores.of_seeds(printed.setting, printed.metric) if known else []
        rows.append([printed.setting, printed.metric, f"{printed.value:g}", _ours(values, printed.times)])
    return rows


def _ours(values: Sequence[float], times: float) -> str:
    """Returns the median with its interval over seeds; one value, or values that are all equal, alone."""
    if not values:
        return "–"
    if len(set(values)) == 1:
        return f"{values[0] * times:,.0f}" if float(values[0] * times).is_integer() else number_text(times * values[0])
    found = median([times * value for value in values])
    low, high = found.interval
    return f"{number_text(found.value)} ({number_text(low)} to {number_text(high)}, {len(values)} seeds)"


def differences(first: Scoring, other: Scoring) -> str:
    """Returns how a scoring differs from the first, field by field: "discrete left_out"."""
    changed = [field.name for field in fields(Scoring) if getattr(first, field.name) != getattr(other, field.name)]
    return ", ".join(f"{name.replace('_', ' ')} {_value_text(getattr(other, name))}" for name in changed)


def _value_text(value: object) -> str:
    if isinstance(value, Recipe):
        return text_of(value)
    return ", ".join(map(str, value)) or "none" if isinstance(value, tuple) else str(value)
