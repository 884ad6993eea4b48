"""`unbraid datasets show`."""

from pathlib import Path
from typing import Annotated

import typer

from unbraid.cli.flags import Flag, Given, known_flags, spelled, with_flags

_OWN = ("sampling", "subset", "out", "joint", "seed", "force", "help")
_PANELS = {
    "": "Which images, and how likely they are",
    "dataset.": "Fields of the data set",
    "sampling.": "Fields of --sampling",
    "subset.": "Fields of --subset",
}


def shown_flags() -> dict[str, Flag]:
    """Returns the flags of `train` that choose images, in the order of the panels.

    The data set itself is an argument.
    """
    found = [flag for path, flag in known_flags("train").items() if path.startswith(("dataset.", "sampling", "subset"))]
    return {flag.path: flag for flag in sorted(found, key=lambda flag: "." in flag.path)}


def short_name(path: str) -> str | None:
    """Returns the short name of a flag of `train`: `--resolution` for `--dataset.resolution`."""
    name = path.removeprefix("dataset.")
    return None if name in (path, *_OWN) else spelled(name)


@with_flags(shown_flags, _PANELS, short_name, first="dataset")
def datasets_show(
    given: Given,
    name: Annotated[
        str, typer.Argument(metavar="NAME", help="A data set, as `unbraid datasets` lists it.", show_default=False)
    ],
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="The page to write, an .html file. By default NAME.html.", show_default=False
        ),
    ] = None,
    joint: Annotated[
        str | None,
        typer.Option(
            metavar="FACTOR,FACTOR",
            help="Draw also how likely each combination of these two is among the images.",
            show_default=False,
        ),
    ] = None,
    seed: Annotated[int, typer.Option(metavar="NUMBER", min=0, help="Which samples are drawn.")] = 0,
    *,
    force: Annotated[bool, typer.Option("--force", help="Replace the file if it exists.")] = False,
) -> None:
    """Write a page about a data set.

    It shows samples, and for each factor a row of images that differ in it alone; where there are none such, images for
    each of its values. With --sampling it also shows the table of probabilities that is asked for, and the samples are
    drawn accordingly; of several samplings (--sampling.design A,B,C,D) it shows the tables side by side. Fields of the
    data set, --sampling and --subset are those of `unbraid train`.

    Examples:
      unbraid datasets show dsprites
      unbraid datasets show dsprites --resolution 32 --shapes heart --out hearts.html
      unbraid datasets show dsprites --sampling correlated --sampling.factors scale,position_x --sampling.strength 0.2
      unbraid datasets show shaded-faces --sampling chen-design --sampling.design A,B,C,D
    """
    from unbraid.cli.dataset_page import draw_dataset

    draw_dataset(name, given, out, joint, seed, force=force)
