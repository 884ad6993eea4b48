"""`unbraid datasets fetch`."""

from pathlib import Path
from typing import Annotated

import typer


def datasets_fetch(
    name: Annotated[
        str, typer.Argument(metavar="NAME", help="A data set, as `unbraid datasets` lists it.", show_default=False)
    ],
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER",
            help="A data folder of yours to put the files into, in its own subfolder. By default the cache.",
            show_default=False,
        ),
    ] = None,
    only: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FILE",
            help="Only the file of this name, of several that are published. May be repeated.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Download the files of a data set.

    They are downloaded from their owner or a mirror, and compared with the checksum that is published for them. Where
    none is, that of the first download is recorded, and later ones are compared with it. A download that was
    interrupted continues where it stopped. Read the license, which is printed first: unbraid passes nothing on, and you
    are the one who must keep to it.

    Examples:
      unbraid datasets fetch mnist
      unbraid datasets fetch shapes3d --out ~/data
      unbraid datasets fetch mpi3d --only mpi3d_toy.npz
    """
    from unbraid.cli.dataset_files import fetch_dataset

    fetch_dataset(name, out, only or [])
