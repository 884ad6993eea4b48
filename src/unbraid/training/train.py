"""Specs and seeds in, finished runs out."""

import contextlib
import itertools
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import final

import torch
from torch import Tensor

from unbraid import files
from unbraid.data.dataset import FactorImages
from unbraid.errors import CodesError, RunError, SpecError, TrainingError
from unbraid.models.encode import encode
from unbraid.runs.history import History
from unbraid.runs.run import Run
from unbraid.runs.spec import RunSpec
from unbraid.training.checkpoint import load_checkpoints, remove_checkpoints, save_checkpoint
from unbraid.training.fleet import Fleet, Member, MemberState, fleet_key
from unbraid.training.interrupt import interruptible
from unbraid.training.placement import load_or_stream

_ROWS_OF_HISTORY = 500


@final
@dataclass(frozen=True)
class Progress:
    """Where a fleet stands: for whoever watches."""

    runs: Sequence[Run]
    step: int
    num_steps: int
    steps_per_second: float
    losses: dict[str, list[float]]
    """By name, one number a member."""


def _ignore(event: object) -> None: ...


def train(
    specs: Sequence[RunSpec],
    seeds: Sequence[int],
    *,
    folder: Path | str = "runs",
    device: torch.device | str = "cpu",
    resume: bool = False,
    force: bool = False,
    checkpoint_every: int = 1000,
    stream: bool | None = None,
    watch: Callable[[Progress], None] = _ignore,
    warn: Callable[[str], None] = _ignore,
) -> list[Run]:
    """Train every spec from every seed, all that can share a fleet side by side, and return their runs in that order.

    A run that is finished is found again, not repeated. One that was left unfinished is refused, unless `resume` goes on with it or `force` puts its
    folder aside and starts afresh. Images too many for the device's memory are streamed from the disk, which changes no result; `stream` says so
    (True) or forbids it (False) whatever their size. `watch` is told how it goes, `warn` what a person should know.
    """
    runs = [Run.place(Path(folder), spec, seed) for spec in specs for seed in seeds]
    return train_runs(
        runs, device=device, resume=resume, force=force, checkpoint_every=checkpoint_every, stream=stream, watch=watch, warn=warn
    )


def train_runs(
    runs: Sequence[Run],
    *,
    device: torch.device | str = "cpu",
    resume: bool = False,
    force: bool = False,
    checkpoint_every: int = 1000,
    stream: bool | None = None,
    watch: Callable[[Progress], None] = _ignore,
    warn: Callable[[str], None] = _ignore,
) -> list[Run]:
    """Train these runs, new or unfinished, as `train` does. Returns them all, in the same order."""
    if len({run.folder for run in runs}) < len(runs):
        raise RunError("The same spec and seed were given twice. Give each once.")
    if checkpoint_every < 1:
        raise SpecError(f"checkpoint_every is {checkpoint_every}; expected 1 step or more.")
    if force:
        for run in runs:
            put_aside(run)
    if not resume:
        _refuse_unfinished(runs)
    _tidy_up(runs)
    pending = _pending(runs)
    fleets: dict[str, list[Run]] = defaultdict(list)
    for run in pending:
        fleets[fleet_key(run.spec)].append(run)
    for members in fleets.values():
        _train_members(members, device, checkpoint_every, stream, watch, warn)
    if pending and all(run.status == "failed" for run in pending):
        raise TrainingError(
            f"All {len(pending)} runs failed: their losses stopped being finite. Try a smaller learning_rate, or set max_gradient_norm."
        )
    return list(runs)


def put_aside(run: Run) -> Path | None:
    """Move the folder of a run to `.aside/` beside it, under a name that is free. Nothing is ever deleted."""
    if run.status == "new":
        return None
    with files.locked(run.folder / ".lock", wait=False, purpose=f"training {run.name}"):
        aside = run.folder.parent / ".aside"
        aside.mkdir(exist_ok=True)
        target = next(path for number in itertools.count(1) if not (path := aside / f"{run.name}-{number}").exists())
        return run.folder.rename(target)


def _refuse_unfinished(runs: Sequence[Run]) -> None:
    unfinished = [run for run in runs if run.status == "unfinished"]
    if unfinished:
        raise RunError(
            f"{len(unfinished)} of these runs were begun and not finished (the first is {unfinished[0].folder}). "
            "Go on with them (--resume, or resume=True), or put them aside and start afresh (--force, or force=True)."
        )


def _tidy_up(runs: Sequence[Run]) -> None:
    """Remove the checkpoints of runs whose process died between finishing them and removing its checkpoints."""
    for run in runs:
        if run.status == "finished":
            remove_checkpoints(run)


def _pending(runs: Sequence[Run]) -> list[Run]:
    return [run for run in runs if run.status in ("new", "unfinished")]


def _train_members(
    runs: Sequence[Run],
    device: torch.device | str,
    checkpoint_every: int,
    stream: bool | None,
    watch: Callable[[Progress], None],
    warn: Callable[[str], None],
) -> None:
    """Train runs that can share a fleet, each under its lock."""
    images = load_or_stream(runs[0].spec, device, stream)
    with contextlib.ExitStack() as locks:
        for run in runs:
            locks.enter_context(files.locked(run.folder / ".lock", wait=False, purpose=f"training {run.name}"))
        # Asked again under the locks: another process may have finished some of them while the images were loaded.
        pending = _pending(runs)
        for run in pending:
            run.create()
            run.sweep()
        for group in _starting_points(pending, warn):
            _train_fleet(group, images, checkpoint_every, watch, warn)


