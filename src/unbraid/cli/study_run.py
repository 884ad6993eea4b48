"""`unbraid study run`."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from unbraid.cli.options import Device, OutFolder, Packages, parse_packages, parse_steps
from unbraid.cli.study_files import StudyFile, parse_seconds


def study_run(
    file: StudyFile,
    out: OutFolder = Path("runs"),
    device: Device = "auto",
    budget: Annotated[
        str | None,
        typer.Option(
            metavar="TIME",
            help="Start no fleet that cannot finish within this time: 90s, 20m, 1h30m. The same command continues.",
            show_default=False,
        ),
    ] = None,
    *,
    fail_fast: Annotated[
        bool, typer.Option("--fail-fast/--keep-going", help="End at the first failure, or go on with the other runs.")
    ] = False,
    scorers: Annotated[
        int | None,
        typer.Option(
            metavar="NUMBER", min=1, help="Processes that compute scores. By default one per core.", show_default=False
        ),
    ] = None,
    on: Annotated[
        Literal["local", "ray"], typer.Option("--on", help="Train on this machine, or on a Ray cluster.")
    ] = "local",
    workers: Annotated[
        int | None,
        typer.Option(
            metavar="NUMBER",
            min=1,
            help="Fleets at a time on this machine, each in its own process. By default one per GPU.",
            show_default=False,
        ),
    ] = None,
    address: Annotated[
        str | None,
        typer.Option(
            metavar="HOST:PORT",
            help="With --on ray, the cluster. By default RAY_ADDRESS, or this machine alone.",
            show_default=False,
        ),
    ] = None,
    autoscaling: Annotated[
        bool, typer.Option("--autoscaling", help="With --on ray, wait for nodes that are yet to come.")
    ] = False,
    snapshots: Annotated[
        str | None,
        typer.Option(
            metavar="NUMBERS",
            help="1000,5000: keep the weights after these steps as well.",
            show_default=False,
        ),
    ] = None,
    packages: Packages = None,
) -> None:
    """Train and score what is missing of a study.

    Whole fleets are trained, from the first step to the last, then scored, and cut down to what the study keeps. After
    Ctrl-C, a crash or a full disk the same command continues. It exits with 1 if a run failed.

    Examples:
      unbraid study run study.json --device cuda
      unbraid study run study.json --budget 20m
      unbraid study run study.json --on ray --address auto --out /shared/runs
    """
    from unbraid.cli.study_work import read_study, train_and_score
    from unbraid.studies.study import StudyOptions

    names = parse_packages(packages)
    options = StudyOptions(
        device,
        None if budget is None else parse_seconds(budget),
        fail_fast,
        scorers,
        names,
        on=on,
        address=address,
        num_workers=workers,
        autoscaling=autoscaling,
        snapshots=parse_steps(snapshots),
    )
    train_and_score(read_study(file, names, out), file, out, options)
