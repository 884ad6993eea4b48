"""`unbraid study table`."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from unbraid.cli.console import note, say
from unbraid.cli.options import OutFolder, Packages, parse_packages
from unbraid.cli.study_files import StudyFile


def study_table(
    file: StudyFile,
    out: OutFolder = Path("runs"),
    metrics: Annotated[
        str | None,
        typer.Option(metavar="NAMES", help="Which metrics, separated by commas. By default all.", show_default=False),
    ] = None,
    form: Annotated[
        Literal["wide", "long"], typer.Option(help="A row for each setting, or one for each number of each run.")
    ] = "wide",
    to: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Write it: .csv, .md, .tex (booktabs), .parquet, or all of it as evidence: .json.",
            show_default=False,
        ),
    ] = None,
    *,
    force: Annotated[bool, typer.Option("--force", help="Replace the file if it exists.")] = False,
    packages: Packages = None,
) -> None:
    """Show the scores of a study.

    By default medians and quartiles over seeds; in the long form every number of every run.

    Examples:
      unbraid study table study.json --metrics mig,sap
      unbraid study table study.json --form long --to scores.csv
      unbraid study table study.json --to table.tex
    """
    from unbraid.cli.study_work import check_place, read_study, show_table, write_table
    from unbraid.studies.collect import collect

    if to is not None:
        check_place(to, form, force=force)
    study = read_study(file, parse_packages(packages), out)
    has_parts = form == "long" or bool(study.claims) or (to is not None and to.suffix == ".json")
    scores = collect(study, out, parts=has_parts)
    chosen = None if metrics is None else [name.strip() for name in metrics.split(",")]
    if not scores.numbers:
        note(f"No run of the study is scored yet. Train and score them: unbraid study run {file} --out {out}")
    if to is None:
        show_table(study, scores, chosen, form)
    else:
        write_table(study, scores, chosen, form, to)
        say(f"The table is in {to}.")
