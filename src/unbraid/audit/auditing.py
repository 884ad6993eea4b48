"""Measures the metrics themselves: by codes whose truth is known, by redrawing, by their settings, along training."""

import dataclasses
import datetime
import os
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, final

from unbraid.audit.auditor import PROGRAM, drawn, measured, order, snapshot, told
from unbraid.audit.design import MIDDLE, NOTHING, PERFECT, Design
from unbraid.audit.experiments import EXPERIMENTS, Experiment
from unbraid.audit.findings import Audit, AuditedMetric, Measurement
from unbraid.audit.variations import variations
from unbraid.display import shown
from unbraid.errors import RunError, SpecError, UnbraidError
from unbraid.evaluation.selection import VARIANTS, Metrics, metric_of, registry, select
from unbraid.events import Event, tell
from unbraid.metrics.metric import Metric
from unbraid.runs.run import Run
from unbraid.studies.line_workers import line_workers
from unbraid.version import __version__

_NUM_TRIED = 64


@final
@dataclass(frozen=True)
class Size:
    """Holds how large an audit is: images of each drawn code; seeds of each level; how often codes of middling quality
    are drawn again, and measured with other seeds of the metric; how many settings are tried; and whether experiments
    have levels between the first and the last.
    """

    num_images: int = 800
    num_seeds: int = 2
    num_redraws: int = 6
    num_own_seeds: int = 3
    max_variations: int = 100
    is_whole: bool = True

    def __post_init__(self) -> None:
        least = {"num_images": 40, "num_seeds": 1, "num_redraws": 2, "num_own_seeds": 2, "max_variations": 0}
        for name, number in least.items():
            if getattr(self, name) < number:
                raise SpecError(f"Size: {name} is {getattr(self, name)}; expected {number} or more.")

    @property
    def experiments(self) -> Mapping[str, Experiment]:
        """Returns the experiments by name, with the levels of this size."""
        return {name: each if self.is_whole else each.shortened() for name, each in EXPERIMENTS.items()}


SIZES: Mapping[str, Size] = {"quick": Size(120, 1, 2, 2, 2, is_whole=False), "full": Size()}
"""How thorough an audit is, by name."""


def audit(
    metrics: Metrics | None = None,
    *,
    runs: Sequence[Run] = (),
    size: Size | str = "full",
    num_processes: int | None = None,
    packages: Sequence[str] = (),
    trust: str | None = None,
    progress: bool = True,
) -> Audit:
    """Returns how far each metric can be trusted, and for what. Without names, every metric of the library is audited.

    `runs` are those whose snapshots are measured, to see which metrics tell how far training is; `size` is "full",
    "quick", or a Size. Work is done by `num_processes`, as many as there are cores by default; 0 is this process. They
    open the runs again: `packages` and `trust` are what `Run.open` takes.
    """
    chosen = _size(size)
    audited = {name: _dressed(metric) for name, metric in audited_metrics(metrics).items()}
    if not any(one.dress for one in audited.values()):
        reasons = "; ".join(f"{name}: {one.refusal}" for name, one in audited.items())
        raise UnbraidError(f"None of the metrics takes codes as they are drawn here. {reasons}")
    orders = dict(_orders(audited, chosen, packages)) | dict(
        _training(audited, chosen, _snapshots(runs), packages, trust)
    )
    answers = dict[str, Any]()
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    processes = cores if num_processes is None else num_processes
    with shown(progress), line_workers(processes, PROGRAM, told) as workers:
        for key, (line, _) in orders.items():
            workers.give(key, line)
        while (answered := workers.next(wait=True)) is not None:
            key, answers[key] = answered
            if "error" in answers[key]:
                raise UnbraidError(f"{key} could not be measured: {answers[key]['error']}")
            tell(Event("metrics on drawn codes", len(answers), len(orders), "codes"))
    measurements = tuple(
        replace(orders[key][1], values=answers[key]["values"], refused=answers[key]["refused"]) for key in orders
    )
    day = datetime.datetime.now(datetime.UTC).date().isoformat()
    return Audit(tuple(audited.values()), measurements, dataclasses.asdict(chosen), __version__, day)


