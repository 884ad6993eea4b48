"""Execution of a study: trains and scores the missing runs, fleet by fleet."""

import contextlib
import logging
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, final

import torch

from unbraid._internal.cpu import torch_threads, usable_cores
from unbraid._internal.device import resolve_device
from unbraid._internal.progress import Event, emit, part_of, progress_bar
from unbraid._internal.worker_pool import WorkerPool
from unbraid.config.digest import classes_of_main
from unbraid.errors import RunError, SpecError, TrainingError, TrainingInterrupted, UnbraidError
from unbraid.studies.cluster.driver import Driver, FleetTask, Workers, num_workers, start_processes
from unbraid.studies.cluster.fleet_task import finish_transfers, fleet_request, last_line, receive
from unbraid.studies.index import read_records
from unbraid.studies.plan import Speed, StudyFleet, StudyPlan, plan_study
from unbraid.studies.requirements import Retention, questions_to_json, register, registered
from unbraid.studies.run_records import RunRecord
from unbraid.studies.study import Study, StudyOptions, StudyRun
from unbraid.training.interrupt import terminable
from unbraid.training.options import TrainingOptions
from unbraid.training.runs.run_writer import RunWriter
from unbraid.training.train import train_runs

log = logging.getLogger(__name__)

_MAX_SCORERS_ON_A_GPU = 12
_MAX_IMAGES_FOR_A_CORE = 50_000  # codes of more images are scored on the GPU, if there is one


@final
@dataclass
class Outcome:
    """Result of `run_study`.

    Attributes:
        num_trained: The number of runs trained by this call.
        num_scored: The number of runs scored by this call.
        failures: The reason why scores are missing, by the name of the run.
        not_begun: Fleets that were not started, because the budget is too small.
        needed: The estimated seconds of the shortest fleet in `not_begun`.
        halved: The number of models trained side by side, by the name of the run, for fleets that did not fit into
            memory. The last bits of their results may differ.
    """

    num_trained: int = 0
    num_scored: int = 0
    failures: dict[str, str] = field(default_factory=dict)
    not_begun: tuple[StudyFleet, ...] = ()
    needed: float = 0.0
    halved: dict[str, int] = field(default_factory=dict)


def run_study(study: Study, folder: Path | str, options: StudyOptions | None = None) -> Outcome:
    """Trains and scores the missing runs of a study. To resume after an interruption, repeat the call.

    Failures are logged as they happen, and other runs continue. A run with a missing score and removed codes is trained
    again, and its old folder is moved to `.archived`.
    """
    options = options or StudyOptions()
    try:
        with progress_bar(show=options.progress):
            return _Execution(study, Path(folder), options).run()
    except KeyboardInterrupt as stopped:
        raise TrainingInterrupted(
            "The study was interrupted. Finished runs and checkpoints are kept. To resume, repeat the same command or "
            "call.",
            getattr(stopped, "runs", ()),
            at_once=getattr(stopped, "at_once", False),
        ) from None


def retry_study(study: Study, folder: Path | str) -> list[StudyRun]:
    """Archives the failed runs of the study, so that `run_study` trains them again. Returns the archived runs."""
    plan = plan_study(study, Path(folder))
    failed = plan.runs_that_need("failed")
    for each in failed:
        RunWriter(each.run).archive()
    return failed


def _in_this_process(study: Study, options: StudyOptions) -> StudyOptions:
    """Returns the options, changed to use only this process if other processes cannot import classes of the study."""
    if not (names := classes_of_main(study)):
        return options
    if options.on == "ray":
        raise SpecError(
            f"Expected classes that workers of a cluster can import, got {', '.join(names)} from a script or a "
            "notebook. Move the class into a module."
        )
    log.warning("%s is defined in a script or a notebook, so the study runs in this process.", ", ".join(names))
    return replace(options, num_workers=1, num_scorers=0)


