"""Continuation of finished runs for more steps."""

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

    Each longer run is a new run with a separate spec and digest. The shorter run does not change. If the runs of a
    fleet are extended together, the results are bit-identical to training all steps in one call. The runs must have
    been trained with `TrainingOptions(keep_state=True)`. Schedules are not supported, because they depend on the total
    number of steps. Unfinished longer runs are resumed. By default, the final states of the longer runs are saved too.
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
    """Raises an error if extending a run would give another result than training the longer run from the start."""
    if run.status != "finished":
        raise RunError(f"{run.folder} is {run.status}; only a finished run can be extended. Finish it first.")
    if num_steps <= run.spec.num_steps:
        raise SpecError(
            f"num_steps is {num_steps}; expected more than {run.spec.num_steps:,}, the steps of {run.name}. Give a "
            "larger total number of steps."
        )
    if changes := run.source_changes:
        raise RunError(
            f"{run.name} was trained with another version of {changes_text(changes)}. Restore that version, or train "
            "the longer run from step 0."
        )
    if schedules := [path for path, value in fields_of(run.spec).items() if isinstance(value, Schedule)]:
        raise SpecError(
            f"{run.name} has a schedule of {', '.join(schedules)}; expected constants, because a schedule depends on "
            "the total number of steps. Train the longer run from step 0."
        )
    if not run.has_state:
        raise RunError(
            f"{run.folder} has no saved state of its last step, so it cannot be extended. Train the run again with "
            "TrainingOptions(keep_state=True, force=True) (--keep-state --force)."
        )


def _start_from(run: Run, longer: Run, names: dict[str, str]) -> None:
    """Creates the longer run, with the final state of the shorter run as the first checkpoint."""
    path = run.folder / STATE
    try:
        record, tensors = read_checkpoint(path, run.spec.digest, run.seed)
        train_state, history = from_named(tensors, layout(longer.spec)), History.from_csv(record["history"])
        fleet = [names[name] for name in record["fleet"] if name in names]
        state = MemberState(record["step"], train_state, failed_at=None)
    except ValueError as error:
        raise RunError(
            f"{path} cannot be used ({error}). Restore the file and its .safetensors file, or train the longer run "
            "from step 0."
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
    """Drops the rows of a history that a longer run would not have. Returns all rows if a required row is missing."""
    steps = {int(row[0]) for row in history.rows}
    wanted = {step for step in range(1, max(steps, default=0) + 1) if is_row(step, num_steps)}
    kept = [row for row in history.rows if int(row[0]) in wanted] if wanted <= steps else list(history.rows)
    return History(history.columns, kept)
