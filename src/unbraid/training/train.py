"""Training of runs from specs and seeds."""

import contextlib
import logging
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from unbraid._internal import files
from unbraid._internal.amounts import duration
from unbraid._internal.cpu import busy_cores_check, is_waiting_chosen
from unbraid._internal.device import resolve_device
from unbraid._internal.memory import give_back_memory, is_out_of_memory, keep_freed_memory
from unbraid._internal.progress import Event, Listener, emit, listening, progress_bar
from unbraid._internal.worker_pool import Json
from unbraid.config.annotations import in_short
from unbraid.config.digest import user_source
from unbraid.datasets.dataset import FactorImages
from unbraid.errors import RunError, SpecError, TrainingError, TrainingInterrupted
from unbraid.training.batches import load_or_stream
from unbraid.training.budgets import seconds_per_step, with_budget
from unbraid.training.checkpoint import remove_checkpoints
from unbraid.training.checks import check_existing, check_requests, check_unlocked, requested_runs
from unbraid.training.compilation import CompileCache, Inductor
from unbraid.training.fleet_training import FleetTraining, conclude
from unbraid.training.interrupt import HOW_TO_RESUME, naming_runs, stoppable
from unbraid.training.options import TrainingOptions
from unbraid.training.processes import num_processes, train_by_processes, train_by_request
from unbraid.training.reporter import plan_text
from unbraid.training.runs.run import Run
from unbraid.training.runs.run_writer import RunWriter
from unbraid.training.runs.runs_in import Runs
from unbraid.training.runs.spec import RunSpec
from unbraid.training.sizing import Memory, measured
from unbraid.training.starts import Start, starts
from unbraid.training.state import Member, fleet_key

log = logging.getLogger(__name__)

# Timing takes up to 52 steps.
_LEAST_STEPS_TO_TIME = 2_000


def train(
    specs: RunSpec | Sequence[RunSpec],
    seeds: Iterable[Any] = (0,),
    *,
    epochs: float | None = None,
    minutes: float | None = None,
    folder: Path | str = "runs",
    device: torch.device | str = "auto",
    resume: bool = False,
    watch: Listener | None = None,
    progress: bool = True,
    options: TrainingOptions | None = None,
    **more: Any,
) -> Runs:
    """Trains every spec with every seed, side by side if possible, and returns the runs: for each spec, each seed.

    Finished runs are reused. For unfinished runs an error is raised. `resume` continues unfinished runs from their last
    checkpoints, and `TrainingOptions(force=True)` archives existing folders and starts again. If the models do not fit
    into the memory of the device together, several fleets are trained one after the other.

    Args:
        specs: One or more specs.
        seeds: Random seeds. Each spec is trained once per seed.
        epochs: Number of epochs, instead of `num_steps` of the specs. The runs have the corresponding `num_steps`.
        minutes: Approximate time to train all models, instead of `num_steps` of the specs. A few steps are timed
            first. The resulting `num_steps` is kept in the folder, so the same call finds or resumes the same runs.
        folder: Parent folder of the folders of the runs.
        device: A torch device. "auto" selects a GPU if available.
        resume: Whether to continue unfinished runs.
        watch: A callback for every `Event`. `watch=print` prints one line per event.
        progress: Whether to show a progress bar on a terminal or in a notebook. Warnings are always logged.
        options: Less common options: checkpoints, snapshots, streaming, optional columns of the history.
        more: Fields of `TrainingOptions`, such as `workers=4` for the number of processes on a CPU.

    Training changes three settings of the process. On a CPU, glibc keeps freed memory, unless the environment has
    MALLOC_ variables. The soft limit on open files is raised to lock many runs at once. During training in the main
    thread, the first Ctrl-C, SIGTERM or SIGHUP saves a checkpoint and raises TrainingInterrupted, a KeyboardInterrupt
    with the resumable `runs`. The signal handlers are restored afterwards.

    Examples:
        >>> from unbraid import MLP, Autoencoder, DSprites
        >>> hearts = DSprites(resolution=32, shapes=("heart",), num_scales=1, num_orientations=1, num_positions=4)
        >>> tiny = Autoencoder(MLP(hidden=(8,), decoder_hidden=(8,)))
        >>> runs = train(RunSpec(hearts, tiny, num_steps=2, batch_size=8), seeds=[0, 1], progress=False)
        >>> [(run.seed, run.status) for run in runs]
        [(0, 'finished'), (1, 'finished')]
    """
    runs = requested_runs(specs, seeds, folder)
    if watch is not None and not callable(watch):
        raise SpecError(f"watch is {in_short(watch)}; expected a function of an event. Pass e.g. watch=print.")
    options = replace(options or TrainingOptions(), **more)
    with progress_bar(watch, show=progress) as print_line:
        runs = with_budget(runs, device, epochs=epochs, minutes=minutes)
        finished = [] if options.force else [run for run in runs if run.status == "finished"]
        if finished:
            count = "The run is" if len(runs) == 1 else f"{len(finished)} of {len(runs)} runs are"
            print_line(
                f"{count} already finished and reused (TrainingOptions(force=True) trains again): {finished[0].folder}"
            )
        return Runs(train_runs(runs, options, device=device, resume=resume))


