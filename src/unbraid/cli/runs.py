"""`unbraid runs`."""

from pathlib import Path
from typing import Annotated

import typer

from unbraid.cli.console import output, say
from unbraid.cli.options import Packages, parse_packages


def runs(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="Where to look.")] = Path("runs"),
    packages: Packages = None,
) -> None:
    """List the runs in a folder and below it.

    Examples:
      unbraid runs
      unbraid runs runs/quickstart
    """
    from unbraid.cli.run_folders import open_runs
    from unbraid.cli.tables import readable_rows, runs_table

    found = open_runs([folder], parse_packages(packages))
    if not found:
        say(f"There are no runs in {folder}. Make one: unbraid train --dataset dsprites --out {folder}")
        return
    output().print(runs_table(readable_rows(found, folder)))
