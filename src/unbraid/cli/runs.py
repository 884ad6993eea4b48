"""`unbraid runs`."""

from pathlib import Path
from typing import Annotated

import typer

from unbraid.cli.console import note, output, say
from unbraid.cli.options import Packages, parse_packages
from unbraid.cli.run_folders import open_runs
from unbraid.cli.tables import run_row, runs_table
from unbraid.errors import UnbraidError
from unbraid.runs.run import Run


def runs(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="Where to look.")] = Path("runs"),
    packages: Packages = None,
) -> None:
    """List the runs in a folder and below it.

    Examples:
      unbraid runs
      unbraid runs runs/quickstart
    """
    found = open_runs([folder], parse_packages(packages))
    if not found:
        say(f"There are no runs in {folder}. Make one: unbraid train --dataset dsprites --out {folder}")
        return
    output().print(runs_table([row for run in found if (row := _row(run, folder))]))


def _row(run: Run, folder: Path) -> list[str] | None:
    """The row of a run, or a note: one damaged run must not hide the others."""
    name = run.name if run.folder == folder else str(run.folder.relative_to(folder))
    try:
        return run_row(run, name)
    except (UnbraidError, OSError) as error:
        note(f"{name} is passed over: {error}")
        return None
