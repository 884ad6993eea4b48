"""Training on a CPU with one model per process and one thread per process.

A model that is trained by itself with one thread depends on its spec and seed alone. More processes therefore change
the time and not the results. Requests and events are lines of JSON. Processes share images as memory-mapped files.
"""

import contextlib
import logging
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, replace
from logging.handlers import QueueHandler
from pathlib import Path
from types import SimpleNamespace

import torch

from unbraid._internal.cpu import torch_threads, usable_cores
from unbraid._internal.memory import keep_freed_memory
from unbraid._internal.progress import Event, emit, listening, merged_display
from unbraid._internal.worker_pool import Ended, Json, WorkerPool
from unbraid.config import from_json
from unbraid.config.digest import classes_of_main, packages_of
from unbraid.errors import RunError, TrainingError, TrainingInterrupted
from unbraid.training.interrupt import HOW_TO_RESUME, terminable
from unbraid.training.options import TrainingOptions
from unbraid.training.runs.run import Run
from unbraid.training.runs.spec import RunSpec
from unbraid.training.starts import starts

log = logging.getLogger(__name__)

_MIN_STEPS = 1000  # a process takes seconds to start
_MIN_PIXELS = 64 * 64  # with smaller images a fleet is faster on two cores (benchmarks/results/cpu_fleet.md)
_MAX_LOSSES = 3
_SECONDS_TO_STOP = 60.0  # for a process to end its step and to write a checkpoint
_SECONDS_BETWEEN_MESSAGES = 0.2
_CPU = torch.device("cpu")

Group = Sequence[Run]
TrainGroup = Callable[[Group, torch.device, TrainingOptions], None]


def num_processes(runs: Sequence[Run], options: TrainingOptions, device: torch.device) -> int:
    """Returns the number of processes that train one model each, or 0 if fleets are trained in this process."""
    if device.type != "cpu" or options.workers == 0 or not runs:
        return 0
    if options.workers == "auto":
        has_threads = torch.get_num_threads() > 1  # a run that was begun with one thread resumes with one
        resumes = has_threads and any(run.environments[-1:] and run.environments[-1]["threads"] == 1 for run in runs)
        if not resumes and (len(runs) == 1 or not all(map(_is_large, runs))):
            return 0
    if names := dict.fromkeys(name for run in runs for name in classes_of_main(run.spec)):
        text = (
            "%s is defined in a script or a notebook, so the models are trained in this process. Move it to a module."
        )
        log.warning(text, ", ".join(names))
        return 0
    return usable_cores() if options.workers == "auto" else options.workers


def _is_large(run: Run) -> bool:
    """Returns whether training is long enough, and images are large enough, for a process per model."""
    _, height, width = run.spec.dataset.image_shape
    return run.spec.num_steps >= _MIN_STEPS and height * width >= _MIN_PIXELS


def train_by_processes(
    parts: Sequence[Group], count: int, options: TrainingOptions, task: str, train_group: TrainGroup
) -> None:
    """Trains the runs by `count` processes, one model at a time in each. A single process is this process.

    Interrupted runs of a fleet stay together. `task` is the name of a function that calls `train_by_request`.
    """
    groups = [group for part in parts for group in _groups(part)]
    if not groups:
        return
    num_steps, count = {run.name: run.spec.num_steps for group in groups for run in group}, min(count, len(groups))
    text = f"{len(num_steps)} models, one per process with one thread, {count} at a time, on cpu."
    emit(Event("planning", text=text, runs=tuple(num_steps)))
    with merged_display(num_steps):
        if count > 1:
            pool = WorkerPool(task, [{"OMP_NUM_THREADS": "1"}] * count, grace=_SECONDS_TO_STOP)
            with terminable(), contextlib.closing(pool):
                _train_by_pool(groups, options, pool)
            return
        for group in groups:
            with torch_threads(1):
                train_group(group, _CPU, options)


