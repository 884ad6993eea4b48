"""Measures the metrics themselves: by codes whose truth is known, by redrawing, by their settings, along training."""

import dataclasses
import datetime
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from typing import Any, final

from benchmarks.audit.auditor import drawn, measured, order, snapshot
from benchmarks.audit.contents import Contents
from benchmarks.audit.design import MIDDLE, NOTHING, PERFECT, UNTURNED, Design
from benchmarks.audit.findings import Audit, AuditedMetric, Measurement
from benchmarks.audit.sizes import Size, size_name, size_of
from benchmarks.audit.variations import variations
from unbraid._internal.cpu import usable_cores
from unbraid._internal.progress import Event, emit, progress_bar
from unbraid._internal.version import __version__
from unbraid._internal.worker_pool import Ended, WorkerPool
from unbraid.config.text import split
from unbraid.errors import RunError, SpecError, UnbraidError
from unbraid.metrics.metric import Metric
from unbraid.metrics.selection import VARIANTS, Metrics, metric_of, registry, select
from unbraid.training.runs.run import Run

# Beside the variants that every card has: it is another question.
_MORE_VARIANTS = ("mcc:weak",)
_NUM_TRIED = 64
_TASK = "benchmarks.audit.auditor:measure"
_SECONDS_BETWEEN = 20.0


def audit(
    metrics: Metrics | None = None,
    *,
    runs: Sequence[Run] = (),
    size: Size | str = "full",
    num_processes: int | None = None,
    packages: Sequence[str] = (),
    earlier: Audit | None = None,
    keep: Callable[[Audit], None] | None = None,
    progress: bool = True,
) -> Audit:
    """Returns how far each metric can be trusted, and for what. Without names, every metric of the library is audited.

    `runs` are those whose snapshots are measured, to see which metrics tell how far training is; `size` is "full",
    "quick", or a Size. Work is done by `num_processes`, as many as there are cores by default; 0 is this process. They
    open the runs again: `packages` is what `Run.open` takes. What an `earlier` audit of this size has
    measured is not measured again and stays; what it has left unfinished is finished. `keep` is handed what there is so
    far: now and then, at the end, and when the audit is stopped by Ctrl-C or by an error.
    """
    chosen = size_of(size)
    audited = {name: _dressed(metric) for name, metric in audited_metrics(metrics).items()}
    whole = {one.name: one for one in (earlier.metrics if earlier else ()) if not one.part} | audited
    united = [one for metric in whole.values() for one in metric.with_parts]
    if not any(one.dress for one in audited.values()):
        reasons = "; ".join(f"{name}: {one.refusal}" for name, one in audited.items())
        raise UnbraidError(f"None of the metrics takes codes as they are drawn here. {reasons}")
    known = _known(earlier, chosen)
    orders = [
        each.without(known.get(each.measurement.key))
        # Snapshots first: one that cannot be read is told before the rest is measured.
        for each in (*_training(audited, chosen, _snapshots(runs)), *_orders(whole, chosen))
    ]
    waiting = {str(place): each for place, each in enumerate(orders) if each.metrics}

    def so_far() -> Audit:
        day = datetime.datetime.now(datetime.UTC).date().isoformat()
        return Audit(tuple(united), tuple(known.values()), dataclasses.asdict(chosen), __version__, day)

    num_done, kept_at = 0, time.monotonic()
    count = usable_cores() if num_processes is None else num_processes
    with progress_bar(show=progress), closing(WorkerPool(_TASK, [{"OMP_NUM_THREADS": "1"}] * count)) as workers:
        try:
            for measurement in _answers(workers, waiting, packages):
                key = measurement.key
                known[key] = known[key].joined(measurement) if key in known else measurement
                num_done += 1
                emit(Event("metrics on drawn codes", num_done, len(waiting), "codes"))
                if keep is not None and time.monotonic() - kept_at > _SECONDS_BETWEEN:
                    keep(so_far())
                    kept_at = time.monotonic()
        finally:  # what was measured outlives Ctrl-C, and a code that could not be measured
            if keep is not None and (num_done or not waiting):
                keep(so_far())
    return so_far()


def coming(metrics: Metrics | None, runs: Sequence[Run], size: Size | str, earlier: Audit | None) -> Contents:
    """Returns what an audit will hold, without measuring anything. What the audit would refuse is refused."""
    chosen = size_of(size)
    names, snapshots = audited_metrics(metrics), _snapshots(runs)
    _known(earlier, chosen)
    asked = Contents(
        __version__,
        dataclasses.asdict(chosen),
        frozenset(names),
        frozenset((run.name, step) for run, step in snapshots),
    )
    return asked if earlier is None else asked.joined(Contents.of(earlier))


def _answers(workers: WorkerPool, waiting: "Mapping[str, _Order]", packages: Sequence[str]) -> Iterator[Measurement]:
    """Returns measurements as they come. Without processes each is made when it is ordered, so none is left waiting."""
    for place, each in waiting.items():
        workers.submit(place, order(each.codes, each.metrics, packages))
        yield from (waiting[str(ended.task_id)].answered(ended) for ended in workers.wait(0))
    while workers.num_waiting:
        yield from (waiting[str(ended.task_id)].answered(ended) for ended in workers.wait(_SECONDS_BETWEEN))


