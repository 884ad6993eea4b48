"""Audit: every value that was measured, from which the table, its verdicts and its figures are computed."""

import json
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from typing import Any, Literal, final

from benchmarks.audit.design import MIDDLE, NOTHING, Design, Values
from unbraid.config import from_json, text_of, to_json
from unbraid.errors import UnbraidError
from unbraid.metrics.metric import Metric

UNDEFINED = "It has no finite value for these codes."
"""What is told of a metric that took codes, and found no number."""

Kind = Literal["drawn", "own seed", "settings", "training"]


def part_name(name: str, part: str = "") -> str:
    """Returns what the values of a part are called, after the name of the metric: "dci completeness"."""
    return f"{name} {part.replace('_', ' ')}" if part else name


@final
@dataclass(frozen=True)
class AuditedMetric:
    """Holds a metric and its dress: what is known of factors in the codes that it is shown. It is "" where it takes
    none of them, and `refusal` says why. Where a `part` is named, that part of the score is audited, not the value.
    """

    metric: Metric
    dress: Values | Literal[""]
    refusal: str = ""
    part: str = ""

    @cached_property
    def name(self) -> str:
        return part_name(text_of(self.metric), self.part)

    @property
    def higher_is_better(self) -> bool | None:
        return self.metric.reported_parts[self.part] if self.part else self.metric.higher_is_better

    @property
    def with_parts(self) -> "tuple[AuditedMetric, ...]":
        """Returns the metric, and the same for each part that is reported as a score of its own."""
        return (self, *(replace(self, part=part) for part in (self.metric.reported_parts if self.dress else ())))

    def dressed(self, design: Design) -> Design:
        """Returns the design as the metric is shown it."""
        return replace(design, values=self.dress) if self.dress and design.values == "all" else design


@final
@dataclass(frozen=True)
class Measurement:
    """Holds the values of metrics on one code by name, and the sentences of those that refused it.

    `codes` is the design in words, or a run; `step` is that of a snapshot. Where settings were tried, they are those
    `of` a metric, and the names are those of the settings.
    """

    kind: Kind
    codes: str
    seed: int
    step: int = 0
    of: str = ""
    values: Mapping[str, float] = field(default_factory=dict)
    refused: Mapping[str, str] = field(default_factory=dict)

    @property
    def key(self) -> tuple[str, str, int, int, str]:
        """Returns what was measured, by whichever metrics."""
        return (self.kind, self.codes, self.seed, self.step, self.of)

    def joined(self, other: "Measurement") -> "Measurement":
        """Returns the values of both: those of the other where both have one."""
        return replace(self, values={**self.values, **other.values}, refused={**self.refused, **other.refused})