@final
class _Execution:
    """State of one call of `run_study`."""

    def __init__(self, study: Study, folder: Path, options: StudyOptions) -> None:
        whole, study = study, study.only(options.settings)
        options = _in_this_process(study, options)
        self._study, self._folder, self._options = study, folder, options
        if options.on == "local" and (options.address or options.autoscaling):
            raise SpecError("`address` and `autoscaling` require on='ray' (--on ray). Add it, or leave them out.")
        self._num_workers = 0 if options.on == "ray" else num_workers(options.num_workers, options.device)
        if options.budget is not None and self._num_workers != 1:
            raise SpecError(f"`budget` is {options.budget}, but requires one worker. Set num_workers=1 (--workers 1).")
        training = TrainingOptions(snapshots=options.snapshots)
        for setting in study.settings:
            training.check(setting.spec.num_steps)
        every = options.latent_information_every
        shared = {"workers": 0, "snapshots": training.snapshots}  # a study assigns its runs to fleets itself
        self._training: dict[str, Any] = {"latent_information_every": every, **shared}
        self._deadline = None if options.budget is None else time.monotonic() + options.budget
        self._device = resolve_device("cpu" if options.on == "ray" else options.device)  # of this process
        self._has_many_images = max(s.spec.dataset.num_images for s in study.settings) > _MAX_IMAGES_FOR_A_CORE
        self._scoring_device = str(self._device) if self._has_many_images else "cpu"
        self._speed = Speed(self._device)
        for each in (whole, *options.beside):  # whole, so that arrays of all its settings are kept
            register(each, folder)
        self._retention = Retention(registered(folder, options.packages), folder)
        count = options.num_scorers
        if count is None:
            on_gpu = max(1, min(usable_cores() - 1, _MAX_SCORERS_ON_A_GPU))
            count = usable_cores() if self._scoring_device == "cpu" else on_gpu
        self._scorers = WorkerPool("unbraid.studies.requirements:score_run", [{"OMP_NUM_THREADS": "1"}] * count)
        self._outcome = Outcome()
        self._by_name: dict[str, StudyRun] = {}
        self._seconds_of_scoring = 0.0

    def run(self) -> Outcome:
        finish_transfers(self._folder)
        plan = plan_study(self._study, self._folder)
        for name, reason in plan.damaged.items():
            log.warning("%s cannot be read and is trained again: %s", name, reason)
        self._by_name = {each.name: each for fleet in plan.fleets for each in fleet.runs}
        for each in plan.runs_that_need("failed"):
            self._outcome.failures[each.name] = plan.records[each.name].reason
        with contextlib.closing(self._scorers):
            self._request_scores(plan.runs_that_need("scoring"), plan.records)
            if self._num_workers == 1:
                self._train(plan)
            elif plan.to_train:
                self._train_by_workers(plan)
            self._wait_for_scores()
        self._remove_arrays(plan.runs_that_need("nothing"))  # an interrupted process may have left arrays
        if self._outcome.num_trained or self._outcome.num_scored:
            self._check_complete()
        return self._outcome

    def _check_complete(self) -> None:
        """Records a failure for each run whose files were removed or changed by others during this call."""
        failures = self._outcome.failures
        known = {each.name for fleet in self._outcome.not_begun for each in fleet.runs} | failures.keys()
        plan = plan_study(self._study, self._folder)
        for each in plan.runs_that_need("training", "scoring", "failed"):
            if each.name not in known:
                state = plan.damaged.get(each.name) or plan.records[each.name].state
                failures[each.name] = (
                    f"its files were removed or changed during the study ({state}). Repeat the command."
                )

    def _train(self, plan: StudyPlan) -> None:
        """Trains fleets in this process, as far as the budget allows."""
        needed: list[float] = []
        waiting = plan.to_train
        total = len(waiting)
        for place, fleet in enumerate(waiting):
            if self._deadline is not None:
                seconds = self._estimated_seconds(fleet, plan)
                if time.monotonic() + seconds > self._deadline:
                    needed.append(seconds)
                    self._outcome.not_begun += (fleet,)
                    continue
            with part_of(Event(f"study {self._study.name}", place, total, "fleets")):
                self._train_fleet(fleet, plan)
            records = read_records(self._folder, [each.name for each in fleet.runs]).records
            finished = [each for each in fleet.runs if records[each.name].state == "finished"]
            self._request_scores(finished, records)
            if self._device.type == "cpu":  # the next fleet needs the cores
                self._wait_for_scores()
            else:
                self._record_scores()
        emit(Event(f"study {self._study.name}", total, total, "fleets"))
        self._outcome.needed = min(needed, default=0.0)

    def _estimated_seconds(self, fleet: StudyFleet, plan: StudyPlan) -> float:
        """Estimates the seconds to train and score the missing runs of a fleet."""
        count = sum(plan.needs[each.name] == "training" for each in fleet.runs)
        per_run = self._seconds_of_scoring / max(1, self._outcome.num_scored)
        return self._speed.seconds(fleet, count) + per_run * count

    def _train_fleet(self, fleet: StudyFleet, plan: StudyPlan) -> None:
        """Trains the missing runs of a fleet, and records errors as failures."""
        new = self._runs_to_train(fleet, plan)
        began, error = time.monotonic(), ""
        try:
            with torch_threads(self._study.threads or torch.get_num_threads()):
                options = TrainingOptions(**self._training)
                train_runs([each.run for each in fleet.runs], options, device=self._device, resume=True)
        except UnbraidError as raised:
            error = str(raised)
        else:
            self._speed.learn(fleet, (time.monotonic() - began) * len(fleet.runs) / max(1, len(new)))
        self._outcome.num_trained += sum(each.run.status == "finished" for each in new)
        for each in new:
            if failure := each.run.failure:
                self._fail(each, str(failure))
            elif error and each.run.status != "finished":
                self._fail(each, error)

    def _runs_to_train(self, fleet: StudyFleet, plan: StudyPlan) -> list[StudyRun]:
        """Returns the runs of a fleet to train. Archives finished runs whose codes were removed."""
        new = [each for each in fleet.runs if plan.needs[each.name] == "training"]
        for each in new:
            if plan.records[each.name].state == "finished":
                log.warning("%s is trained again, because a score is missing and its codes were removed.", each.name)
                RunWriter(each.run).archive()
        return new

    def _train_by_workers(self, plan: StudyPlan) -> None:
        """Trains and scores all fleets in other processes or on a cluster."""
        fleets = {fleet.runs[0].name: self._runs_to_train(fleet, plan) for fleet in plan.to_train}
        options, threads = self._options, self._study.threads or torch.get_num_threads()
        workers, device, token = self._start_workers(threads)

        def on_result(task: FleetTask, answer: Mapping[str, Any], bundles: Iterable[bytes]) -> None:
            if not answer["shares_folder"]:
                log.warning("A node cannot access %s and returns its runs through Ray's object store.", self._folder)
                receive(bundles, self._folder, task.key)
            for each in fleets[task.key]:
                outcome = answer["runs"][each.name]
                if outcome["status"] != "finished":
                    self._fail(each, outcome["reason"])
                    continue
                self._outcome.num_trained += 1
                if outcome["side_by_side"] < len(fleets[task.key]):
                    self._outcome.halved[each.name] = outcome["side_by_side"]
                self._record_score(each, outcome["error"], outcome["failed"])

        tasks = []
        for key, runs in fleets.items():
            request = fleet_request(
                [(each, self._retention.missing(each, RunRecord("new"))) for each in runs],
                folder=str(self._folder.absolute()),
                device=device,
                scoring_device=device if self._has_many_images else "cpu",
                threads=threads,
                packages=list(options.packages),
                token=list(token),
                remove_arrays=all(self._retention.keeps_scores_alone(each) for each in runs),
                training=self._training,
            )
            tasks.append(FleetTask(key, request))
        with terminable(), contextlib.closing(workers):
            driver = Driver(workers, on_result, options.patience, name=f"study {self._study.name}")
            try:
                driver.run(tasks)
            except KeyboardInterrupt:
                log.warning("Stopping. The workers save checkpoints. Press Ctrl-C again to stop at once.")
                raise
        for key, reason in driver.failures.items():
            for each in fleets[key]:
                self._fail(each, reason)

    def _start_workers(self, threads: int) -> tuple[Workers, str, Sequence[str]]:
        """Starts the workers. Returns the workers, their device type, and the token that identifies the folder."""
        options, device = self._options, str(self._options.device)
        if options.on == "local":
            return *start_processes(self._num_workers, device, threads), ()
        try:
            from unbraid.studies.cluster.ray_workers import RayWorkers
        except ImportError as error:
            raise SpecError(
                f"--on ray requires Ray, which is not installed ({error}). Install it here and on every node with "
                "`pip install 'unbraid[ray]'`, or leave out --on ray."
            ) from None
        nodes = RayWorkers(self._folder, options.address, threads, device, autoscaling=options.autoscaling)
        return nodes, nodes.device, nodes.token

    def _request_scores(self, runs: Sequence[StudyRun], records: Mapping[str, RunRecord]) -> None:
        for each in runs:
            if questions := self._retention.missing(each, records[each.name]):
                request = {"folder": str(each.run.folder), "asked": questions_to_json(questions)}
                places = {"device": self._scoring_device, "packages": list(self._options.packages)}
                self._scorers.submit(each.name, request | places)

    def _record_scores(self, seconds: float = 0.0) -> None:
        """Records the results of finished scoring tasks. Waits at most `seconds` for the next result."""
        for ended in self._scorers.wait(seconds):
            error = "" if ended.how == "answered" else ended.reason
            self._record_score(self._by_name[str(ended.task_id)], error, ended.answer.get("failed", {}))

    def _wait_for_scores(self) -> None:
        began, total = time.monotonic(), self._scorers.num_waiting
        if total == 0:
            return
        with part_of(Event("scoring", 0, 1)):
            while self._scorers.num_waiting:
                self._record_scores(seconds=600.0)
                emit(Event("scoring", total - self._scorers.num_waiting, total, "runs"))
        self._seconds_of_scoring += time.monotonic() - began

    def _record_score(self, each: StudyRun, error: str, failed: Mapping[str, str]) -> None:
        """Records the result of scoring a run, and removes arrays that are no longer needed."""
        self._outcome.num_scored += 1
        failed = {name: reason for name, reason in failed.items() if name in self._study.metrics_by_name}
        if error or failed:
            reason = error or f"{', '.join(failed)} failed: {last_line(next(iter(failed.values())))}"
            self._fail(each, f"the run could not be scored: {reason}")
        self._remove_arrays(self._retention.siblings(each))

    def _fail(self, each: StudyRun, reason: str) -> None:
        if reason not in self._outcome.failures.values():
            log.warning("%s: %s", each.name, reason)
        self._outcome.failures[each.name] = reason
        if self._options.fail_fast:
            why = (
                "the study stopped at the first failure. Leave out fail_fast (--fail-fast) to continue with other runs"
            )
            raise TrainingError(f"{each.name}: {why}. The reason: {reason}")

    def _remove_arrays(self, runs: Sequence[StudyRun]) -> None:
        """Removes the weights and codes of runs that no study needs. `runs` has all seeds of each setting."""
        if self._study.keep == "all":
            return
        records = read_records(self._folder, [each.name for each in runs]).records
        for each in runs:
            if self._retention.is_removable(each, records):
                with contextlib.suppress(RunError):  # another process uses the run and will remove the arrays
                    RunWriter(each.run).remove_arrays()
