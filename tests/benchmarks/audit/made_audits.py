"""Audits whose values are made up, so that their cells and verdicts are known."""

from collections.abc import Mapping, Sequence

from benchmarks.audit.design import MIDDLE, NOTHING, PERFECT, UNTURNED
from benchmarks.audit.experiments import EXPERIMENTS
from benchmarks.audit.findings import Audit, AuditedMetric, Measurement
from unbraid.metrics import MIG
from unbraid.metrics.metric import Metric

LAST = {name: experiment.last for name, experiment in EXPERIMENTS.items()}
SEEN = {"turned": 0.5, "copied": 0.5, "merged": 0.5, "dropped": 0.4, "width": 0.5}
"""What is left of the range of a metric that notices every fault."""
UNMOVED = {"noise": 1.0, "unused": 1.0, "dependent": 1.0, "measured": 1.0, "folded": 1.0}
"""What is left of the range of a metric that nothing else moves."""


def made(
    values: Mapping[str, float],
    metric: Metric = MIG(),  # noqa: B008 (frozen)
    *,
    middle: Sequence[float] = (0.500, 0.501),
    times: int = 3,
    unturned: float = 0.7,
    refused: Sequence[str] = (),
    others: Sequence[Measurement] = (),
    num_images: int = 1,
) -> Audit:
    """An audit of one metric with these values at the last levels of experiments, in shares of a range from 0 to 1.
    Codes of middling quality are drawn so many times over.
    """
    one = AuditedMetric(metric, "all")
    codes = {PERFECT.words: 1.0, NOTHING.words: 0.0}
    codes |= {experiment.first.words: 1.0 for experiment in EXPERIMENTS.values()}
    codes |= {experiment.nothing.words: 0.0 for experiment in EXPERIMENTS.values()}
    codes |= {UNTURNED.words: unturned}
    codes |= {LAST[name].words: value for name, value in values.items()}
    drawn = [Measurement("drawn", words, 0, values={one.name: value}) for words, value in codes.items()]
    redrawn = [*middle] * times
    again = [Measurement("drawn", MIDDLE.words, n, values={one.name: value}) for n, value in enumerate(redrawn)]
    no = [Measurement("drawn", LAST[name].words, 0, refused={one.name: "No."}) for name in refused]
    size = {"num_images": num_images, "num_seeds": 1, "num_redraws": len(redrawn)}
    return Audit((one,), (*drawn, *again, *no, *others), size, "0", "2026-01-01")


def together(*audits: Audit) -> Audit:
    """One audit of the metrics of all of these."""
    first, *others = audits
    found = {each.key: each for each in first.measurements}
    for audit in others:
        for each in audit.measurements:
            found[each.key] = found[each.key].joined(each) if each.key in found else each
    metrics = tuple(one for audit in audits for one in audit.metrics)
    return Audit(metrics, tuple(found.values()), first.size, first.version, first.date)
