"""`unbraid pull`."""

from pathlib import Path
from typing import Annotated

import typer

from unbraid.cli.console import say, stage
from unbraid.cli.hub_options import FetchedRevision, Repository
from unbraid.cli.options import OutFolder, Packages, parse_packages


def pull(
    repository: Repository,
    name: Annotated[
        str | None,
        typer.Argument(metavar="RUN", help="One run of a zoo. Default: all of it.", show_default=False),
    ] = None,
    out: OutFolder = Path("runs"),
    revision: FetchedRevision = None,
    packages: Packages = None,
) -> None:
    """Fetch a run, or a zoo of them, from the Hugging Face Hub.

    Nothing of what is fetched is executed or unpickled. What was fetched before is found without a network, with
    HF_HUB_OFFLINE=1. Runs that are in the folder already are kept.

    Examples:
      unbraid pull me/beta-tcvae-dsprites --out runs
      unbraid pull me/zoo beta-tcvae-0a1b2c3d4e5f-seed0 --revision 5f2c1e9
    """
    from unbraid.cli.hub_work import pull_into

    with stage(f"Fetching {repository}"):
        said = pull_into(out, repository, name, revision, parse_packages(packages))
    say(said)
