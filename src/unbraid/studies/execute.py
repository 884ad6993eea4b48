"""A study from where it stands to its scores: fleet after fleet is trained, scored, and cut down to what is kept."""

import contextlib
import logging
import os
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, final

import torch

from unbraid.device import resolve_device
from unbraid.display import shown
from unbraid.errors import SpecError, TrainingError, UnbraidError
from unbraid.events import Event, part_of, tell
from unbraid.runs.extras import Extras, as_steps
from unbraid.runs.run_writer import RunWriter
from unbraid.studies.cluster.driver import Driver, FleetTask, Patience
from unbraid.studies.cluster.parcels import receive, settle_arrivals
from unbraid.studies.cluster.work import fleet_order, with_threads
from unbraid.studies.cluster.workforce import Where, Workforce, nodes_of_ray, num_workers, processes_here
from unbraid.studies.index import Index
from unbraid.studies.keeping import Keeping, let_go, register, registered
from unbraid.studies.plan import StudyFleet, StudyPlan, plan_study
from unbraid.studies.questions import Question, Questions
from unbraid.studies.run_records import RunRecord
from unbraid.studies.scorers import Scorers, scorers
from unbraid.studies.speed import Speed
from unbraid.studies.study import Study, StudyRun
from unbraid.training.options import TrainingOptions
from unbraid.training.train import train_runs

log = logging.getLogger(__name__)

_MOST_SCORERS_ON_A_GPU = 12
_MOST_IMAGES_FOR_A_CORE = 50_000


@final
@dataclass(frozen=True)
class StudyOptions:
    """How a study is run, never what it is. `budget` is in seconds: a fleet that would take longer is not begun.
    `fail_fast` ends at the first failure. `num_scorers` processes compute scores, by default one per core; with 0
    they are computed in this process, which takes classes of a notebook too. A terminal and a
    notebook show how far it is, unless `progress` is False.

    Several fleets at a time are trained by `num_workers` processes of this machine, by default one per GPU if it has
    more than one, or `on` "ray" by the cluster at this `address`; docs/cluster.md explains it. With `autoscaling` a
    fleet may ask for nodes that are yet to come. `patience` says when a fleet is taken for lost. With
    `latent_information_every` the histories of what is trained have what each latent says, and with `snapshots` its
    weights are kept after these steps, as in `train`. What studies `beside` this one ask of a run is computed when the
    run is scored, in one pass over its codes. `settings` are the labels of those that are run, by default of all.
    """

    device: torch.device | str = "auto"
    budget: float | None = None
    fail_fast: bool = False
    num_scorers: int | None = None
    packages: Sequence[str] = ("unbraid",)
    progress: bool = True
    on: Where = "local"
    address: str | None = None
    num_workers: int | None = None
    autoscaling: bool = False
    patience: Patience = field(default_factory=Patience)
    latent_information_every: int | None = None
    beside: Sequence[Study] = ()
    snapshots: Iterable[int] = ()
    settings: Sequence[str] = ()

    @property
    def device_here(self) -> torch.device:
        """Returns what this process itself computes on: beside a Ray cluster, which has the fleets, the CPU."""
        return resolve_device("cpu" if self.on == "ray" else self.device)

    @property
    def training(self) -> Mapping[str, Any]:
        """Returns the options of `train` that hold for every fleet, by name."""
        return {
            "resume": True,
            "latent_information_every": self.latent_information_every,
            "snapshots": as_steps(self.snapshots),
        }


@final
@dataclass(frozen=True)
class Outcome:
    """What `run_study` did. `failures` says by run why it has no scores, or not all; `not_begun` are fleets for which
    the budget was too short, `needed` the seconds that the shortest of them takes. `halved` says by run beside how many
    others of its fleet it was trained, itself included, where memory was too short for all: its last bits may differ.
    """

    num_trained: int
    num_scored: int
    failures: dict[str, str] = field(default_factory=dict)
    not_begun: tuple[StudyFleet, ...] = ()
    needed: float = 0.0
    halved: dict[str, int] = field(default_factory=dict)

    @property
    def is_complete(self) -> bool:
        return not self.not_begun and not self.failures


