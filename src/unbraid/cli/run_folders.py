"""Runs by the folders that hold them."""

from collections.abc import Iterable, Sequence
from pathlib import Path

from unbraid.cli.console import note
from unbraid.errors import RunError
from unbraid.models.autoencoder import AutoencoderModule
from unbraid.training.runs.run import Run
from unbraid.training.runs.runs_in import found_runs


def open_runs(paths: Iterable[Path], packages: Sequence[str] = ()) -> list[Run]:
    """Returns the runs that these folders are or hold, at any depth.

    A run that is named must be readable; one that is found may be passed over. `packages` are those of classes of the
    user's own.
    """
    found: dict[Path, Run] = {}
    for path in paths:
        found |= {run.folder.resolve(): run for run in found_runs(path, note, packages)}
    return list(found.values())


def finished_among(runs: Iterable[Run], verb: str) -> list[Run]:
    """Returns those that are finished, and prints a note on the others. Raises if there are none."""
    runs = list(runs)
    finished = [run for run in runs if run.status == "finished"]
    left_out = [run for run in runs if run.status != "finished"]
    if not finished:
        why = "there are no runs. Name a run, which is a folder with a spec.json, or a folder that holds runs."
        if any(run.status == "unfinished" for run in runs):
            why = (
                f"none of the {len(runs)} runs is finished. Go on with them: unbraid train --resume --out "
                f"{runs[0].folder.parent}"
            )
        elif runs:
            why = (
                f"all {len(runs)} runs failed. `unbraid runs` lists them; train with a smaller learning rate, or with "
                "--max-gradient-norm."
            )
        raise RunError(f"There is nothing to {verb}: {why}")
    if left_out:
        note(
            f"{len(left_out)} of {len(runs)} runs are left out: "
            f"{', '.join(f'{run.name} is {run.status}' for run in left_out)}."
        )
    return finished


def with_models(runs: Iterable[Run], verb: str) -> list[Run]:
    """Returns the finished runs whose weights are still there, and prints a note on the others.

    Raises if there are none.
    """
    finished = finished_among(runs, verb)
    found = [run for run in finished if run.has_model]
    if not found:
        raise RunError(
            f"There is nothing to {verb}: weights and codes of {_all_of(finished)} were deleted by a study that keeps "
            "scores alone. `unbraid runs` lists the scores; to have a model again, train its run again with --force."
        )
    if len(found) < len(finished):
        gone = [run.name for run in finished if not run.has_model]
        note(
            f"{len(gone)} of {len(finished)} finished runs are left out, because their study keeps scores alone: "
            f"{', '.join(gone[:5])}{', ...' if len(gone) > 5 else ''}."
        )
    return found


def _all_of(runs: list[Run]) -> str:
    return runs[0].name if len(runs) == 1 else f"all {len(runs)} runs"


def loaded_model(run: Run) -> AutoencoderModule:
    """Returns the model of a run, and prints a note if that is unfinished."""
    if run.status == "unfinished" and run.checkpoints:
        note(f"{run.name} is unfinished: its model is that of step {run.steps_done}, its newest checkpoint.")
    return run.model()
