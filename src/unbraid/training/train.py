"""Specs and seeds in, finished runs out."""

import contextlib
import logging
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from unbraid import files
from unbraid.allocator import keep_freed_memory
from unbraid.data.dataset import FactorImages
from unbraid.device import resolve_device
from unbraid.display import shown
from unbraid.errors import RunError, TrainingError, TrainingInterrupted
from unbraid.events import Event, Listener, listening, tell
from unbraid.memory import give_back_memory, is_out_of_memory
from unbraid.recipes.own_recipes import own_source
from unbraid.runs.extras import as_steps
from unbraid.runs.run import Run
from unbraid.runs.run_writer import RunWriter
from unbraid.runs.spec import RunSpec
from unbraid.source import check_current
from unbraid.training.asked import asked_runs, check_listener, check_options
from unbraid.training.busy_cores import noticing_busy_cores
from unbraid.training.checkpoint import remove_checkpoints
from unbraid.training.compiler import Inductor
from unbraid.training.finish import conclude
from unbraid.training.fleet_training import FleetTraining
from unbraid.training.found_runs import check_specs, name_other_versions, refuse_those_in_use, refuse_unfinished
from unbraid.training.held_out import check_held_out
from unbraid.training.interrupt import GO_ON, naming_runs, stoppable
from unbraid.training.kept_extras import check_extras, name_missing
from unbraid.training.latent_information import check_latent_information
from unbraid.training.options import TrainingOptions
from unbraid.training.placement import load_or_stream
from unbraid.training.plan import plan_text
from unbraid.training.program import Programs
from unbraid.training.reporter import Later
from unbraid.training.sizing import Memory, fleet_sizes, measured
from unbraid.training.starts import Start, starts
from unbraid.training.state import Member, fleet_key

log = logging.getLogger(__name__)


def train(
    specs: RunSpec | Sequence[RunSpec],
    seeds: Iterable[Any] = (0,),
    *,
    folder: Path | str = "runs",
    device: torch.device | str = "auto",
    resume: bool = False,
    force: bool = False,
    checkpoint_every: int | None = None,
    stream: bool | None = None,
    deterministic: bool = False,
    snapshots: Iterable[int] = (),
    keep_state: bool = False,
    held_out_every: int | None = None,
    latent_information_every: int | None = None,
    watch: Listener | None = None,
    progress: bool = True,
) -> list[Run]:
    """Trains every spec from every seed, all that can share a fleet side by side, and returns their runs in that order.

    A run that is finished is found again, not repeated. One that was left unfinished is refused, unless `resume` goes
    on with it or `force` puts its folder aside and starts afresh. As many models are trained side by side as fit into
    the memory of the device; the others wait for their turn. Images too many for it are streamed from the disk, which
    changes no result; `stream` says so (True) or forbids it (False) whatever their size. A checkpoint is saved every
    `checkpoint_every` steps, or so often that it takes less than 2 % of the time. On a GPU `deterministic` compiles
    steps that are the same on every machine of its kind, at some cost of speed (docs/runs.md). With `held_out_every`,
    the history has a column `held_out_elbo`: about every so many steps, the ELBO on images that the subset holds out;
    with `latent_information_every` columns `information_z0` and so on, I(x; z_d) of each latent from the batch.

    `snapshots` are steps after which the weights are kept, for `run.model(step)`, `run.codes(step=...)` and
    `run.score(step=...)`. With `keep_state` the last state is kept, so that `run.extend` can go on from it. A run that
    is resumed keeps what it was begun with as well.

    `watch` hears every `unbraid.events.Event`: `watch=print` prints a line for each. A terminal and a notebook show a
    bar, unless `progress` is False; what a person should know is logged as a warning.

    Three things of the process change. On a CPU, glibc is told to keep freed memory, for good, unless the environment
    has MALLOC_ variables. The soft limit on open files is raised where many runs are locked at once. While steps are
    taken in the main thread, the first Ctrl-C, SIGTERM or SIGHUP saves a checkpoint and raises TrainingInterrupted, a
    KeyboardInterrupt whose `runs` can be resumed; afterwards the handlers are what they were.

    Examples:
        >>> from unbraid import MLP, Autoencoder, DSprites
        >>> hearts = DSprites(resolution=32, shapes=("heart",), num_scales=1, num_orientations=1, num_positions=4)
        >>> tiny = Autoencoder(MLP(hidden=(8,), decoder_hidden=(8,)))
        >>> runs = train(RunSpec(hearts, tiny, num_steps=2, batch_size=8), seeds=[0, 1], progress=False)
        >>> [(run.seed, run.status) for run in runs]
        [(0, 'finished'), (1, 'finished')]
    """
    runs = asked_runs(specs, seeds, folder)
    check_listener(watch)
    kept = as_steps(snapshots)
    options = TrainingOptions(
        device,
        resume,
        force,
        checkpoint_every,
        stream,
        deterministic,
        kept,
        keep_state,
        held_out_every,
        latent_information_every,
    )
    with shown(progress) as say, listening(*([watch] if watch else [])):
        _say_found(runs, options, say)
        return train_runs(runs, options)


