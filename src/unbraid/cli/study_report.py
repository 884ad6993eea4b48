"""`unbraid study report`."""

from pathlib import Path
from typing import Annotated

import typer

from unbraid._internal import files
from unbraid.cli.console import say, stage
from unbraid.cli.options import OutFolder, Packages, parse_packages
from unbraid.cli.study_files import StudyFile
from unbraid.errors import SpecError


def study_report(
    file: StudyFile,
    out: OutFolder = Path("runs"),
    to: Annotated[Path, typer.Option(metavar="FILE", help="The page to write, an .html file.")] = Path("study.html"),
    scores: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Take the scores from evidence (`study table --to FILE.json` writes it), not from runs.",
            show_default=False,
        ),
    ] = None,
    packages: Packages = None,
) -> None:
    """Write a page about a study.

    It has the question, which setting is best and how sure that is, every seed, the table, the claims with their
    verdicts, which metrics agree, and how to repeat it: one file that needs no script and no network.

    Examples:
      unbraid study report study.json
      unbraid study report study.json --scores evidence.json --to page.html
    """
    from unbraid.cli.study_work import read_evidence, read_study
    from unbraid.studies.report import write_study_report

    if to.suffix != ".html":
        raise SpecError(f"--to is {to}; the report is a web page, so name an .html file.")
    files.check_writable(to)
    study = read_study(file, parse_packages(packages), out)
    found = read_evidence(study, out, scores)
    with stage(f"Writing {to} from {len(found.scores.runs)} runs"):
        command = f"unbraid study run {file} --out {out}"
        written = write_study_report(study, found.scores, to, made_by=found.made_by, command=command)
    say(f"The report is in {written.resolve().as_uri()}")
