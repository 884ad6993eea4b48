"""Runs that continue where shorter ones ended."""

from collections.abc import Sequence
from dataclasses import replace

import torch

from unbraid._internal import files
from unbraid._internal.progress import Listener, progress_bar
from unbraid.config.paths import fields_of
from unbraid.config.schedule import Schedule
from unbraid.errors import RunError, SpecError
from unbraid.training.checkpoint import save_checkpoint
from unbraid.training.options import TrainingOptions
from unbraid.training.reporter import is_row
from unbraid.training.runs.history import History
from unbraid.training.runs.run import Run
from unbraid.training.runs.run_folder import ENVIRONMENT, STATE
from unbraid.training.runs.run_source import changes_text
from unbraid.training.runs.run_writer import RunWriter
from unbraid.training.runs.trained_model import read_checkpoint
from unbraid.training.state import MemberState, from_named, layout
from unbraid.training.train import train_runs


def extend(
    runs: Run | Sequence[Run],
    num_steps: int,
    *,
    device: torch.device | str = "auto",
    watch: Listener | None = None,
    progress: bool = True,
    options: TrainingOptions | None = None,
) -> list[Run]:
    """Trains finished runs on to `num_steps` steps in all, and returns the longer runs, in the same order.

    Each is a new run, with its own spec and digest, beside the shorter one, which does not change. Runs
    that were trained side by side have the bits that they would have had if asked for at once if they are extended
    together. The runs must have kept their states (`TrainingOptions(keep_state=True)`), and may have no schedules,
    which run over all of training. A longer run that was begun before is continued. Without `options`, states are kept
    again.
    """
    options = options or TrainingOptions(keep_state=True)
    runs = [runs] if isinstance(runs, Run) else runs
    longer = [Run.place(run.folder.parent, replace(run.spec, num_steps=num_steps), run.seed) for run in runs]
    for run, target in zip(runs, longer, strict=True):
        _check(run, target.spec.num_steps)
        options.check(target.spec.num_steps)
    names = {run.name: target.name for run, target in zip(runs, longer, strict=True)}
    for run, target in zip(runs, longer, strict=True):
        if target.status in ("new", "unfinished") and not target.checkpoints:
            _start_from(run, target, names)
    with progress_bar(watch, show=progress):
        return train_runs(longer, options, device=device, resume=True)


def _check(run: Run, num_steps: int) -> None:
    """Refuses runs that cannot be extended to exactly what the longer run would have been."""
    if run.status != "finished":
        raise RunError(f"{run.folder} is {run.status}; only a finished run can be extended. Finish it first.")
    if num_steps <= run.spec.num_steps:
        raise SpecError(
            f"num_steps is {num_steps}, and {run.name} has {run.spec.num_steps:,} steps already. Give the number of "
            "steps of the longer run in all, which is more."
        )
    if changes := run.source_changes:
        raise RunError(
            f"{run.name} was trained with another state of {changes_text(changes)}, so a longer run would be another. "
            "Restore that state, or train the longer run from its beginning."
        )
    if schedules := [path for path, value in fields_of(run.spec).items() if isinstance(value, Schedule)]:
        raise SpecError(
            f"{run.name} cannot be extended: {', '.join(schedules)} follows a schedule, which runs over all of "
            f"training, so the first {run.spec.num_steps:,} steps of a longer run are others. Train the longer run "
            "from its beginning."
        )
    if not run.has_state:
        raise RunError(
            f"{run.folder} has not kept the state of its last step, so it cannot be extended. Train with "
            "TrainingOptions(keep_state=True) (--keep-state); this run again, with force=True (--force) as well."
        )


def _start_from(run: Run, longer: Run, names: dict[str, str]) -> None:
    """Begins the longer run with a checkpoint: the state in which the shorter one ended."""
    path = run.folder / STATE
    try:
        record, tensors = read_checkpoint(path, run.spec.digest, run.seed)
        carried, history = from_named(tensors, layout(longer.spec)), History.from_csv(record["history"])
        fleet = [names[name] for name in record["fleet"] if name in names]
        state = MemberState(record["step"], carried, failed_at=None)
    except ValueError as error:
        raise RunError(
            f"{path} cannot be used ({error}). Restore it and the tensors beside it, or train the longer run from its "
            "beginning."
        ) from None
    writer = RunWriter(longer)
    with writer.locked():
        writer.begin()
        environment = run.folder / ENVIRONMENT
        if environment.exists():
            files.write_bytes(longer.folder / ENVIRONMENT, files.read_bytes(environment))
        save_checkpoint(longer, state, fleet, _thinned(history, longer.spec.num_steps))
        writer.log(f"extends {run.name} from step {state.step}")


def _thinned(history: History, num_steps: int) -> History:
    """Returns the rows that the history of a longer run has, if all of them are there; else all that are."""
    steps = {int(row[0]) for row in history.rows}
    wanted = {step for step in range(1, max(steps, default=0) + 1) if is_row(step, num_steps)}
    kept = [row for row in history.rows if int(row[0]) in wanted] if wanted <= steps else list(history.rows)
    return History(history.columns, kept)
