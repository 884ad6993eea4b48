"""The table of an audit: a row for each metric, a cell for each question, and a verdict that rules make of them."""

import math
import statistics
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Literal, final

from unbraid.audit.agreement import Agreement
from unbraid.audit.design import MIDDLE, NOTHING, PERFECT, UNTURNED
from unbraid.audit.experiments import EXPERIMENTS, Experiment
from unbraid.audit.findings import UNDEFINED, Audit, AuditedMetric
from unbraid.audit.variations import left_out

Mark = Literal["good", "bad", "between", "none"]

UNNOTICED = 0.9
"""A metric does not notice what leaves it this share of its range, or more. Experiments say what it is to notice."""
IGNORED, MOVED = 0.1, 0.2
"""A metric ignores what moves it by at most the first share of its range, and does not what moves it by the second."""
QUIET, LOUD = 0.02, 0.05
"""Noise, as a share of the range: the standard deviation over codes that are drawn again."""
STEADY, SHIFTING = 0.1, 0.3
"""How far other settings move a metric, as a share of its range."""
TELLS_STEPS, MIXES_STEPS = 0.75, 0.6
"""How often a later snapshot has to score above an earlier one, of any seeds."""
FEWEST_PAIRS = 12
"""Fewer pairs of snapshots say nothing of that."""
SATURATED = 0.98
"""A metric that keeps so much of its range on codes of middling quality is at its limit: its noise cannot show."""
FLAT = 0.02
"""A metric that their turn and width move by so little of its range is on a plateau there, and its noise may hide."""
CLEAR = 4.0
"""Perfect codes must lie so many standard deviations above noise, or no share of the range means anything."""

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
class Cell:
    """Holds a number, how it is shown, whether it speaks for the metric or against it, and what that means. What it is
    good for, or not, is a phrase of the verdict; some cells have none.
    """

    text: str
    value: float = math.nan
    mark: Mark = "none"
    meaning: str = ""
    use: str = ""
    avoid: str = ""


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
    for name, experiment in EXPERIMENTS.items():
        yield name, _share(audit, one, experiment, clear=clear)
    yield "settings", _settings(audit, one, width, clear=clear)
    yield "training", _training(audit, one)
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
    least = _percent(max(0.001, 1.96 * math.sqrt(2) * cell.value))
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
    return Cell(f"± {_percent(share)}", share, mark, means)


def _share(audit: Audit, one: AuditedMetric, experiment: Experiment, *, clear: bool) -> Cell:
    """Returns what is left of the range at the last level of the experiment."""
    if refusal := audit.refusal(one, experiment.last):
        does, why = ("undefined", "undefined there") if refusal == UNDEFINED else ("refuses", "it refuses them")
        return Cell(does, math.nan, "bad", refusal, avoid=f"{experiment.use} ({why})" if clear else "")
    first, last = audit.mean(one, experiment.first), audit.mean(one, experiment.last)
    width = first - audit.mean(one, experiment.nothing)
    if not clear or not math.isfinite(last) or not math.isfinite(width) or width == 0:
        return Cell("–", math.nan, "none", "no share of a range that is not clear")
    kept = 1 + (last - first) / width
    text = _percent(kept)
    if experiment.wish == "notice":
        means = f"of the range is left; to notice is to lose {_percent(1 - experiment.noticed)} or more"
        mark: Mark = "good" if kept <= experiment.noticed else "bad" if kept >= UNNOTICED else "between"
    else:
        means = f"of the range is left; to ignore is to move by {_percent(IGNORED)} or less"
        mark = "good" if abs(kept - 1) <= IGNORED else "bad" if abs(kept - 1) > MOVED else "between"
    use = experiment.use if mark == "good" else ""
    return Cell(text, kept, mark, means, use, experiment.use if mark == "bad" else "")


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
        return Cell(_percent(share), share, "none", f"{means}; {why}")
    if share <= STEADY:
        return Cell(_percent(share), share, "good", means, use="comparison with papers of other settings")
    mark: Mark = "bad" if share > SHIFTING else "between"
    avoid = "comparison with papers of other settings" if share > SHIFTING else ""
    return Cell(_percent(share), share, mark, means, avoid=avoid)


def _training(audit: Audit, one: AuditedMetric) -> Cell:
    if not audit.has_training:
        return Cell("not measured", meaning="Give runs with snapshots: unbraid audit RUNS")
    chance = later_is_better(audit.training(one), higher_is_better=one.higher_is_better is not False)
    if math.isnan(chance):
        why = audit.training_refusal(one)
        return Cell("refuses", meaning=f"It refused the codes of these runs. {why}")
    num_pairs = len(_wins(audit.training(one)))
    pairs = f"{num_pairs} pair{'s' * (num_pairs != 1)}"
    means = f"how often a later snapshot scores better than an earlier one, in {pairs}; 50 % is chance"
    text, told = _percent(chance), chance
    if one.higher_is_better is None or not one.metric.needs_factors:
        # No direction is better for a code of factors: what falls follows training as well as what rises.
        rises = later_is_better(audit.training(one))
        told = max(rises, 1 - rises)
        way, larger = ("rising", "larger") if rises >= 0.5 else ("falling", "smaller")
        means = f"how often a later snapshot has the {larger} value, in {pairs}; 50 % is chance"
        text = f"{_percent(told)}, {way}"
    if num_pairs < FEWEST_PAIRS:
        return Cell(text, chance, "none", f"{means}; {FEWEST_PAIRS} pairs or more say something: give more runs")
    if told >= TELLS_STEPS:
        return Cell(text, chance, "good", means, use="following training")
    mark: Mark = "bad" if told <= MIXES_STEPS else "between"
    return Cell(text, chance, mark, means, avoid="following training" if mark == "bad" else "")


def _agreement(agreement: Agreement, name: str) -> Cell:
    others = agreement.others(name)
    if not others:
        return Cell("–", meaning="There is no other metric to agree with.")
    nearest = next(iter(others))
    means = f"median rank correlation with the others; most with {nearest} ({others[nearest]:.2f})"
    return Cell(f"{agreement.median(name):.2f}".replace("-", "−"), agreement.median(name), "none", means)


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


def _percent(share: float) -> str:
    digits = 1 if 0 < abs(share) < 0.01 else 0
    return f"{100 * share:.{digits}f} %".replace("-0 %", "0 %").replace("-0.0 %", "0 %").replace("-", "−")
