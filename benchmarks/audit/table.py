"""The table of an audit: a row for each metric, a cell for each question, and a verdict that rules make of them."""

import math
import statistics
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import final

from benchmarks.audit.agreement import Agreement
from benchmarks.audit.cell import Cell, Mark
from benchmarks.audit.design import MIDDLE, NOTHING, PERFECT, UNTURNED
from benchmarks.audit.experiment_cells import experiment_cells
from benchmarks.audit.experiments import EXPERIMENTS
from benchmarks.audit.findings import Audit, AuditedMetric
from benchmarks.audit.limits import CLEAR, FEWEST_REDRAWS, FLAT, LOUD, QUIET, SATURATED, SHIFTING, STEADY
from benchmarks.audit.sizes import counted
from benchmarks.audit.training_cell import training_cell
from benchmarks.audit.variations import left_out
from unbraid._internal.amounts import percent

HEADS: Mapping[str, str] = {
    "range": "tells factors from noise",
    "redrawn": "noise: other images",
    "own seed": "noise: own seed",
    **{name: experiment.title for name, experiment in EXPERIMENTS.items()},
    "settings": "own settings",
    "training": "along training",
    "agreement": "agrees with others",
}
"""What each column is called."""


@final
@dataclass(frozen=True)
class Row:
    """Holds the cells of one metric by column."""

    metric: AuditedMetric
    cells: Mapping[str, Cell]

    @property
    def use(self) -> list[str]:
        """Returns what the metric is good for, after its cells."""
        return [cell.use for cell in self.cells.values() if cell.use]

    @property
    def avoid(self) -> list[str]:
        """Returns what it is not good for."""
        return [cell.avoid for cell in self.cells.values() if cell.avoid]

    @property
    def verdict(self) -> str:
        """Returns "Use it for ...; not for ...", made by rules from the cells."""
        if not self.metric.dress:
            return f"Not audited. {self.metric.refusal}"
        use = f"Use it for {'; '.join(self.use)}. " if self.use else ""
        return (use + (f"Not for {'; '.join(self.avoid)}." if self.avoid else "")).strip() or "Nothing speaks for it."


def rows_of(audit: Audit) -> list[Row]:
    """Returns the table, in the order of the metrics."""
    agreement = Agreement.of(audit)
    return [Row(one, dict(_cells(audit, one, agreement)) if one.dress else {}) for one in audit.metrics]


def _cells(audit: Audit, one: AuditedMetric, agreement: Agreement) -> Iterator[tuple[str, Cell]]:
    clear = is_clear(audit, one)
    yield "range", _range(audit, one, clear=clear)
    width = abs(audit.range(one))
    yield "redrawn", _noise(audit, one, width, clear=clear)
    yield "own seed", _own_seed(audit, one, width, clear=clear)
    yield from experiment_cells(audit, one, clear=clear).items()
    yield "settings", _settings(audit, one, width, clear=clear)
    yield "training", training_cell(audit, one)
    yield "agreement", _agreement(agreement, one.name)


def is_clear(audit: Audit, one: AuditedMetric) -> bool:
    """Returns whether perfect codes lie well above codes of noise, in the direction that the metric calls better. A
    metric that reads no factors cannot tell the two apart, whatever the draws were.
    """
    if not one.metric.needs_factors:
        return False
    width, values = audit.range(one), audit.values(one, MIDDLE)
    if not math.isfinite(width) or len(values) < 2:
        return False
    if one.higher_is_better is False:
        width = -width
    noise = statistics.stdev(values)
    large = abs(width) > max(CLEAR * noise, 1e-6 * max(map(abs, values)))
    return large and (width > 0 or one.higher_is_better is None)


def _range(audit: Audit, one: AuditedMetric, *, clear: bool) -> Cell:
    perfect, nothing = audit.mean(one, PERFECT), audit.mean(one, NOTHING)
    text = f"{nothing:.2f} → {perfect:.2f}".replace("-0.00", "0.00").replace("-", "−")
    if clear:
        return Cell(text, perfect - nothing, "good", "from codes of noise to perfect codes")
    if not one.metric.needs_factors:
        use, avoid = f"codes without labels: {one.metric.title}", "whether a code holds the factors (it reads none)"
        return Cell(text, perfect - nothing, "none", "it reads no factors", use, avoid)
    means = "noise scores as well as perfect codes, or better"
    return Cell(text, perfect - nothing, "bad", means, avoid=f"whether a code holds the factors ({means})")


def is_saturated(audit: Audit, one: AuditedMetric) -> bool:
    """Returns whether codes of middling quality score like perfect ones."""
    kept = (audit.mean(one, MIDDLE) - audit.mean(one, NOTHING)) / (audit.range(one) or math.nan)
    return kept >= SATURATED


