"""Flags that the commands of the Hub share."""

from typing import Annotated

import typer

Repository = Annotated[
    str, typer.Argument(metavar="OWNER/NAME", help="A repository of models on the Hub.", show_default=False)
]
Private = Annotated[bool, typer.Option("--private", help="Make the repository private, if it is made now.")]
PushedRevision = Annotated[
    str | None, typer.Option("--revision", metavar="BRANCH", help="The branch. Default: main.", show_default=False)
]
FetchedRevision = Annotated[
    str | None,
    typer.Option(
        "--revision",
        metavar="NAME",
        help="A branch, a tag or a commit. Default: the newest of main.",
        show_default=False,
    ),
]
Codes = Annotated[bool, typer.Option("--codes/--no-codes", help="Push the codes of the images as well.")]
License = Annotated[
    str | None,
    typer.Option(
        "--license",
        metavar="ID",
        help="The license of the weights, as the Hub names it: apache-2.0.",
        show_default=False,
    ),
]
DataLicense = Annotated[
    str | None,
    typer.Option(
        metavar="TEXT",
        help="License of the data on the card. Default: that of the data set.",
        show_default=False,
    ),
]