def run_study(study: Study, folder: Path | str, options: StudyOptions | None = None) -> Outcome:
    """Trains and scores what is missing of the study, and returns what was done. The same call goes on after any
    interruption; what is finished is not repeated.

    A run that fails is told in a warning when it does, and the others go on. A score of a run whose codes were let go
    is computed by training it again; its old folder is kept in `.aside`.
    """
    options = options or StudyOptions()
    with shown(options.progress):
        return _Execution(study, Path(folder), options).run()


@final
class _Execution:
    """One call of `run_study`."""

    def __init__(self, study: Study, folder: Path, options: StudyOptions) -> None:
        whole, study = study, study.only(options.settings)
        self._study, self._folder, self._options = study, folder, options
        self._deadline = None if options.budget is None else time.monotonic() + options.budget
        self._device = options.device_here
        self._num_workers = num_workers(options.num_workers, str(options.device)) if options.on == "local" else 0
        if options.on == "local" and (options.address or options.autoscaling):
            raise SpecError("An address and autoscaling are those of a Ray cluster. Add --on ray, or leave them out.")
        if options.budget is not None and self._num_workers != 1:
            raise SpecError("A budget is for one fleet at a time. Leave it out, or set num_workers=1 (--workers 1).")
        for setting in study.settings:
            Extras(as_steps(options.snapshots)).check(setting.spec.num_steps)
        self._speed = Speed(self._device)
        register(whole, folder)  # also where some settings are run: what it asks of the others stays protected
        self._questions = Questions(study)
        asking = registered(folder, options.packages)
        self._keeping = Keeping(asking, folder)
        self._beside = Keeping([study, *options.beside], folder) if options.beside else None
        self._failures: dict[str, str] = {}
        self._halved: dict[str, int] = {}
        self._by_folder: dict[Path, StudyRun] = {}
        self._num_trained, self._num_scored = 0, 0
        self._seconds_of_scoring = 0.0

    def run(self) -> Outcome:
        settle_arrivals(self._folder)
        plan = plan_study(self._study, self._folder)
        for name, why in plan.damaged.items():
            log.warning("%s cannot be read (%s) and is trained again.", name, why)
        self._by_folder = {each.run.folder: each for fleet in plan.fleets for each in fleet.runs}
        for each in plan.those_that_need("failed"):
            self._failures[each.name] = plan.records[each.name].reason
        asked = self._options.num_scorers
        count = _num_scorers(self._scoring_device) if asked is None else asked
        not_begun, needed = tuple[StudyFleet, ...](), 0.0
        with scorers(count, self._scoring_device, list(self._options.packages)) as pool:
            self._order(plan.those_that_need("scoring"), plan.records, pool)
            if self._num_workers == 1:
                not_begun, needed = self._train(plan, pool)
            elif plan.to_train:
                self._train_by_workers(plan)
            self._wait_for_scores(pool)
        self._let_go(plan.those_that_need("nothing"))  # of which a process that died has left more than is kept
        return Outcome(self._num_trained, self._num_scored, self._failures, not_begun, needed, self._halved)

    @property
    def _scoring_device(self) -> str:
        """Returns where scores are computed: on a GPU only if codes are so many that a core alone would take long."""
        return str(self._device) if self._has_many_images else "cpu"

    @property
    def _has_many_images(self) -> bool:
        return max(s.spec.dataset.num_images for s in self._study.settings) > _MOST_IMAGES_FOR_A_CORE

    def _train(self, plan: StudyPlan, pool: Scorers) -> tuple[tuple[StudyFleet, ...], float]:
        """Trains fleet after fleet while the budget lasts. Returns those that were not begun, and the seconds that the
        shortest of them takes.
        """
        waiting, needed = plan.to_train, dict[int, float]()
        total = len(waiting)
        for place, fleet in enumerate(waiting):
            if self._deadline is not None:
                seconds = self._seconds_of(fleet, plan)
                if time.monotonic() + seconds > self._deadline:
                    needed[place] = seconds
                    continue
            with part_of(Event(f"study {self._study.name}", place, total, "fleets")):
                self._train_fleet(fleet, plan)
            records = self._records(fleet.runs)
            self._order([each for each in fleet.runs if records[each.name].state == "finished"], records, pool)
            if self._device.type == "cpu":  # whose cores the next fleet wants
                self._wait_for_scores(pool)
            else:
                self._take_scores(pool)
        tell(Event(f"study {self._study.name}", total, total, "fleets"))
        return tuple(waiting[place] for place in needed), min(needed.values(), default=0.0)

    def _seconds_of(self, fleet: StudyFleet, plan: StudyPlan) -> float:
        """Returns about how long it takes to train a fleet and to score it, as scoring has taken so far."""
        count = sum(plan.needs[each.name] == "training" for each in fleet.runs)
        per_run = self._seconds_of_scoring / max(1, self._num_scored)
        return self._speed.seconds(fleet, count) + per_run * count

    def _train_fleet(self, fleet: StudyFleet, plan: StudyPlan) -> None:
        """Trains what the fleet needs. An error is told now; the next fleet may do better."""
        new = self._new(fleet, plan)
        began, error = time.monotonic(), ""
        try:
            with with_threads(self._study.threads):
                train_runs([each.run for each in fleet.runs], TrainingOptions(self._device, **self._options.training))
        except UnbraidError as raised:
            error = str(raised)
        else:
            self._speed.learn(fleet, (time.monotonic() - began) * len(fleet.runs) / max(1, len(new)))
        self._num_trained += sum(each.run.status == "finished" for each in new)
        for each in new:
            if failure := each.run.failure:
                self._fail(each, str(failure))
            elif error and each.run.status != "finished":
                self._fail(each, error)

    def _new(self, fleet: StudyFleet, plan: StudyPlan) -> list[StudyRun]:
        """Returns the runs of a fleet that are to be trained, with nothing of an earlier training in their way."""
        new = [each for each in fleet.runs if plan.needs[each.name] == "training"]
        for each in new:
            if plan.records[each.name].state == "finished":
                log.warning("%s is trained again: a score is asked of it, and its codes were let go.", each.name)
                RunWriter(each.run).put_aside()
        return new

    def _train_by_workers(self, plan: StudyPlan) -> None:
        """Hands all fleets to workers, and takes what comes back until each has come to an end."""
        fleets = {fleet.runs[0].name: self._new(fleet, plan) for fleet in plan.to_train}

        def take(task: FleetTask, answer: Mapping[str, Any], parcels: Iterable[bytes]) -> None:
            if not answer["is_home"]:
                receive(parcels, self._folder, task.key)
            self._take_fleet(fleets[task.key], answer["runs"])

        with self._workforce() as force:
            driver = Driver(force.workers, take, self._options.patience, name=f"study {self._study.name}")
            try:
                driver.run(FleetTask(key, self._fleet_order(runs, force)) for key, runs in fleets.items())
            finally:
                driver.cancel()
        for key, reason in driver.failures.items():
            for each in fleets[key]:
                self._fail(each, reason)

    def _workforce(self) -> contextlib.AbstractContextManager[Workforce]:
        options, threads = self._options, self._study.threads or torch.get_num_threads()
        if options.on == "local":
            return processes_here(self._num_workers, str(options.device), threads)
        return nodes_of_ray(
            options.address, str(options.device), threads, self._folder, autoscaling=options.autoscaling
        )

    def _fleet_order(self, runs: Sequence[StudyRun], force: Workforce) -> dict[str, Any]:
        nothing = RunRecord("new")
        return fleet_order(
            [(each, self._missing(each, nothing)) for each in runs],
            self._folder,
            device=force.device,
            scoring_device=force.device if self._has_many_images else "cpu",
            threads=force.threads,
            packages=self._options.packages,
            token=force.token,
            let_go=all(self._keeping.wants_scores_alone(each) for each in runs),
            training=self._options.training,
        )

    def _take_fleet(self, runs: Sequence[StudyRun], answers: Mapping[str, dict[str, Any]]) -> None:
        """Puts down what came of a fleet."""
        for each in runs:
            told = answers[each.name]
            if told["status"] != "finished":
                self._fail(each, told["reason"])
                continue
            self._num_trained += 1
            if told["side_by_side"] < len(runs):
                self._halved[each.name] = told["side_by_side"]
            self._took(each.run.folder, told["error"], told["failed"])

    def _fail(self, of: StudyRun, reason: str) -> None:
        """Says that a run failed, and ends the study if it is to fail fast."""
        if reason not in self._failures.values():
            log.warning("%s: %s", of.name, reason)
        self._failures[of.name] = reason
        if self._options.fail_fast:
            raise TrainingError(f"{of.name} failed, and the study was to end at the first failure: {reason}")

    def _order(self, runs: Sequence[StudyRun], records: Mapping[str, RunRecord], pool: Scorers) -> None:
        """Orders the scores that the study asks of these runs and, where arrays are to go, those of all studies."""
        for each in runs:
            if questions := self._missing(each, records[each.name]):
                pool.give(each.run.folder, questions)

    def _missing(self, of: StudyRun, record: RunRecord) -> list[Question]:
        if self._study.keep != "all":
            return self._keeping.missing(of, record)
        return self._beside.missing(of, record) if self._beside else self._questions.missing(of.setting.spec, record)

    def _take_scores(self, pool: Scorers) -> None:
        """Takes the scores that are there."""
        while scored := pool.next(wait=False):
            self._took(scored.folder, scored.error, scored.failed)

    def _wait_for_scores(self, pool: Scorers) -> None:
        began, before, last = time.monotonic(), self._num_scored, pool.num_waiting
        with part_of(Event("scoring", 0, 1)) if last else contextlib.nullcontext():
            while scored := pool.next(wait=True):
                self._took(scored.folder, scored.error, scored.failed)
                tell(Event("scoring", last - pool.num_waiting, last, "runs"))
        if self._num_scored > before:
            self._seconds_of_scoring += time.monotonic() - began

    def _took(self, folder: Path, error: str, failed: dict[str, str]) -> None:
        """Puts down what came of scoring a run, and lets go of what nothing needs any more."""
        each = self._by_folder[folder]
        self._num_scored += 1
        failed = {name: why for name, why in failed.items() if name in self._study.asked}
        if error or failed:
            last = next(iter(failed.values()), "").strip().rpartition("\n")[2]
            self._fail(each, f"it could not be scored: {error or ', '.join(failed) + ' failed: ' + last}")
        self._let_go(self._keeping.siblings(each))

    def _let_go(self, runs: Sequence[StudyRun]) -> None:
        """Removes what nothing needs any more of these runs, which are all seeds of their settings."""
        if self._study.keep != "all":
            let_go(runs, self._keeping, self._records(runs))

    def _records(self, runs: Sequence[StudyRun]) -> dict[str, RunRecord]:
        with Index(self._folder) as index:
            return index.records([each.name for each in runs])


def retry_study(study: Study, folder: Path | str) -> list[StudyRun]:
    """Puts the failed runs of the study aside, so that `run_study` trains them afresh, and returns them."""
    plan = plan_study(study, Path(folder))
    failed = plan.those_that_need("failed")
    for each in failed:
        RunWriter(each.run).put_aside()
    return failed


def _num_scorers(device: str) -> int:
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, cores) if device == "cpu" else max(1, min(cores - 1, _MOST_SCORERS_ON_A_GPU))