def _say_found(runs: Sequence[Run], options: TrainingOptions, say: Callable[[str], None]) -> None:
    """Says how many of the runs are there already."""
    finished = [] if options.force else [run for run in runs if run.status == "finished"]
    if finished:
        count = "It is" if len(runs) == 1 else f"{len(finished)} of {len(runs)} runs are"
        say(f"{count} finished already and not repeated (force=True would): {finished[0].folder}")


def train_runs(runs: Sequence[Run], options: TrainingOptions) -> list[Run]:
    """Trains these runs, new or unfinished, as `train` does. Returns them all, in the same order."""
    if len({run.folder for run in runs}) < len(runs):
        raise RunError("The same spec and seed were given twice. Give each once.")
    for run in runs:
        check_current(own_source(run.spec))
    check_options(options)
    check_extras(runs, options.extras)
    check_held_out((run.spec for run in runs), options.held_out_every)
    check_latent_information((run.spec for run in runs), options.latent_information_every)
    device = resolve_device(options.device)
    if device.type == "cpu":
        keep_freed_memory()
    options = replace(options, device=device)
    if options.force:
        refuse_those_in_use(runs)
        for run in runs:
            RunWriter(run).put_aside()
    if not options.resume:
        refuse_unfinished(runs)
    check_specs(runs)
    name_other_versions(runs)
    name_missing(runs, options.extras)
    _tidy_up(runs)
    pending = _pending(runs)
    refuse_those_in_use(pending)
    parts = _parts(runs)
    with naming_runs(runs):
        for part in parts[1:]:  # those of the first are about to be opened
            part[0].spec.check_images(part[0].spec.training_data.open())
        num_later = len(pending)
        for part in parts:
            num_later -= len(part)
            with _naming_folders(), listening(*noticing_busy_cores(device)):
                _train_part(part, num_later, options)
    if pending and all(run.status == "failed" for run in pending):
        raise TrainingError(
            f"No run is left: {len(pending)} of {len(pending)} failed, the first because {pending[0].failure}. "
            "Try a smaller learning_rate, or set max_gradient_norm; or raise max_loss, if it was that."
        )
    return list(runs)


@contextlib.contextmanager
def _naming_folders() -> Iterator[None]:
    """Raises a RunError that names a folder which lies in place of a file of a run."""
    try:
        yield
    except IsADirectoryError as error:
        raise RunError(
            f"{error.filename} is a folder where a file is expected. Move it away, and go on with the same command."
        ) from None


def _tidy_up(runs: Sequence[Run]) -> None:
    """Removes the checkpoints of runs whose process died between ending them and removing its checkpoints."""
    for run in runs:
        failure = run.failure
        if run.status == "finished" or (failure is not None and failure.last_good is not None):
            remove_checkpoints(run)


def _pending(runs: Sequence[Run]) -> list[Run]:
    return [run for run in runs if run.status in ("new", "unfinished")]


def _parts(runs: Sequence[Run]) -> list[list[Run]]:
    """Returns the runs that are to be trained, in parts that can share a fleet and be locked at the same time.

    A lock is an open file, of which the system allows so many. The parts are cut from all runs that were asked for,
    finished or not, so that the same command puts the same fleets together after a crash.
    """
    kinds: dict[str, list[Run]] = defaultdict(list)
    for run in runs:
        kinds[fleet_key(run.spec)].append(run)
    at_once = files.room_for_open_files(max(map(len, kinds.values()), default=0))
    parts = (of_kind[i : i + at_once] for of_kind in kinds.values() for i in range(0, len(of_kind), at_once))
    return [pending for part in parts if (pending := _pending(part))]


def _train_part(runs: Sequence[Run], num_later: int, options: TrainingOptions) -> None:
    """Trains runs that can share a fleet, each under its lock, before `num_later` others."""
    images = load_or_stream(runs[0].spec, options.device, options.stream)
    with stoppable():
        memory = _memory(runs, images)
    with contextlib.ExitStack() as locks:
        for run in runs:
            locks.enter_context(RunWriter(run).locked())
        _conclude(runs)
        # Asked again under the locks: another process may have finished some of them while the images were loaded.
        pending = _pending(runs)
        for run in pending:
            RunWriter(run).begin(options.extras)
        capacity = len(runs) if memory is None else memory.capacity
        fleets = [part for start in starts(pending) for part in _fitting(start, capacity)]
        _train_fleets(fleets, images, memory, num_later, options)


