"""`unbraid push`."""

from pathlib import Path
from typing import Annotated

import typer

from unbraid.cli.console import say, stage
from unbraid.cli.hub_options import Codes, DataLicence, Licence, Private, PushedRevision, Repository
from unbraid.cli.options import Packages, TrustSource, parse_trust


def push(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="The folder of a run.", show_default=False)],
    repository: Repository,
    private: Private = False,
    revision: PushedRevision = None,
    codes: Codes = True,
    licence: Licence = None,
    data_licence: DataLicence = None,
    packages: Packages = None,
    trust_source: TrustSource = False,
) -> None:
    """Push a run to the Hugging Face Hub.

    Weights (safetensors), codes, spec, history and scores go there in one commit, with a card: the licence of the data,
    the seed, scores with their intervals, a picture of traversals, and how to load it. A run without scores is scored
    first. The spec may name paths on this machine; a note says so.

    Examples:
      unbraid push runs/beta-tcvae-0a1b2c3d4e5f-seed0 me/beta-tcvae-dsprites
    """
    from unbraid.runs.run import Run

    opened = Run.open(run, **parse_trust(packages, trust_source))
    with stage(f"Pushing {opened.name} to {repository}"):
        address = opened.push_to_hub(
            repository,
            private=private,
            revision=revision,
            codes=codes,
            licence=licence,
            data_licence=data_licence,
        )
    say(f"It is at {address}")
