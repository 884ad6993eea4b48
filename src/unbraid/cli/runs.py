"""`unbraid runs`, and functions that open runs for other commands."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from unbraid.cli.console import echo, note, output
from unbraid.cli.options import Packages, parse_packages
from unbraid.errors import RunError, UnbraidError

if TYPE_CHECKING:
    from unbraid.models.autoencoder import AutoencoderModule
    from unbraid.training.runs.run import Run


def runs(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="The folder to search.")] = Path("runs"),
    packages: Packages = None,
) -> None:
    """List the runs in a folder and its subfolders.

    Examples:
      unbraid runs
      unbraid runs runs/quickstart
    """
    from unbraid.cli.tables import run_row, runs_table

    found = open_runs([folder], parse_packages(packages))
    if not found:
        echo(f"There are no runs in {folder}. Make one: unbraid train --dataset dsprites --out {folder}")
        return
    rows = []
    for run in found:
        name = run.name if run.folder == folder else str(run.folder.relative_to(folder))
        try:
            rows.append(run_row(run, name))
        except (UnbraidError, OSError) as error:  # one damaged run must not hide the others
            note(f"Skipped {name}: {error}")
    output().print(runs_table(rows))


def open_runs(paths: Iterable[Path], packages: Sequence[str] = ()) -> "list[Run]":
    """Opens the runs at these paths and in all subfolders.

    Raises an error if a path is a damaged run. Prints a note for each damaged run in a subfolder.
    """
    from unbraid.training.runs.runs_in import found_runs

    found: dict[Path, Run] = {}
    for path in paths:
        found |= {run.folder.resolve(): run for run in found_runs(path, note, packages)}
    return list(found.values())


def select_finished(runs: "Sequence[Run]", verb: str) -> "list[Run]":
    """Returns the finished runs, and prints a note about others. Raises RunError ("nothing to `verb`") without any."""
    finished = [run for run in runs if run.status == "finished"]
    if not finished:
        reason = "no runs were found. Name a run (a folder with a spec.json) or a folder of runs."
        if any(run.status == "unfinished" for run in runs):
            command = f"unbraid train --resume --out {runs[0].folder.parent}"
            reason = f"none of the {len(runs)} runs is finished. Resume training: {command}"
        elif runs:
            reason = f"all {len(runs)} runs failed. Run `unbraid diagnose` for suggested fixes."
        raise RunError(f"There is nothing to {verb}: {reason}")
    if left_out := [f"{run.name} is {run.status}" for run in runs if run.status != "finished"]:
        note(f"Skipped {len(left_out)} of {len(runs)} runs: {', '.join(left_out)}.")
    return finished


def select_with_model(runs: "Sequence[Run]", verb: str) -> "list[Run]":
    """Returns the finished runs with weights. Prints a note about other runs; raises RunError if none remain."""
    finished = select_finished(runs, verb)
    found = [run for run in finished if run.has_model]
    if not found:
        raise RunError(
            f"There is nothing to {verb}: a study that keeps only scores deleted the weights and codes of "
            f"{finished[0].name}{' and of all other runs' * (len(finished) > 1)}. To get the weights again, train the "
            "run with --force. `unbraid runs` lists the scores."
        )
    if gone := [run.name for run in finished if not run.has_model]:
        note(
            f"Skipped {len(gone)} of {len(finished)} finished runs without weights, whose study keeps only scores: "
            f"{', '.join(gone[:5])}{', ...' if len(gone) > 5 else ''}."
        )
    return found


def load_model(run: "Run") -> "AutoencoderModule":
    """Loads the model of a run. Prints a note if the run is unfinished."""
    if run.status == "unfinished" and run.checkpoints:
        note(f"{run.name} is unfinished. Its weights come from the newest checkpoint, at step {run.steps_done}.")
    return run.model()