def _conclude(runs: Sequence[Run]) -> None:
    """Says that runs are finished whose process died when there was nothing else left to do."""
    for run in [run for run in runs if RunWriter(run).can_conclude]:
        conclude(run)


def _memory(runs: Sequence[Run], images: FactorImages) -> Memory | None:
    """Returns what a model takes; None for a single one that is all of unbraid, where it does not matter. A step that
    goes wrong does so here, before a folder is made.
    """
    spec = runs[0].spec
    if len(runs) == 1 and not own_source((spec.model, spec.objective, spec.critic, spec.optimiser)):
        return None
    try:
        return measured([Member(run.spec, run.seed) for run in runs], images)
    except Exception as error:
        if not is_out_of_memory(error):
            raise
        raise _too_large([1], images, _in_short(error)) from error


def _fitting(start: Start, capacity: int) -> list[Start]:
    return start.split(fleet_sizes(len(start.runs), capacity))


def _train_fleets(
    fleets: Sequence[Start], images: FactorImages, memory: Memory | None, num_later: int, options: TrainingOptions
) -> None:
    """Trains the fleets one after the other. One for which memory is short is halved, and so are those after it."""
    waiting, programs, tried = deque(fleets), Programs(Inductor(options.deterministic)), list[int]()
    _tell_plan(waiting, images, memory, num_later)
    while waiting:
        start = waiting.popleft()
        shortage = _train_fleet(start, images, programs, _later(waiting, num_later), options)
        give_back_memory(images.device)
        if shortage is None:
            continue
        tried.append(len(start.runs))
        if len(start.runs) == 1:
            raise _too_large(tried, images, shortage)
        half = (len(start.runs) + 1) // 2
        log.warning(
            "%d models side by side were too many for the memory of %s (%s). Going on with %d.",
            len(start.runs),
            images.device,
            shortage,
            half,
        )
        left = starts(_pending(start.runs))
        waiting = deque(part for each in (*left, *waiting) for part in _fitting(each, half))
        _tell_plan(waiting, images, memory, num_later)


def _train_fleet(
    start: Start, images: FactorImages, programs: Programs, later: Later, options: TrainingOptions
) -> str | None:
    """Trains one fleet. Returns what was said if its memory was short: not the error, which would keep the memory."""
    try:
        with stoppable():
            training = FleetTraining(start, images, options, programs=programs, later=later)
        is_to_stop = training.run()
    except Exception as error:
        if not is_out_of_memory(error):
            raise
        return _in_short(error)
    if is_to_stop:
        rest = (
            f"; the others have yet to be trained. {GO_ON}"
            if later.member_steps or later.num_of_other_kinds
            else "; nothing is left to train."
        )
        finished = "1 model was" if len(start.runs) == 1 else f"{len(start.runs)} models were"
        raise TrainingInterrupted(f"Stopped, as asked, after {finished} finished{rest}")
    return None


def _later(waiting: Sequence[Start], num_of_other_kinds: int) -> Later:
    return Later(
        sum(len(start.runs) * (start.runs[0].spec.num_steps - start.step) for start in waiting), num_of_other_kinds
    )


def _tell_plan(waiting: Sequence[Start], images: FactorImages, memory: Memory | None, num_later: int) -> None:
    """Tells of the fleets that are left, before the first of them and again where they had to be made smaller."""
    if waiting:
        runs = [run for start in waiting for run in start.runs]
        sizes = [len(start.runs) for start in waiting]
        text = plan_text(sizes, runs[0].spec.num_steps, images.device, memory, num_later)
        tell(Event("planning", text=text, runs=tuple(run.name for run in runs)))


def _in_short(error: Exception) -> str:
    """Returns what was asked for, without what follows: that is about the settings of the allocator."""
    return ". ".join(str(error).partition("\n")[0].split(". ")[:2]).removesuffix(".") or type(error).__name__


def _too_large(tried: Sequence[int], images: FactorImages, shortage: str) -> TrainingError:
    sizes = ", then ".join(map(str, tried))
    return TrainingError(
        f"One model alone is too large for the memory of {images.device} (tried side by side: {sizes}; the last time: "
        f"{shortage}). "
        "Use a smaller --batch-size (batch_size) or net, leave the images on the disk with --stream (stream=True), or "
        "take another --device."
    )
