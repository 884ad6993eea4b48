"""Whether a metric follows training: how often a later snapshot scores better than an earlier one."""

import math
import statistics
from collections.abc import Mapping
from itertools import combinations

from benchmarks.audit.cell import Cell, Mark
from benchmarks.audit.findings import Audit, AuditedMetric
from benchmarks.audit.limits import FEWEST_PAIRS, MIXES_STEPS, TELLS_STEPS
from benchmarks.audit.sizes import counted
from unbraid._internal.amounts import percent


def training_cell(audit: Audit, one: AuditedMetric) -> Cell:
    """Returns the cell of snapshots along training."""
    if not audit.training(one):
        if why := audit.training_refusal(one):
            return Cell("refuses", meaning=f"It refused the codes of these runs. {why}")
        return Cell("not measured", meaning="Give runs with snapshots: python -m benchmarks.audit RUNS")
    chance = later_is_better(audit.training(one), higher_is_better=one.higher_is_better is not False)
    if math.isnan(chance):
        return Cell("–", meaning="There is one snapshot of each setting: none is later than another.")
    num_pairs = len(_wins(audit.training(one)))
    pairs = counted(num_pairs, "pair")
    means = f"how often a later snapshot scores better than an earlier one, in {pairs}; 50 % is chance"
    text, told = percent(chance), chance
    if one.higher_is_better is None or not one.metric.needs_factors:
        # No direction is better for a code of factors: what falls follows training as well as what rises.
        rises = later_is_better(audit.training(one))
        told = max(rises, 1 - rises)
        way, larger = ("rising", "larger") if rises >= 0.5 else ("falling", "smaller")
        means = f"how often a later snapshot has the {larger} value, in {pairs}; 50 % is chance"
        text = f"{percent(told)}, {way}"
    if num_pairs < FEWEST_PAIRS:
        return Cell(text, chance, "none", f"{means}; {FEWEST_PAIRS} pairs or more say something: give more runs")
    if told >= TELLS_STEPS:
        return Cell(text, chance, "good", means, use="following training")
    mark: Mark = "bad" if told <= MIXES_STEPS else "between"
    return Cell(text, chance, mark, means, avoid="following training" if mark == "bad" else "")


def later_is_better(values: Mapping[str, Mapping[int, float]], *, higher_is_better: bool = True) -> float:
    """Returns the share of pairs of snapshots, of one run or of two that differ in their seeds alone, in which the
    later has the better value; ties count one half. It is NaN where there are no pairs.
    """
    wins = _wins(values)
    if not wins:
        return math.nan
    return statistics.fmean(wins) if higher_is_better else 1 - statistics.fmean(wins)


def _wins(values: Mapping[str, Mapping[int, float]]) -> list[float]:
    """Returns for each pair of snapshots of one setting whether the later has the larger value: 1, 0, or 0.5."""
    alike: dict[str, list[tuple[int, float]]] = {}
    for run, steps in values.items():
        alike.setdefault(run.rpartition("-seed")[0], []).extend(steps.items())
    return [
        0.5 if first == second else float((second > first) == (later > earlier))
        for points in alike.values()
        for (earlier, first), (later, second) in combinations(points, 2)
        if earlier != later
    ]