@final
@dataclass(frozen=True)
class _Order:
    """Holds which codes are measured by which metrics, and the measurement that comes of it, still without values."""

    measurement: Measurement
    codes: Mapping[str, Any]
    metrics: Mapping[str, Metric]

    def without(self, known: Measurement | None) -> "_Order":
        """Returns the order without what is known."""
        if known is None:
            return self
        return replace(
            self,
            metrics={
                name: metric
                for name, metric in self.metrics.items()
                if name not in known.values and name not in known.refused
            },
        )

    def answered(self, ended: Ended) -> Measurement:
        """Returns the measurement with the answer of a process."""
        if ended.how != "answered":
            raise UnbraidError(f"{self.measurement.codes} could not be measured: {ended.reason}")
        return replace(self.measurement, values=ended.answer["values"], refused=ended.answer["refused"])


def _known(earlier: Audit | None, size: Size) -> dict[tuple[str, str, int, int, str], Measurement]:
    if earlier is None:
        return {}
    if earlier.version != __version__:
        raise SpecError(
            f"The earlier audit (--save) was measured by unbraid {earlier.version}, and this is {__version__}: numbers "
            "of two versions cannot stand in one table. Begin a new file."
        )
    if earlier.size != dataclasses.asdict(size):
        has, asked = size_name(earlier.size), size_name(dataclasses.asdict(size))
        raise SpecError(
            f"The earlier audit (--save) has size {has}, and {asked} was asked for: numbers of two sizes cannot stand "
            f"in one table. Ask for size {has}, or begin a new file."
        )
    return {each.key: each for each in earlier.measurements}


def audited_metrics(metrics: Metrics | None) -> dict[str, Metric]:
    """Returns the metrics to audit by name: those asked for, or all that the library lists, each with the variants that
    readers of papers look for.
    """
    if isinstance(metrics, str) and "" in split(metrics, ";" if ";" in metrics else ","):
        raise SpecError(
            f"metrics is {metrics!r}, in which a name is empty; expected names separated by commas, such as "
            "mig,dci:forest. Leave it out to audit every metric."
        )
    variants = [metric_of(name) for name in (*VARIANTS, *_MORE_VARIANTS)]
    listed = [one for cls in registry().values() for one in (cls(), *(each for each in variants if type(each) is cls))]
    selection = select(listed if metrics is None else metrics)
    if selection.model_scores:
        raise SpecError(
            f"{', '.join(selection.model_scores)} scores models on their images, and an audit draws codes alone. Leave "
            "it out."
        )
    return selection.metrics


def _dressed(metric: Metric) -> AuditedMetric:
    """Returns the metric with the kind of factors that it takes: values, or if it refuses them, attributes of two."""
    refusal = ""
    for dress in ("all", "halves"):
        answer = measured(replace(PERFECT, values=dress).draw(_NUM_TRIED, 0), {"it": metric})
        if answer["values"]:
            return AuditedMetric(metric, dress)
        refusal = refusal or answer["refused"]["it"]
    return AuditedMetric(metric, "", refusal)


def _orders(audited: Mapping[str, AuditedMetric], size: Size) -> Iterator[_Order]:
    """Returns what processes are to do with drawn codes."""
    usable = {name: one for name, one in audited.items() if one.dress}
    wanted: dict[tuple[Design, int], dict[str, Metric]] = defaultdict(dict)
    for name, one in usable.items():
        for design in dict.fromkeys(_designs(size)):
            for seed in range(size.num_redraws if design == MIDDLE else size.num_seeds):
                wanted[one.dressed(design), seed][name] = one.metric
    # The widest codes first: what takes longest must not be left for the end.
    for (design, seed), metrics in sorted(wanted.items(), key=lambda item: -item[0][0].unused - item[0][0].noise):
        yield _Order(Measurement("drawn", design.words, seed), drawn(design, size.num_images, seed), metrics)
    for name, one in usable.items():
        codes = drawn(one.dressed(MIDDLE), size.num_images, 0)
        for seed in range(1, size.num_own_seeds + 1):
            [seeded] = select([one.metric], seed).metrics.values()
            if seeded != one.metric:
                yield _Order(Measurement("own seed", MIDDLE.words, seed), codes, {name: seeded})
        changed = dict(list(variations(one.metric, size.num_images).items())[: size.max_variations])
        yield _Order(Measurement("settings", MIDDLE.words, 0, of=name), codes, changed)


def _training(
    audited: Mapping[str, AuditedMetric], size: Size, snapshots: Sequence[tuple[Run, int]]
) -> Iterator[_Order]:
    """Returns what processes are to do with snapshots."""
    metrics = {name: one.metric for name, one in audited.items() if one.dress}
    for run, step in snapshots:
        codes = snapshot(run, step, size.num_images)
        yield _Order(Measurement("training", run.name, run.seed, step=step), codes, metrics)


def _some(names: Iterable[str]) -> str:
    first, *others = names
    return f"{first} and {len(others)} more runs" if others else first


def _designs(size: Size) -> Iterator[Design]:
    yield from (PERFECT, NOTHING, MIDDLE, UNTURNED)
    for experiment in size.experiments.values():
        yield from (*experiment.levels.values(), experiment.nothing)


def _snapshots(runs: Sequence[Run]) -> list[tuple[Run, int]]:
    """Returns the runs and steps whose codes are measured: snapshots, and the end of training where its weights are
    kept.
    """
    found = [
        (run, step)
        for run in runs
        if run.snapshots
        for step in sorted({*run.snapshots, *(() if run.removed_files else (run.spec.num_steps,))})
    ]
    if runs and not found:
        raise RunError(
            f"No snapshots were kept of {_some(run.name for run in runs)}, and an audit looks at steps along training. "
            f"Train with snapshots: unbraid train --spec {runs[0].folder / 'spec.json'} --snapshots 100,1000 --out NEW "
            "(in Python, TrainingOptions(snapshots=[100, 1000])). Or audit without runs."
        )
    return found
