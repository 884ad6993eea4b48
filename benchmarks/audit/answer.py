"""Which metric to report: for each case the fewest of the audited metrics that together notice every fault, and for
each question those that pass it. All of it is computed from the marks of the table.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import final

from benchmarks.audit.experiments import EXPERIMENTS
from benchmarks.audit.table import Row

_FAULTS = ("turned", "copied", "merged", "dropped")
_TRUST = ("redrawn", "own seed", "noise", "unused", "folded", "settings")


@final
@dataclass(frozen=True)
class Case:
    """Holds what a reader may have in hand: the `faults` to be noticed, and by which columns a metric is fit for it:
    those that must speak `by` it, and those in which it must be `unmoved`, which is a cross where it has to notice.
    """

    title: str
    faults: tuple[str, ...] = _FAULTS
    by: tuple[str, ...] = ()
    unmoved: tuple[str, ...] = ()

    def takes(self, row: Row) -> bool:
        """Returns whether a metric is fit for the case: it tells factors from noise, and its noise is not large."""
        is_usable = row.cells["range"].mark == "good" and row.cells["redrawn"].mark != "bad"
        marks = {**dict.fromkeys(self.by, "good"), **dict.fromkeys(self.unmoved, "bad")}
        # A metric that refuses codes is not unmoved by them.
        return is_usable and all(row.cells[column].mark == mark for column, mark in marks.items())


CASES: Sequence[Case] = (
    Case("factors of a few values each, independent of each other"),
    Case("factors that depend on each other", by=("dependent",)),
    Case("continuous factors", by=("measured",)),
    Case("a stochastic encoder: how sure is it, as well?", faults=(*_FAULTS, "width")),
    Case("is a factor in the code at all, turned or not?", faults=("dropped",), unmoved=("turned",)),
)
"""The cases that the page answers."""


@final
@dataclass(frozen=True)
class Answer:
    """Holds the metrics to report in a case, by name, with what each notices; what none of the audited metrics notices;
    and by which others each of them could be replaced.
    """

    case: Case
    notices: Mapping[str, Sequence[str]]
    unnoticed: Sequence[str]
    instead: Mapping[str, Sequence[str]]


def answers(rows: Sequence[Row]) -> list[Answer]:
    """Returns the answer to each case."""
    return [_answer(case, [row for row in rows if row.metric.dress and case.takes(row)]) for case in CASES]


def _answer(case: Case, fit: Sequence[Row]) -> Answer:
    seen = {row.metric.name: _noticed(row, case) for row in fit}
    reached = frozenset[str]().union(*seen.values())
    chosen = _smallest(fit, case, reached)
    instead = {}
    for name in chosen:
        rest = frozenset[str]().union(*(seen[other] for other in chosen if other != name))
        instead[name] = [other for other in seen if other not in chosen and rest | seen[other] == reached]
    return Answer(
        case,
        {name: [EXPERIMENTS[fault].use for fault in case.faults if fault in seen[name]] for name in chosen},
        [EXPERIMENTS[fault].use for fault in case.faults if fault not in reached],
        instead,
    )


def _noticed(row: Row, case: Case) -> frozenset[str]:
    return frozenset(fault for fault in case.faults if row.cells[fault].mark == "good")


def _smallest(fit: Sequence[Row], case: Case, reached: frozenset[str]) -> list[str]:
    """Returns the fewest metrics that together notice all that any of them does. Of sets that are equally small it is
    the one with the fewest crosses where a metric has to be trusted, then the one whose metrics notice most, then that
    with the most ticks.
    """
    # Of metrics that notice the same, the best stands for all.
    best: dict[frozenset[str], Row] = {}
    for row in sorted(fit, key=lambda each: _rank(each, case)):
        best.setdefault(_noticed(row, case), row)
    for size in range(1, len(case.faults) + 1):
        covers = [rows for rows in combinations(best.values(), size) if _together(rows, case) == reached]
        if reached and covers:
            least = min(
                covers, key=lambda rows: [sum(each) for each in zip(*(_rank(row, case) for row in rows), strict=True)]
            )
            return [row.metric.name for row in fit if row in least]
    return []


def _together(rows: Sequence[Row], case: Case) -> frozenset[str]:
    return frozenset[str]().union(*(_noticed(row, case) for row in rows))


def _rank(row: Row, case: Case) -> tuple[int, int, int, int]:
    """Returns numbers that are small for a metric that is to be preferred, the most important first."""
    trusted = [row.cells[column].mark for column in _TRUST]
    ticks = sum(cell.mark == "good" for cell in row.cells.values())
    return trusted.count("bad"), -len(_noticed(row, case)), -trusted.count("good"), -ticks


def passes(rows: Sequence[Row]) -> dict[str, tuple[list[str], list[str]]]:
    """Returns for each question of the experiments the metrics of which it is true, and those of which it is not. Only
    metrics that tell codes of factors from noise are in it.
    """
    clear = [row for row in rows if row.metric.dress and row.cells["range"].mark == "good"]
    return {
        experiment.question: (
            [row.metric.name for row in clear if row.cells[column].mark == "good"],
            [row.metric.name for row in clear if row.cells[column].mark == "bad"],
        )
        for column, experiment in EXPERIMENTS.items()
    }
