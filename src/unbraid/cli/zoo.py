"""`unbraid zoo`."""

from pathlib import Path
from typing import Annotated

import typer

from unbraid.cli.console import say, stage
from unbraid.cli.hub_options import Codes, DataLicense, License, Private, PushedRevision, Repository
from unbraid.cli.options import OutFolder, Packages, parse_packages
from unbraid.cli.study_files import StudyFile


def zoo(
    file: StudyFile,
    repository: Repository,
    out: OutFolder = Path("runs"),
    to: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER", help="Write the zoo into a new folder instead, to look at it.", show_default=False
        ),
    ] = None,
    *,
    private: Private = False,
    revision: PushedRevision = None,
    codes: Codes = True,
    weights_license: License = None,
    data_license: DataLicense = None,
    packages: Packages = None,
) -> None:
    """Turn the runs of a study into a zoo on the Hugging Face Hub.

    One repository holds them all, a folder for each finished run, the scores of all as one table, and a card with the
    medians of each setting and their intervals, the seeds, the license of the data, pictures and how to load them. It
    is one commit.

    Examples:
      unbraid zoo study.json me/beta-sweep --out runs
      unbraid zoo study.json me/beta-sweep --no-codes --to zoo
    """
    from unbraid.cli.hub_work import write_zoo
    from unbraid.cli.study_work import read_study

    study = read_study(file, parse_packages(packages), out)
    if to is not None:
        with stage(f"Writing the zoo of {study.name}"):
            write_zoo(
                to, study, out, repository, codes=codes, weights_license=weights_license, data_license=data_license
            )
        say(f"The zoo is in {to}. Without --to it is pushed to {repository}.")
        return
    with stage(f"Pushing the zoo of {study.name} to {repository}"):
        address = study.push_to_hub(
            repository,
            out,
            private=private,
            revision=revision,
            codes=codes,
            license=weights_license,
            data_license=data_license,
        )
    say(f"It is at {address}")
