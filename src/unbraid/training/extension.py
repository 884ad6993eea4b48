"""Longer runs that continue finished shorter runs."""

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
    """Continues finished runs up to a total of `num_steps` steps, and returns the longer runs in the same order.

    Each longer run is a new run with its own spec and digest. The shorter run does not change. If the runs of a fleet
    are extended together, the results are bit-identical to training all steps in one call. The runs must have been
    trained with `TrainingOptions(keep_state=True)`. Their specs must not contain schedules, which depend on the
    total number of steps. An unfinished longer run is resumed. Without `options`, the new final states are kept too.
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
    """Raises if extending the run would not give the same result as training the longer run from the start."""
    if run.status != "finished":
        raise RunError(f"{run.folder} is {run.status}; only a finished run can be extended. Finish it first.")
    if num_steps <= run.spec.num_steps:
        raise SpecError(
            f"num_steps is {num_steps}, and {run.name} has {run.spec.num_steps:,} steps already. Give a larger "
            "total number of steps."
        )
    if changes := run.source_changes:
        raise RunError(
            f"{run.name} was trained with another state of {changes_text(changes)}, so it cannot be continued exactly. "
            "Restore that state, or train the longer run from its beginning."
        )
    if schedules := [path for path, value in fields_of(run.spec).items() if isinstance(value, Schedule)]:
        raise SpecError(
            f"{run.name} cannot be extended: {', '.join(schedules)} follows a schedule, which runs over all of "
            f"training, so the first {run.spec.num_steps:,} steps of a longer run would differ. Train the longer run "
            "from its beginning."
        )
    if not run.has_state:
        raise RunError(
            f"{run.folder} has not kept the state of its last step, so it cannot be extended. Train with "
            "TrainingOptions(keep_state=True) (--keep-state). To train this run again, add force=True (--force)."
        )


def _start_from(run: Run, longer: Run, names: dict[str, str]) -> None:
    """Creates the longer run with the final state of the shorter run as its first checkpoint."""
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
    """Returns the rows that belong in the history of a longer run, or all rows if any of these is missing."""
    steps = {int(row[0]) for row in history.rows}
    wanted = {step for step in range(1, max(steps, default=0) + 1) if is_row(step, num_steps)}
    kept = [row for row in history.rows if int(row[0]) in wanted] if wanted <= steps else list(history.rows)
    return History(history.columns, kept)
