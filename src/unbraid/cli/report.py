"""`unbraid report` and `unbraid explore`: pages about runs."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from unbraid.cli.console import echo
from unbraid.cli.options import Packages, Page, RunFolders, Title, check_target, parse_names, parse_packages
from unbraid.cli.runs import open_runs, select_with_model


def report(
    what: RunFolders,
    out: Page = Path("report.html"),
    title: Title = None,
    factors: Annotated[
        str | None, typer.Option(metavar="NAMES", help="Show scores of these factors: scale,position_x. Default: all.")
    ] = None,
    by: Annotated[
        str | None, typer.Option(metavar="METRIC", help="Sort and color models by this saved score. Default: mig.")
    ] = None,
    figures: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="Also write each figure to this folder, as SVG and PNG.")
    ] = None,
    packages: Packages = None,
) -> None:
    """Write a page about runs.

    The page shows the scores, the effect of each latent, the losses during training, and every model. It is a single
    file that needs no network. It links to an explorer.html in the same folder.

    Examples:
      unbraid report runs
      unbraid report runs/sweep --out sweep.html --title "A sweep of beta"
      unbraid report runs --factors scale,orientation,position_x,position_y
      unbraid report runs --by dci --figures figures
    """
    from unbraid.show.report import write_report

    check_target("--out", out, (".html",), force=True)
    runs = open_runs(what, parse_packages(packages))
    finished = select_with_model(runs, "report")
    echo(f"Writing {out} from {len(finished)} runs ...")
    written = write_report(runs, out, title=title, factors=parse_names(factors), by=by, figures=figures)
    echo(f"The report is in {written.resolve().as_uri()}")
    if figures is not None:
        echo(f"The figures are in {figures}")


def explore(
    what: RunFolders,
    out: Page = Path("explorer.html"),
    title: Title = None,
    precision: Annotated[
        Literal["auto", "half", "int8"],
        typer.Option(help="The type of weights. auto is int8 from a million weights on, otherwise half."),
    ] = "auto",
    packages: Packages = None,
) -> None:
    """Write a page that decodes in the browser.

    A slider for each latent changes the decoded image. The page can start from a real image, animate a latent, swap a
    latent between two images, and save the image. It is a single file that needs no server and no network. Several runs
    of the same dataset are shown side by side.

    Examples:
      unbraid explore runs/beta-tcvae-579c2b84830d-seed0
      unbraid explore runs/sweep -o sweep.html
    """
    from unbraid.show.explorer import write_explorer

    check_target("--out", out, (".html",), force=True)
    finished = select_with_model(open_runs(what, parse_packages(packages)), "explore")
    echo(f"Writing {out} from {len(finished)} runs ...")
    written = write_explorer(finished, out, title=title, precision=precision)
    echo(f"The explorer is in {written.resolve().as_uri()}")
