"""`unbraid study plan`."""

from pathlib import Path
from typing import Annotated

import typer

from unbraid.cli.options import Device, OutFolder, Packages, parse_packages
from unbraid.cli.study_files import StudyFile


def study_plan(
    file: StudyFile,
    out: OutFolder = Path("runs"),
    device: Device = "auto",
    *,
    measure: Annotated[
        bool, typer.Option("--measure/--no-measure", help="Take some steps of each kind of fleet, to tell the time.")
    ] = True,
    packages: Packages = None,
) -> None:
    """Say what a study would do.

    Nothing is trained: it counts models, fleets, steps and bytes, and tells the time from a short measurement.

    Examples:
      unbraid study plan study.json
      unbraid study plan study.json --no-measure
    """
    from unbraid.cli.study_work import read_study, show_plan

    show_plan(read_study(file, parse_packages(packages), out), out, device, measure=measure)