def train_runs(
    runs: Sequence[Run],
    options: TrainingOptions | None = None,
    *,
    device: torch.device | str = "auto",
    resume: bool = False,
) -> list[Run]:
    """Trains the new and unfinished runs, like `train`. Returns all runs in the same order."""
    options = options or TrainingOptions()
    device = resolve_device(device)
    check_requests(runs, options, device, resume=resume)
    if device.type == "cpu":
        keep_freed_memory()
    if options.force:
        check_unlocked(runs)
        for run in runs:
            RunWriter(run).archive()
    check_existing(runs, options, resume=resume)
    for run in runs:
        failure = run.failure
        if run.status == "finished" or (failure is not None and failure.last_good is not None):
            remove_checkpoints(run)  # left by a process that died after finishing the run
    pending = _pending(runs)
    check_unlocked(pending)
    parts = _parts(runs)
    with naming_runs(runs):
        if count := num_processes(runs, options, device):
            _train_apart(parts, device, options, count)
        else:
            _train_parts(parts, device, options)
    if pending and all(run.status == "failed" for run in pending):
        raise TrainingError(
            f"All {len(pending)} runs failed, the first because {pending[0].failure}. Use a smaller learning_rate, or "
            "set max_gradient_norm. If the loss exceeded max_loss, increase max_loss."
        )
    return list(runs)


def _pending(runs: Sequence[Run]) -> list[Run]:
    return [run for run in runs if run.status in ("new", "unfinished")]


def _parts(runs: Sequence[Run]) -> list[list[Run]]:
    """Groups the runs that need training, so that the runs of a group can share a fleet and be locked together.

    Each lock is an open file, and the system limits the number of open files. All requested runs are grouped, including
    finished runs, so that the same command creates the same fleets after a crash.
    """
    kinds: dict[str, list[Run]] = defaultdict(list)
    for run in runs:
        kinds[fleet_key(run.spec)].append(run)
    at_once = files.room_for_open_files(max(map(len, kinds.values()), default=0))
    parts = (of_kind[i : i + at_once] for of_kind in kinds.values() for i in range(0, len(of_kind), at_once))
    return [pending for part in parts if (pending := _pending(part))]


def _train_parts(parts: Sequence[Sequence[Run]], device: torch.device, options: TrainingOptions) -> None:
    """Trains groups of runs that can share a fleet, one after the other."""
    for part in parts[1:]:  # those of the first are opened next
        part[0].spec.check_images(part[0].spec.training_data.open())
    if len(parts) > 1:
        names = tuple(run.name for part in parts for run in part)
        text = f"{len(names)} models in {len(parts)} groups, one after the other."
        emit(Event("planning", text=text, runs=names))
    for part in parts:
        _train_part(part, device, options)


def _train_apart(parts: Sequence[Sequence[Run]], device: torch.device, options: TrainingOptions, count: int) -> None:
    """Trains one model per process, with at most `count` processes and as many as fit into memory."""
    for part in parts:  # missing images are drawn or converted here, once
        if memory := _memory(part, load_or_stream(part[0].spec, device, stream=options.stream)):
            count = min(count, memory.capacity)
    train_by_processes(parts, count, options, f"{__name__}:{train_request.__name__}", _train_part)


def train_request(request: Json, send: Callable[..., None]) -> Json:
    """Trains the runs of a request, in a worker process."""
    return train_by_request(_train_part, request, send)


def _train_part(runs: Sequence[Run], device: torch.device, options: TrainingOptions) -> None:
    """Loads the images of runs that can share a fleet, and trains these runs."""
    can_advise = device.type == "cpu" and torch.get_num_threads() > 1 and not is_waiting_chosen()
    try:
        with listening(busy_cores_check() if can_advise else None):
            _train_locked(runs, load_or_stream(runs[0].spec, device, stream=options.stream), options)
    except IsADirectoryError as error:
        raise RunError(
            f"{error.filename} is a folder; expected a file. Move the folder away, and repeat the command."
        ) from None


def _train_locked(runs: Sequence[Run], images: FactorImages, options: TrainingOptions) -> None:
    """Locks the runs, marks completely written runs as finished or failed, and trains the other runs."""
    with stoppable():
        memory = _memory(runs, images)
    with contextlib.ExitStack() as locks:
        for run in runs:
            locks.enter_context(RunWriter(run).locked())
        for run in [run for run in runs if RunWriter(run).can_conclude]:  # left by a process that died
            conclude(run)
        # Another process may have finished some runs while the images were loaded.
        pending = _pending(runs)
        for run in pending:
            RunWriter(run).begin(options)
        capacity = len(runs) if memory is None else memory.capacity
        fleets = [part for start in starts(pending) for part in start.split_to(capacity)]
        _train_fleets(fleets, images, memory, options)


