"""`unbraid study select`."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from unbraid.cli.options import OutFolder, Packages, parse_packages
from unbraid.cli.study_files import StudyFile


def study_select(
    file: StudyFile,
    out: OutFolder = Path("runs"),
    by: Annotated[
        Literal["udr", "agreement", "wsepin", "elbo"], typer.Option(help="What to choose by; none of it needs labels.")
    ] = "udr",
    top: Annotated[int, typer.Option(metavar="NUMBER", min=1, help="How many runs to list.")] = 10,
    packages: Packages = None,
) -> None:
    """Choose runs without labels.

    It also shows how well the choice agrees with scores that need labels. udr: how well the latents of a run match
    those of other seeds of its setting, and uniquely. agreement: how strongly its informative latents correlate with
    those of other seeds, matched one to one. wsepin: how much information about the image each latent has that the
    others lack. elbo: the bound on the likelihood.

    Examples:
      unbraid study select study.json --by udr
      unbraid study select study.json --by wsepin --top 3
    """
    from unbraid.cli.study_work import read_study, show_choices

    show_choices(read_study(file, parse_packages(packages), out), out, by, top)
