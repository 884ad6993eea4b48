"""What is left of the range of a metric in each experiment."""

import math
from collections.abc import Mapping
from dataclasses import replace

from benchmarks.audit.cell import Cell, Mark
from benchmarks.audit.design import Design
from benchmarks.audit.experiments import EXPERIMENTS, Experiment
from benchmarks.audit.findings import UNDEFINED, Audit, AuditedMetric
from benchmarks.audit.limits import IGNORED, MOVED, UNNOTICED
from unbraid._internal.amounts import percent


def experiment_cells(audit: Audit, one: AuditedMetric, *, clear: bool) -> dict[str, Cell]:
    """Returns the cells of a metric by experiment. Without a clear range there are no shares of it."""
    if not clear:
        return dict.fromkeys(EXPERIMENTS, Cell("–", meaning="no share of a range that is not clear"))
    cells = {name: _cell(audit, one, experiment) for name, experiment in EXPERIMENTS.items()}
    return cells | {"merged": _unless_bent(cells["merged"], cells["folded"])}


def _cell(audit: Audit, one: AuditedMetric, experiment: Experiment) -> Cell:
    for design in _judged(audit, one, experiment).values():
        if refusal := audit.refusal(one, design):
            does, why = ("undefined", "undefined there") if refusal == UNDEFINED else ("refuses", "it refuses them")
            return Cell(does, math.nan, "bad", refusal, avoid=f"{experiment.use} ({why})")
    shares = _shares(audit, one, experiment)
    if not shares:
        return Cell("–", meaning="It was not measured, or there is no range to take a share of.")
    # Of a fault there is one level here, the greatest; what must leave a metric unmoved must do so at every level.
    label = max(shares, key=lambda each: abs(shares[each] - 1))
    kept = shares[label]
    at = f"of the range is left at {label} ({experiment.axis}"
    if experiment.wish == "notice":
        means = f"{at}); to notice is to lose {percent(1 - experiment.noticed)} or more"
        mark: Mark = "good" if kept <= experiment.noticed else "bad" if kept >= UNNOTICED else "between"
    else:
        moves = ", where it moves most" if len(shares) > 1 else ""
        means = f"{at}){moves}; to ignore is to move by {percent(IGNORED)} or less"
        mark = "good" if abs(kept - 1) <= IGNORED else "bad" if abs(kept - 1) > MOVED else "between"
    use = experiment.use if mark == "good" else ""
    return Cell(percent(kept), kept, mark, means, use, experiment.use if mark == "bad" else "")


def _judged(audit: Audit, one: AuditedMetric, experiment: Experiment) -> Mapping[str, Design]:
    """Returns the levels by which a metric is judged: the last, or if it has to ignore them, all that it was shown."""
    _, *levels = experiment.levels.items()
    counted = levels[-1:] if experiment.wish == "notice" else levels
    return {label: design for label, design in counted if audit.was_shown(one, design)}


def _shares(audit: Audit, one: AuditedMetric, experiment: Experiment) -> dict[str, float]:
    """Returns what is left of the range at each level that counts."""
    first = audit.mean(one, experiment.first)
    width = first - audit.mean(one, experiment.nothing)
    if not math.isfinite(width) or width == 0:
        return {}
    means = {label: audit.mean(one, design) for label, design in _judged(audit, one, experiment).items()}
    return {label: 1 + (mean - first) / width for label, mean in means.items() if math.isfinite(mean)}


def _unless_bent(merged: Cell, folded: Cell) -> Cell:
    """Returns the cell of merged factors without its praise if the metric does not see bent relations: a latent that
    holds two factors bends one of them, and it may fall for that alone.
    """
    if merged.mark != "good" or folded.mark == "good":
        return merged
    bent = {"–": "was not measured", "refuses": "is not known (it refuses them)"}.get(folded.text, f"is {folded.text}")
    why = f"a latent of two factors bends one of them, and what bent relations alone leave {bent}"
    return replace(merged, text="–", mark="none", use="", meaning=f"cannot tell: {merged.text} is left, but {why}")