Start = tuple[Run, MemberState | None]


def _starting_points(runs: Sequence[Run], warn: Callable[[str], None]) -> list[list[Start]]:
    """The runs with the states they go on from, in groups that start at the same step.

    Two checkpoints of each run are kept, and all members of a fleet are checkpointed together, so whenever the process dies there is a step that
    all of them have; it is 0 if it died within the first checkpoint. Only where files were lost or damaged must a fleet be split.
    """
    states: list[dict[int, MemberState | None]] = [{0: None, **load_checkpoints(run, warn)} for run in runs]
    newest = [max(of_run) for of_run in states]
    steps = {0}.union(*states)
    common = max(steps.intersection(*states))
    if common > 0 or len(steps) == 2:
        newest = [common] * len(runs)
    groups: dict[int, list[Start]] = defaultdict(list)
    for run, of_run, step in zip(runs, states, newest, strict=True):
        groups[step].append((run, of_run[step]))
    return list(groups.values())


def _train_fleet(
    group: Sequence[Start], images: FactorImages, checkpoint_every: int, watch: Callable[[Progress], None], warn: Callable[[str], None]
) -> None:
    runs, num_steps = [run for run, _ in group], group[0][0].spec.num_steps
    fleet = Fleet([Member(run.spec, run.seed) for run in runs], images)
    fleet.restore([state for _, state in group if state is not None])
    histories = [run.history.until(fleet.step) for run in runs]
    for run in runs:
        run.log(f"training from step {fleet.step} to {num_steps} in a fleet of {len(runs)} on {images.device}")
    reporter = _Reporter(runs, histories, num_steps, fleet.step, watch, warn)
    with interruptible() as interrupt:
        while fleet.step < num_steps and bool(reporter.alive.any()):
            losses = fleet.advance()
            if reporter.is_due(fleet.step):
                reporter.record(fleet, losses)
            is_last = fleet.step == num_steps or not bool(reporter.alive.any())
            if fleet.step % checkpoint_every == 0 or is_last or interrupt.requested:
                _checkpoint(fleet, runs, histories)
            if interrupt.requested:
                raise TrainingError(
                    f"Stopped at step {fleet.step} of {num_steps}, as asked; a checkpoint is saved. "
                    f"Go on with: unbraid train --resume --out {runs[0].folder.parent}"
                )
    for index, run in enumerate(runs):
        _finish(fleet, index, run, images, reporter.seconds, warn)


def _checkpoint(fleet: Fleet, runs: Sequence[Run], histories: Sequence[History]) -> None:
    """History first: rows beyond a checkpoint are dropped on resuming, rows before it could not be made again."""
    for index, (run, history) in enumerate(zip(runs, histories, strict=True)):
        history.write(run.folder / "history.csv")
        save_checkpoint(run, fleet.state(index))


def _finish(fleet: Fleet, index: int, run: Run, images: FactorImages, seconds: float, warn: Callable[[str], None]) -> None:
    failed_at = fleet.failed_at(index)
    if failed_at is not None:
        run.log(f"failed: the loss or its gradient was not finite at step {failed_at}")
        run.fail(failed_at)
        return
    model = fleet.model(index)
    try:
        codes = encode(model, images)
    except CodesError as error:  # the last step led where no loss was computed any more
        warn(f"{run.name}: it was trained to the end, but cannot encode the images. {error}")
        run.log(f"failed: {error}")
        run.fail(fleet.step)
        return
    run.finish(model, codes, seconds)
    run.log(f"finished after {seconds:.1f} s")
    remove_checkpoints(run)


@final
class _Reporter:
    """Writes down and tells how a fleet is doing, at steps that depend on the step alone."""

    def __init__(
        self,
        runs: Sequence[Run],
        histories: Sequence[History],
        num_steps: int,
        first_step: int,
        watch: Callable[[Progress], None],
        warn: Callable[[str], None],
    ) -> None:
        self.alive = torch.ones(len(runs), dtype=torch.bool)
        self._runs, self._histories, self._num_steps = runs, histories, num_steps
        self._every = max(1, num_steps // _ROWS_OF_HISTORY)
        self._first_step, self._began = first_step, time.perf_counter()
        self._watch, self._warn = watch, warn

    @property
    def seconds(self) -> float:
        return time.perf_counter() - self._began

    def is_due(self, step: int) -> bool:
        return step == 1 or step % self._every == 0 or step == self._num_steps

    def record(self, fleet: Fleet, losses: dict[str, Tensor]) -> None:
        by_name = {name: values.tolist() for name, values in losses.items()}
        alive = fleet.alive.cpu()
        for index, (run, history) in enumerate(zip(self._runs, self._histories, strict=True)):
            if alive[index]:
                history.append(fleet.step, {name: values[index] for name, values in by_name.items()})
            elif self.alive[index]:
                self._warn(f"{run.name}: its loss or gradient stopped being finite by step {fleet.step}. It is frozen; the others go on.")
        self.alive = alive
        self._watch(Progress(self._runs, fleet.step, self._num_steps, (fleet.step - self._first_step) / self.seconds, by_name))