@final
@dataclass(frozen=True)
class Audit:
    """Holds what an audit measured. `benchmarks.audit.table` makes a table of it, `benchmarks.audit.page` a page."""

    metrics: tuple[AuditedMetric, ...]
    measurements: tuple[Measurement, ...]
    size: Mapping[str, Any]
    version: str
    date: str

    def values(self, metric: AuditedMetric, design: Design) -> list[float]:
        """Returns the values of the metric on codes of the design, one for each seed; none if it refused them."""
        found = self._drawn.get(metric.dressed(design).words, [])
        return [each.values[metric.name] for each in found if metric.name in each.values]

    def refusal(self, metric: AuditedMetric, design: Design) -> str:
        """Returns why the metric refused codes of the design; an empty text if it did not."""
        found = self._drawn.get(metric.dressed(design).words, [])
        return next((each.refused[metric.name] for each in found if metric.name in each.refused), "")

    def was_shown(self, metric: AuditedMetric, design: Design) -> bool:
        """Returns whether the metric was shown codes of the design: it has values of them, or refused them."""
        return bool(self.values(metric, design) or self.refusal(metric, design))

    def range(self, metric: AuditedMetric) -> float:
        """Returns by how much perfect codes score above codes of noise."""
        return self.mean(metric, Design()) - self.mean(metric, NOTHING)

    def mean(self, metric: AuditedMetric, design: Design) -> float:
        """Returns the mean over seeds, NaN if there is none."""
        values = self.values(metric, design)
        return statistics.fmean(values) if values else float("nan")

    def own_seeds(self, metric: AuditedMetric) -> list[float]:
        """Returns the values on the same codes with other seeds of the metric; none if nothing in it is random."""
        found = [each.values[metric.name] for each in self._of("own seed") if metric.name in each.values]
        return [*self.values(metric, MIDDLE)[:1], *found] if found else []

    def settings(self, metric: AuditedMetric) -> dict[str, float]:
        """Returns the values on the same codes with other settings, by what is typed for them."""
        found = {
            name: value
            for each in self._of("settings")
            if each.of == text_of(metric.metric)
            for name, value in each.values.items()
        }
        ends = {part: part_name("", part) for part in metric.metric.reported_parts}
        if metric.part:
            end = ends[metric.part]
            return {name.removesuffix(end): value for name, value in found.items() if name.endswith(end)}
        return {name: value for name, value in found.items() if not name.endswith(tuple(ends.values()))}

    def training(self, metric: AuditedMetric) -> dict[str, dict[int, float]]:
        """Returns the values of snapshots, by run and by step."""
        found: dict[str, dict[int, float]] = {}
        for each in self._of("training"):
            if metric.name in each.values:
                found.setdefault(each.codes, {})[each.step] = each.values[metric.name]
        return {run: dict(sorted(values.items())) for run, values in found.items()}

    def training_refusal(self, metric: AuditedMetric) -> str:
        """Returns why the metric refused the codes of snapshots; an empty text if it did not."""
        return next((each.refused[metric.name] for each in self._of("training") if metric.name in each.refused), "")

    @property
    def has_training(self) -> bool:
        return bool(self._of("training"))

    def _of(self, kind: Kind) -> list[Measurement]:
        return [each for each in self.measurements if each.kind == kind]

    @cached_property
    def _drawn(self) -> dict[str, list[Measurement]]:
        found: dict[str, list[Measurement]] = {}
        for each in sorted(self._of("drawn"), key=lambda one: one.seed):
            found.setdefault(each.codes, []).append(each)
        return found

    def to_json(self) -> str:
        """Returns everything as JSON, values to five digits: fewer than noise leaves certain."""
        metrics = [
            {"metric": to_json(one.metric), "dress": one.dress, "refusal": one.refusal, "part": one.part}
            for one in self.metrics
        ]
        measurements = [
            json.dumps({key: value for key, value in _short(asdict(each)).items() if value or key == "seed"})
            for each in self.measurements
        ]
        head = {"version": self.version, "date": self.date, "size": dict(self.size), "metrics": metrics}
        lines = ",\n  ".join(measurements)
        return json.dumps(head, indent=1)[:-2] + f',\n "measurements": [\n  {lines}\n ]\n}}\n'

    @classmethod
    def from_json(cls, text: str, *, packages: Sequence[str] = ()) -> "Audit":
        """Returns the audit that `to_json` wrote. Metrics of one's own are read by naming their `packages`."""
        try:
            content = json.loads(text)
            metrics = tuple(
                AuditedMetric(
                    from_json(one["metric"], Metric, packages=packages), one["dress"], one["refusal"], one["part"]
                )
                for one in content["metrics"]
            )
            measurements = tuple(Measurement(**each) for each in content["measurements"])
            return cls(metrics, measurements, content["size"], content["version"], content["date"])
        except (ValueError, KeyError, TypeError) as error:
            raise UnbraidError(
                f"This is no audit ({error}). Expected a file that `python -m benchmarks.audit --save` wrote."
            ) from None


def _short(content: dict[str, Any]) -> dict[str, Any]:
    return content | {"values": {name: float(f"{value:.5g}") for name, value in content["values"].items()}}
