"""`unbraid explore`."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from unbraid._internal import files
from unbraid.cli.console import say, stage
from unbraid.cli.options import Packages, parse_packages
from unbraid.errors import SpecError


def explore(
    what: Annotated[list[Path], typer.Argument(metavar="RUNS", help="Runs, or folders of runs.", show_default=False)],
    out: Annotated[Path, typer.Option("--out", "-o", metavar="FILE", help="The page to write, an .html file.")] = Path(
        "explorer.html"
    ),
    title: Annotated[str | None, typer.Option(metavar="TEXT", help="Its headline, if you have a better one.")] = None,
    precision: Annotated[
        Literal["auto", "half", "int8"],
        typer.Option(help="How weights are written; auto is half, and int8 from a million weights on."),
    ] = "auto",
    packages: Packages = None,
) -> None:
    """Write a page that decodes in the browser.

    A slider for each latent moves the picture; one can begin at real images, play a latent, swap one between two images
    and save what one sees. It is a single file that needs no server and no network. Several runs, which were trained on
    the same images, lie side by side.

    Examples:
      unbraid explore runs/beta-tcvae-579c2b84830d-seed0
      unbraid explore runs/sweep -o sweep.html
    """
    from unbraid.cli.run_folders import open_runs, with_models
    from unbraid.show.explorer import write_explorer

    if out.suffix != ".html":
        raise SpecError(f"--out is {out}; the explorer is a web page, so name an .html file.")
    files.check_writable(out)
    finished = with_models(open_runs(what, parse_packages(packages)), "explore")
    with stage(f"Writing {out} from {len(finished)} runs"):
        written = write_explorer(finished, out, title=title, precision=precision)
    say(f"The explorer is in {written.resolve().as_uri()}")
