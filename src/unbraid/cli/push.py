"""`unbraid push`."""

from pathlib import Path
from typing import Annotated

import typer

from unbraid.cli.console import say, stage
from unbraid.cli.hub_options import Codes, DataLicense, License, Private, PushedRevision, Repository
from unbraid.cli.options import Packages, parse_packages


def push(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="The folder of a run.", show_default=False)],
    repository: Repository,
    *,
    private: Private = False,
    revision: PushedRevision = None,
    codes: Codes = True,
    weights_license: License = None,
    data_license: DataLicense = None,
    packages: Packages = None,
) -> None:
    """Push a run to the Hugging Face Hub.

    Weights (safetensors), codes, spec, history and scores go there in one commit, with a card: the license of the data,
    the seed, scores with their intervals, a picture of traversals, and how to load it. A run without scores is scored
    first. The spec may name paths on this machine; a note names them.

    Examples:
      unbraid push runs/beta-tcvae-0a1b2c3d4e5f-seed0 me/beta-tcvae-dsprites
    """
    from unbraid.training.runs.run import Run

    opened = Run.open(run, packages=parse_packages(packages))
    with stage(f"Pushing {opened.name} to {repository}"):
        address = opened.push_to_hub(
            repository,
            private=private,
            revision=revision,
            codes=codes,
            license=weights_license,
            data_license=data_license,
        )
    say(f"It is at {address}")