def train_by_request(train_group: TrainGroup, request: Json, send: Callable[[Json], None]) -> Json:
    """Trains the runs of a request in a worker process. Sends events and warnings to the parent process."""
    runs: list[Run] = []
    for folder, content, seed in request["runs"]:
        spec = from_json(content, RunSpec, packages=request["packages"], where="request")
        runs.append(Run.place(Path(folder).parent, spec, seed))
        if runs[-1].folder != Path(folder):
            raise RunError("A class was edited after it was imported. Start again to train it.")
    keep_freed_memory()
    pending = [run for run in runs if run.status in ("new", "unfinished")]  # none if a lost process had finished them
    try:
        with torch_threads(1), _forwarding(send):
            if pending:
                train_group(pending, _CPU, TrainingOptions(**request["options"]))
    except TrainingInterrupted as stopped:
        return {"stopped": str(stopped)}
    return {}


def _groups(part: Group) -> Iterator[Group]:
    """Yields the runs one by one, but interrupted runs of a fleet together."""
    for start in starts(part):
        yield from [start.runs] if start.checkpoints else ([run] for run in start.runs)


def _train_by_pool(groups: Sequence[Group], options: TrainingOptions, pool: WorkerPool) -> None:
    """Trains all groups. Groups of lost processes resume. An error of a process is raised."""
    losses = Counter[int]()
    try:
        for place, group in enumerate(groups):
            pool.submit(place, _request(group, options))
        while pool.num_waiting:
            all_ended = pool.wait(_SECONDS_BETWEEN_MESSAGES)
            for message in pool.messages():
                _receive(message)
            for ended in all_ended:
                place = int(str(ended.task_id))
                if reason := _reason(ended, groups[place][0].name):
                    losses[place] += 1
                    if losses[place] > _MAX_LOSSES:
                        raise TrainingError(f"The process was lost {losses[place]} times: {reason}. {HOW_TO_RESUME}")
                    log.warning("The last checkpoint is resumed: %s.", reason)
                    pool.submit(place, _request(groups[place], options))
    except KeyboardInterrupt:
        log.warning("Stopping: the processes save checkpoints. Press Ctrl-C again to stop at once.")
        raise TrainingInterrupted(f"Stopped, as asked; checkpoints are saved. {HOW_TO_RESUME}") from None


def _request(group: Group, options: TrainingOptions) -> Json:
    return {
        "runs": [[str(run.folder.absolute()), run.spec.to_json(), run.seed] for run in group],
        "packages": sorted({package for run in group for package in packages_of(run.spec)}),
        "options": asdict(replace(options, force=False)),
    }


def _reason(ended: Ended, name: str) -> str:
    """Returns the reason why a group was not trained to its end, or an empty text. Raises the error of a process."""
    reason = ended.reason or ended.answer.get("stopped", "")
    if ended.how == "raised":
        raise TrainingError(f"{name}: {reason}")
    return f"{name}: {reason}" if reason else ""


@contextlib.contextmanager
def _forwarding(send: Callable[[Json], None]) -> Iterator[None]:
    """Sends the events and warnings of the block."""
    put = SimpleNamespace(put_nowait=lambda record: send({"logger": record.name, "warning": record.getMessage()}))
    handler, before, package = QueueHandler(put), logging.root.manager.disable, logging.getLogger("unbraid")
    logging.disable(logging.INFO)
    package.addHandler(handler)
    try:
        with listening(lambda event: send({"event": asdict(event)})):
            yield
    finally:
        package.removeHandler(handler)
        logging.disable(before)


def _receive(message: Json) -> None:
    """Logs a warning of a worker process, or emits its event."""
    if "warning" in message:
        logging.getLogger(message["logger"]).warning("%s", message["warning"])
    elif message["event"]["about"] != "planning":
        emit(Event(**message["event"] | {"runs": tuple(message["event"]["runs"]), "within": ()}))
