"""`unbraid runs`, and functions that open runs for other commands."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from unbraid.cli.console import note, output, say
from unbraid.cli.options import Packages, parse_packages
from unbraid.errors import RunError, UnbraidError

if TYPE_CHECKING:
    from unbraid.models.autoencoder import AutoencoderModule
    from unbraid.training.runs.run import Run


def runs(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="The folder to search.")] = Path("runs"),
    packages: Packages = None,
) -> None:
    """List the runs in a folder and below it.

    Examples:
      unbraid runs
      unbraid runs runs/quickstart
    """
    from unbraid.cli.tables import run_row, runs_table

    found = open_runs([folder], parse_packages(packages))
    if not found:
        say(f"There are no runs in {folder}. Make one: unbraid train --dataset dsprites --out {folder}")
        return
    rows = []
    for run in found:
        name = run.name if run.folder == folder else str(run.folder.relative_to(folder))
        try:
            rows.append(run_row(run, name))
        except (UnbraidError, OSError) as error:  # one damaged run must not hide the others
            note(f"{name} is left out: {error}")
    output().print(runs_table(rows))


def open_runs(paths: Iterable[Path], packages: Sequence[str] = ()) -> "list[Run]":
    """Returns the runs at these paths, and the runs at any depth below them.

    A run given as a path must be readable. Damaged runs below a folder are left out with a note.
    """
    from unbraid.training.runs.runs_in import found_runs

    found: dict[Path, Run] = {}
    for path in paths:
        found |= {run.folder.resolve(): run for run in found_runs(path, note, packages)}
    return list(found.values())


def finished_among(runs: "Sequence[Run]", verb: str) -> "list[Run]":
    """Returns the finished runs, and prints a note on the others. Raises RunError if no run is finished."""
    finished = [run for run in runs if run.status == "finished"]
    if not finished:
        reason = "there are no runs. Name a run, which is a folder with a spec.json, or a folder that holds runs."
        if any(run.status == "unfinished" for run in runs):
            command = f"unbraid train --resume --out {runs[0].folder.parent}"
            reason = f"none of the {len(runs)} runs is finished. Resume them: {command}"
        elif runs:
            reason = f"all {len(runs)} runs failed. `unbraid diagnose` suggests fixes."
        raise RunError(f"There is nothing to {verb}: {reason}")
    if left_out := [f"{run.name} is {run.status}" for run in runs if run.status != "finished"]:
        note(f"{len(left_out)} of {len(runs)} runs are left out: {', '.join(left_out)}.")
    return finished


def with_models(runs: "Sequence[Run]", verb: str) -> "list[Run]":
    """Returns the finished runs that still have weights, and prints a note on the others. Raises if none is left."""
    finished = finished_among(runs, verb)
    found = [run for run in finished if run.has_model]
    if not found:
        raise RunError(
            f"There is nothing to {verb}: a study that keeps only scores deleted the weights and codes of "
            f"{finished[0].name}{' and all others' * (len(finished) > 1)}. `unbraid runs` lists the scores. To have a "
            "model again, train its run with --force."
        )
    if gone := [run.name for run in finished if not run.has_model]:
        note(
            f"{len(gone)} of {len(finished)} finished runs are left out, because their study keeps only scores: "
            f"{', '.join(gone[:5])}{', ...' if len(gone) > 5 else ''}."
        )
    return found


def loaded_model(run: "Run") -> "AutoencoderModule":
    """Returns the model of a run, and prints a note if the run is unfinished."""
    if run.status == "unfinished" and run.checkpoints:
        note(f"{run.name} is unfinished: its model is that of step {run.steps_done}, its newest checkpoint.")
    return run.model()
