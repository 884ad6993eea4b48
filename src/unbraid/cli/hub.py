"""`unbraid push`, `unbraid pull` and `unbraid zoo`: runs on the Hugging Face Hub."""

from pathlib import Path
from typing import Annotated

import typer

from unbraid._internal import files
from unbraid.cli.console import echo
from unbraid.cli.options import OutFolder, Packages, RunFolder, StudyFile, parse_packages
from unbraid.errors import RunError

Repository = Annotated[str, typer.Argument(metavar="OWNER/NAME", help="A model repository on the Hub.")]
Private = Annotated[bool, typer.Option("--private", help="Make a new repository private.")]
Branch = Annotated[str | None, typer.Option("--revision", metavar="BRANCH", help="The branch. Default: main.")]
WithCodes = Annotated[bool, typer.Option("--codes/--no-codes", help="Push the codes of the images as well.")]
License = Annotated[
    str | None,
    typer.Option("--license", metavar="ID", help="The license of the weights by its Hub identifier: apache-2.0."),
]
DataLicense = Annotated[
    str | None,
    typer.Option(metavar="TEXT", help="License of the data on the card. Default: the license of the dataset."),
]


def push(
    run: RunFolder,
    repository: Repository,
    *,
    private: Private = False,
    revision: Branch = None,
    codes: WithCodes = True,
    weights_license: License = None,
    data_license: DataLicense = None,
    packages: Packages = None,
) -> None:
    """Push a run to the Hugging Face Hub.

    One commit has the weights (safetensors), codes, spec, history, scores and a model card. The card shows the license
    of the data, the seed, scores with intervals, a picture of traversals, and code that loads the run. A run without
    scores is scored first. If the spec contains paths on this machine, a note lists them.

    Examples:
      unbraid push runs/beta-tcvae-0a1b2c3d4e5f-seed0 me/beta-tcvae-dsprites
    """
    from unbraid.integrations.hub import PushOptions
    from unbraid.training.runs.run import Run

    opened = Run.open(run, packages=parse_packages(packages))
    options = PushOptions(
        private=private, revision=revision, codes=codes, license=weights_license, data_license=data_license
    )
    echo(f"Pushing {opened.name} to {repository} ...")
    address = opened.push_to_hub(repository, **options)
    echo(f"The run is at {address}")


def pull(
    repository: Repository,
    name: Annotated[str | None, typer.Argument(metavar="RUN", help="One run of a zoo. Default: all runs.")] = None,
    out: OutFolder = Path("runs"),
    revision: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="A branch, a tag or a commit. Default: the newest commit of main."),
    ] = None,
    packages: Packages = None,
) -> None:
    """Fetch a run or a zoo of runs from the Hugging Face Hub.

    Downloaded files are never executed or unpickled. With HF_HUB_OFFLINE=1, files are read from the cache of the Hub
    without a network. Runs that are already in the folder are kept.

    Examples:
      unbraid pull me/beta-tcvae-dsprites --out runs
      unbraid pull me/zoo beta-tcvae-0a1b2c3d4e5f-seed0 --revision 5f2c1e9
    """
    from unbraid.integrations.hub import fetch
    from unbraid.studies.study import Study
    from unbraid.studies.zoo import STUDY
    from unbraid.training.runs.run import Run

    imported = parse_packages(packages)
    echo(f"Fetching {repository} ...")
    is_zoo = name is None and (fetch(repository, revision, [STUDY, "config.json"]) / STUDY).is_file()
    if is_zoo:
        imported = ["unbraid", *imported]
        study = Study.from_hub(repository, out, revision=revision, packages=imported)
        path = out / f"{study.name}.json"
        if path.exists() and Study.load(path, packages=imported) != study:
            raise RunError(
                f"{path} already holds another study named {study.name!r} and is kept. The fetched runs are in {out}. "
                "Name another folder with --out."
            )
        study.save(path)
        num_finished = sum(each.run.status == "finished" for each in study.runs(out))
        message = f"{num_finished} runs of the study {study.name} are in {out}, and the study is in {path}"
    else:
        run = Run.from_hub(repository, revision=revision, name=name, folder=out, packages=imported)
        message = f"The run is in {run.folder}"
    echo(message)


def zoo(
    file: StudyFile,
    repository: Repository,
    out: OutFolder = Path("runs"),
    to: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="Write the zoo to a new folder instead of pushing it.")
    ] = None,
    *,
    private: Private = False,
    revision: Branch = None,
    codes: WithCodes = True,
    weights_license: License = None,
    data_license: DataLicense = None,
    packages: Packages = None,
) -> None:
    """Push the runs of a study to the Hugging Face Hub.

    The repository holds a folder for each finished run, a table of all scores, and a model card. The card shows medians
    and intervals of each setting, the seeds, the license of the data, pictures and loading instructions. All files are
    pushed in one commit.

    Examples:
      unbraid zoo study.json me/beta-sweep --out runs
      unbraid zoo study.json me/beta-sweep --no-codes --to zoo
    """
    from unbraid.cli.study import read_study
    from unbraid.integrations.hub import PushOptions
    from unbraid.studies.zoo import zoo_contents

    study = read_study(file, parse_packages(packages), out)
    options = PushOptions(
        private=private, revision=revision, codes=codes, license=weights_license, data_license=data_license
    )
    if to is None:
        echo(f"Pushing the zoo of {study.name} to {repository} ...")
        address = study.push_to_hub(repository, out, **options)
        echo(f"The zoo is at {address}")
        return
    if to.exists():
        raise RunError(f"--to is {to}, which exists; expected a new folder. Name a new folder.")
    echo(f"Writing the zoo of {study.name} ...")
    for path, content in zoo_contents(study, out, repository, options).items():
        files.write_bytes(to / path, content if isinstance(content, bytes) else files.read_bytes(content))
    echo(f"The zoo is in {to}. To push it to {repository}, leave out --to.")
