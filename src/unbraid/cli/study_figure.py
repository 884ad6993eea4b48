"""`unbraid study figure`."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from unbraid.cli.console import say
from unbraid.cli.options import OutFolder, Packages, parse_packages
from unbraid.cli.study_files import StudyFile

Kind = Literal[
    "box", "violin", "strip", "bars", "sorted-bars", "line", "scatter", "rate-distortion", "parallel", "correlation"
]


def study_figure(
    file: StudyFile,
    to: Annotated[Path, typer.Option(metavar="FILE", help="Where to write it: .svg, .pdf or .png.")],
    out: OutFolder = Path("runs"),
    kind: Annotated[Kind, typer.Option(help="What to draw.")] = "box",
    metric: Annotated[
        str | None,
        typer.Option(
            metavar="NAMES",
            help="Which metric: one, two for a scatter, or by default all for parallel and correlation.",
            show_default=False,
        ),
    ] = None,
    scores: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Draw scores that were kept as evidence, not runs.", show_default=False),
    ] = None,
    *,
    force: Annotated[bool, typer.Option("--force", help="Replace files that exist.")] = False,
    packages: Packages = None,
) -> None:
    """Draw the scores of a study.

    The numbers that are drawn are written as a csv beside the figure. A family has one color and one marker in every
    figure. line: means over the field in which settings of a family differ.

    Examples:
      unbraid study figure study.json --kind box --metric mig --to mig.svg
      unbraid study figure study.json --kind scatter --metric mig,sap --to mig-sap.pdf
      unbraid study figure study.json --kind correlation --scores evidence.json --to agree.png
    """
    from unbraid import figures
    from unbraid.cli.study_work import read_evidence, read_study
    from unbraid.figures.saving import check_figure_place
    from unbraid.studies.figures import draw

    check_figure_place(to, overwrite=force)
    study = read_study(file, parse_packages(packages), out)
    names = [name.strip() for name in (metric or "").split(",") if name.strip()]
    figures.save(draw(read_evidence(study, out, scores).scores, kind, names), to, overwrite=force)
    say(f"The figure is in {to}, its numbers in {to.with_suffix('.csv')}.")
