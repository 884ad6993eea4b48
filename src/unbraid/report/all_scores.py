"""Every score that the runs have kept, side by side."""

import json
import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, final

from unbraid.evaluation.score_rows import interval_text, number_text
from unbraid.evaluation.selection import model_registry, registry
from unbraid.metrics.metric import Score
from unbraid.report.groups import Group
from unbraid.report.members import ReportedRun


@final
@dataclass(frozen=True)
class ScoreRow:
    """A question that is put to every group. `settings` is empty where the metric was asked in one way only."""

    metric: str
    settings: str
    better: str
    cells: tuple[tuple[str, str], ...]
    """A value and its interval, for each group."""


def all_scores(groups: Sequence[Group]) -> list[ScoreRow]:
    """Returns a row for each metric and setting, in the order in which they were kept. There is none if MIG is all
    there is: the page shows it anyway.
    """
    by_group = [[_by_question(member) for member in group.members] for group in groups]
    questions = {key: score for kept in by_group for of_member in kept for key, score in of_member.items()}
    if all(score.metric == "MIG" for score in questions.values()):
        return []
    directions = {cls.__name__: cls.higher_is_better for cls in registry().values()}
    directions |= {cls.__name__: cls.higher_is_better for cls in model_registry().values()}
    arrows = {True: "↑", False: "↓", None: ""}
    return [
        ScoreRow(
            score.metric,
            _what_differs(score, [other for other in questions.values() if other.metric == score.metric]),
            arrows[directions.get(score.metric)],
            tuple(_cell([of_member[key] for of_member in kept if key in of_member]) for kept in by_group),
        )
        for key, score in questions.items()
    ]


def _by_question(member: ReportedRun) -> dict[str, Score]:
    # The quadrature is two ways to take one integral.
    asked = ({name: value for name, value in score.settings.items() if name != "quadrature"} for score in member.scores)
    return {
        json.dumps([score.metric, settings], sort_keys=True): score
        for score, settings in zip(member.scores, asked, strict=True)
    }


def _what_differs(score: Score, kin: Sequence[Score]) -> str:
    def differs(name: str, value: Any) -> bool:
        return name != "quadrature" and any(other.settings.get(name) != value for other in kin)

    return ", ".join(f"{name} {value}" for name, value in score.settings.items() if differs(name, value))


def _cell(scores: Sequence[Score]) -> tuple[str, str]:
    """Returns one score with its interval; of several the median, with the least and the greatest."""
    values = [score.value for score in scores if not math.isnan(score.value)]
    if not values:
        return "–", ""
    if len(scores) == 1:
        return number_text(values[0]), "" if scores[0].interval is None else interval_text(*scores[0].interval)
    return number_text(statistics.median(values)), interval_text(min(values), max(values))
