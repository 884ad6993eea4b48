"""`unbraid report`."""

from pathlib import Path
from typing import Annotated

import typer

from unbraid._internal import files
from unbraid.cli.console import say, stage
from unbraid.cli.options import Packages, parse_packages
from unbraid.errors import SpecError


def report(
    what: Annotated[list[Path], typer.Argument(metavar="RUNS", help="Runs, or folders of runs.", show_default=False)],
    out: Annotated[Path, typer.Option(metavar="FILE", help="The page to write, an .html file.")] = Path("report.html"),
    title: Annotated[str | None, typer.Option(metavar="TEXT", help="Its headline, if you have a better one.")] = None,
    factors: Annotated[
        str | None,
        typer.Option(
            metavar="NAMES",
            help="The factors that scores are over, such as scale,position_x. Default: all.",
            show_default=False,
        ),
    ] = None,
    by: Annotated[
        str | None,
        typer.Option(
            metavar="METRIC",
            help="The kept score that models are sorted and colored by. Default: mig.",
            show_default=False,
        ),
    ] = None,
    figures: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="Write each figure there too, as SVG and PNG.", show_default=False),
    ] = None,
    packages: Packages = None,
) -> None:
    """Write a page about runs.

    It shows their scores, what each latent does and how training went, and every model. It is a single file that needs
    nothing else and no network. An explorer.html beside it is linked to.

    Examples:
      unbraid report runs
      unbraid report runs/sweep --out sweep.html --title "A sweep of beta"
      unbraid report runs --factors scale,orientation,position_x,position_y
      unbraid report runs --by dci --figures figures
    """
    from unbraid.cli.run_folders import open_runs, with_models
    from unbraid.show.report import write_report

    if out.suffix != ".html":
        raise SpecError(f"--out is {out}; the report is a web page, so name an .html file.")
    files.check_writable(out)
    runs = open_runs(what, parse_packages(packages))
    finished = with_models(runs, "report")
    with stage(f"Writing {out} from {len(finished)} runs"):
        named = [name.strip() for name in (factors or "").split(",") if name.strip()]
        written = write_report(runs, out, title=title, factors=named, by=by, figures=figures)
    say(f"The report is in {written.resolve().as_uri()}")
    if figures is not None:
        say(f"Its figures are in {figures}")