def audited_metrics(metrics: Metrics | None) -> dict[str, Metric]:
    """Returns the metrics to audit by name: those asked for, or all that the library lists, with the variants that
    readers of papers look for.
    """
    asked = [*(cls() for cls in registry().values()), *map(metric_of, VARIANTS)] if metrics is None else metrics
    selection = select(asked)
    if selection.model_scores:
        raise SpecError(
            f"{', '.join(selection.model_scores)} scores models on their images, and an audit draws codes alone. Leave "
            "it out."
        )
    return selection.metrics


def _size(size: Size | str) -> Size:
    if isinstance(size, Size):
        return size
    if size not in SIZES:
        raise SpecError(f"size is {size!r}; expected {' or '.join(map(repr, SIZES))}, or a Size.")
    return SIZES[size]


def _dressed(metric: Metric) -> AuditedMetric:
    """Returns the metric with the kind of factors that it takes: values, or if it refuses them, attributes of two."""
    refusal = ""
    for dress in ("all", "halves"):
        answer = measured(replace(PERFECT, values=dress).draw(_NUM_TRIED, 0), {"it": metric})
        if answer["values"]:
            return AuditedMetric(metric, dress)
        refusal = refusal or answer["refused"]["it"]
    return AuditedMetric(metric, "", refusal)


def _orders(
    audited: Mapping[str, AuditedMetric], size: Size, packages: Sequence[str]
) -> Iterator[tuple[str, tuple[str, Measurement]]]:
    """Returns by a key of its own what each process is to do, and the measurement that comes of it."""
    usable = {name: one for name, one in audited.items() if one.dress}
    wanted: dict[tuple[Design, int], dict[str, Metric]] = defaultdict(dict)
    for name, one in usable.items():
        for design in dict.fromkeys(_designs(size)):
            for seed in range(size.num_redraws if design == MIDDLE else size.num_seeds):
                wanted[one.dressed(design), seed][name] = one.metric
    # The widest codes first: what takes longest must not be left for the end.
    for (design, seed), metrics in sorted(wanted.items(), key=lambda item: -item[0][0].unused - item[0][0].noise):
        line = order(drawn(design, size.num_images, seed), metrics, packages)
        yield f"{design.words}, seed {seed}", (line, Measurement("drawn", design.words, seed))
    for name, one in usable.items():
        codes = drawn(one.dressed(MIDDLE), size.num_images, 0)
        for seed in range(1, size.num_own_seeds + 1):
            [seeded] = select([one.metric], seed).metrics.values()
            if seeded != one.metric:
                yield (
                    f"{name} with the seed {seed}",
                    (order(codes, {name: seeded}, packages), Measurement("own seed", MIDDLE.words, seed)),
                )
        changed = dict(list(variations(one.metric).items())[: size.max_variations])
        if changed:
            line = order(codes, changed, packages)
            yield f"settings of {name}", (line, Measurement("settings", MIDDLE.words, 0, of=name))


def _training(
    audited: Mapping[str, AuditedMetric],
    size: Size,
    snapshots: Sequence[tuple[Run, int]],
    packages: Sequence[str],
    trust: str | None,
) -> Iterator[tuple[str, tuple[str, Measurement]]]:
    """Returns the same of snapshots."""
    metrics = {name: one.metric for name, one in audited.items() if one.dress}
    for run, step in snapshots:
        line = order(snapshot(run, step, size.num_images, trust), metrics, packages)
        yield f"{run.name} after {step}", (line, Measurement("training", run.name, run.seed, step=step))


def _designs(size: Size) -> Iterator[Design]:
    yield from (PERFECT, NOTHING, MIDDLE)
    for experiment in size.experiments.values():
        yield from experiment.levels.values()


def _snapshots(runs: Sequence[Run]) -> list[tuple[Run, int]]:
    """Returns the runs and steps whose codes are measured: snapshots, and the end of training."""
    found = [(run, step) for run in runs for step in sorted({*run.snapshots, run.spec.num_steps}) if run.snapshots]
    if runs and not found:
        raise RunError(
            f"None of the {len(runs)} runs has snapshots. Train with --snapshots 100,1000 (train(snapshots=...)), or "
            "audit without runs."
        )
    return found