def _memory(runs: Sequence[Run], images: FactorImages) -> Memory | None:
    """Measures the memory of a model, or returns None for a single run without user classes.

    The measurement runs a step, so that errors in user code are raised before a folder is created.
    """
    spec = runs[0].spec
    if len(runs) == 1 and not user_source((spec.model, spec.objective, spec.critic, spec.optimizer)):
        return None
    try:
        return measured([Member(run.spec, run.seed) for run in runs], images)
    except Exception as error:
        if not is_out_of_memory(error):
            raise
        raise _too_large([1], images, _first_sentences(error)) from error


def _train_fleets(
    fleets: Sequence[Start], images: FactorImages, memory: Memory | None, options: TrainingOptions
) -> None:
    """Trains fleets in sequence. If a fleet does not fit into memory, this fleet and all later fleets are halved."""
    waiting, cache, tried = deque(fleets), CompileCache(Inductor(options.deterministic)), list[int]()
    _emit_plan(waiting, images, memory, _time_text(waiting, images))
    while waiting:
        start = waiting.popleft()
        steps_later = sum(len(each.runs) * (each.runs[0].spec.num_steps - each.step) for each in waiting)
        shortage = _train_fleet(start, images, cache, steps_later, options)
        give_back_memory(images.device)
        if shortage is None:
            continue
        tried.append(len(start.runs))
        if len(start.runs) == 1:
            raise _too_large(tried, images, shortage)
        half = (len(start.runs) + 1) // 2
        log.warning(
            "%d models side by side do not fit into the memory of %s (%s). Continuing with %d.",
            len(start.runs),
            images.device,
            shortage,
            half,
        )
        left = starts(_pending(start.runs))
        waiting = deque(part for each in (*left, *waiting) for part in each.split_to(half))
        _emit_plan(waiting, images, memory)


def _train_fleet(
    start: Start, images: FactorImages, cache: CompileCache, steps_later: int, options: TrainingOptions
) -> str | None:
    """Trains one fleet. Returns the message of an out-of-memory error; the exception would keep memory alive."""
    try:
        with stoppable():
            training = FleetTraining(start, images, options, cache=cache, steps_later=steps_later)
        is_to_stop = training.run()
    except Exception as error:
        if not is_out_of_memory(error):
            raise
        return _first_sentences(error)
    if is_to_stop:
        finished = "1 model was" if len(start.runs) == 1 else f"{len(start.runs)} models were"
        raise TrainingInterrupted(f"Stopped by a signal after {finished} finished. {HOW_TO_RESUME}")
    return None


def _time_text(waiting: Sequence[Start], images: FactorImages) -> str:
    """Returns the estimated time of long training on a CPU as text. On a GPU, timing would compile the step twice."""
    if not waiting or images.device.type != "cpu":
        return ""
    runs, num_steps = waiting[0].runs, waiting[0].runs[0].spec.num_steps
    if num_steps - waiting[0].step < _LEAST_STEPS_TO_TIME:
        return ""
    try:
        with stoppable():
            seconds = seconds_per_step([Member(run.spec, run.seed) for run in runs], images) / len(runs)
    except Exception as error:
        if not is_out_of_memory(error):
            raise
        return ""
    return f" About {duration(seconds * sum(len(each.runs) * (num_steps - each.step) for each in waiting))}."


def _emit_plan(waiting: Sequence[Start], images: FactorImages, memory: Memory | None, time: str = "") -> None:
    """Emits an event with the training plan of the waiting fleets."""
    if waiting:
        runs = [run for start in waiting for run in start.runs]
        sizes = [len(start.runs) for start in waiting]
        text = plan_text(sizes, runs[0].spec.num_steps, images.device, memory) + time
        emit(Event("planning", text=text, runs=tuple(run.name for run in runs)))


def _first_sentences(error: Exception) -> str:
    """Returns the first two sentences of an error message, without advice on allocator settings."""
    return ". ".join(str(error).partition("\n")[0].split(". ")[:2]).removesuffix(".") or type(error).__name__


def _too_large(tried: Sequence[int], images: FactorImages, shortage: str) -> TrainingError:
    sizes = ", then ".join(map(str, tried))
    return TrainingError(
        f"A single model does not fit into the memory of {images.device} (models tried side by side: {sizes}; "
        f"last error: {shortage}). "
        "Use a smaller --batch-size (batch_size) or net, stream the images from disk with --stream (stream=True), or "
        "use another --device."
    )