def is_flat(audit: Audit, one: AuditedMetric) -> bool:
    """Returns whether codes of middling quality score like the same codes without their turn and width."""
    moved = (audit.mean(one, MIDDLE) - audit.mean(one, UNTURNED)) / (audit.range(one) or math.nan)
    return abs(moved) <= FLAT


def _hidden(audit: Audit, one: AuditedMetric, spread: float) -> str:
    """Returns why a small spread on codes of middling quality is no praise; an empty text if it is."""
    if is_saturated(audit, one):
        return "at its limit on these codes: its noise cannot show"
    if spread == 0:
        return "the same value each time: its noise cannot show"
    if is_flat(audit, one):
        return "it scores these codes like those without their turn and width: its noise may not show"
    return ""


def _noise(audit: Audit, one: AuditedMetric, width: float, *, clear: bool) -> Cell:
    values = audit.values(one, MIDDLE)
    if len(values) < 2:
        return Cell("–", meaning="It has no value for codes of middling quality.")
    cell = _spread(audit, one, values, width, "codes that are drawn again", clear=clear)
    # The difference of two values is as noisy as the root of 2 values; 95 of 100 lie within 1.96 of that.
    least = percent(max(0.001, 1.96 * math.sqrt(2) * cell.value))
    if cell.mark == "good":
        return replace(cell, use=f"differences down to {least} of its range")
    if cell.mark == "bad":
        return replace(cell, avoid=f"differences of less than {least} of its range")
    return cell


def _own_seed(audit: Audit, one: AuditedMetric, width: float, *, clear: bool) -> Cell:
    values = audit.own_seeds(one)
    if len(values) < 2:
        return Cell("none", 0.0, "good", "nothing in it is random")
    cell = _spread(audit, one, values, width, "its own seeds", clear=clear)
    return replace(cell, avoid="a single seed of its own") if cell.mark == "bad" else cell


def _spread(audit: Audit, one: AuditedMetric, values: list[float], width: float, over: str, *, clear: bool) -> Cell:
    spread = statistics.stdev(values)
    if not clear:
        return Cell(f"± {spread:.2g}", spread, "none", f"standard deviation over {over}, in the units of the metric")
    share = spread / width
    means = f"standard deviation over {over}, of the range"
    mark: Mark = "good" if share <= QUIET else "bad" if share > LOUD else "between"
    if mark == "good" and (why := _hidden(audit, one, spread)):
        mark, means = "none", f"{means}; {why}"
    if audit.size.get("num_redraws", len(values)) < FEWEST_REDRAWS:
        few = f"{counted(len(values), 'value')} of a quick audit say little: {FEWEST_REDRAWS} draws or more are needed"
        mark, means = "none", f"{means}; {few}"
    return Cell(f"± {percent(share)}", share, mark, means)


def _settings(audit: Audit, one: AuditedMetric, width: float, *, clear: bool) -> Cell:
    values = [*audit.settings(one).values(), *audit.values(one, MIDDLE)[:1]]
    if len(values) < 2:
        return Cell("none", 0.0, "good", "it has no settings that could be tried")
    spread = max(values) - min(values)
    if not clear:
        return Cell(f"{spread:.2g}", spread, "none", "greatest less least value, in the units of the metric")
    share = spread / width
    means = f"greatest less least value under {len(values) - 1} other settings, of the range"
    if skipped := left_out(one.metric, audit.size.get("num_images", 0)):
        means += f", without {', '.join(skipped)}, which would take minutes"
    if spread == 0:
        return Cell("0 %", 0.0, "none", f"{means}; none of them does anything with so few images")
    if share <= STEADY and (why := _hidden(audit, one, spread)):
        return Cell(percent(share), share, "none", f"{means}; {why}")
    if share <= STEADY:
        return Cell(percent(share), share, "good", means, use="comparison with papers that used other settings")
    mark: Mark = "bad" if share > SHIFTING else "between"
    avoid = "comparison with papers that used other settings" if share > SHIFTING else ""
    return Cell(percent(share), share, mark, means, avoid=avoid)


def _agreement(agreement: Agreement, name: str) -> Cell:
    others = agreement.others(name)
    if not others:
        return Cell("–", meaning="There is no other metric to agree with.")
    nearest = next(iter(others))
    means = f"median rank correlation with the others; most with {nearest} ({others[nearest]:.2f})"
    return Cell(f"{agreement.median(name):.2f}".replace("-", "−"), agreement.median(name), "none", means)
