"""`unbraid papers run`."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from unbraid.cli.options import Device
from unbraid.cli.study_files import parse_seconds


def papers_run(
    ids: Annotated[list[str], typer.Argument(metavar="ID...", help="Items or papers.", show_default=False)],
    scale: Annotated[
        Literal["smoke", "quick", "long", "paper"] | None,
        typer.Option(
            metavar="smoke|quick|long|paper",
            help="How large. By default the smallest that gives a verdict.",
            show_default=False,
        ),
    ] = None,
    budget: Annotated[
        str | None,
        typer.Option(
            metavar="TIME",
            help="Begin nothing that would not end within this time: 90s, 20m, 1h30m. The same command goes on.",
            show_default=False,
        ),
    ] = None,
    setting: Annotated[
        list[str] | None,
        typer.Option(
            metavar="LABEL",
            help="Run this setting of the item alone. May be repeated. Evidence of the others may come from elsewhere.",
            show_default=False,
        ),
    ] = None,
    device: Device = "auto",
    keep: Annotated[
        Literal["scores", "best", "all"] | None,
        typer.Option(help="What stays of a run once it is scored. By default what the item says.", show_default=False),
    ] = None,
    out: Annotated[Path, typer.Option(metavar="FOLDER", help="Where the runs are kept.")] = Path("runs/papers"),
    evidence: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="Where evidence is written. By default in --out.", show_default=False),
    ] = None,
    scorers: Annotated[
        int | None,
        typer.Option(
            metavar="NUMBER", min=0, help="Processes that compute scores. By default one per core.", show_default=False
        ),
    ] = None,
) -> None:
    """Train and score an item of a paper, and say whether it reproduces.

    Runs are shared by the items that ask for them. After Ctrl-C or a crash the same command goes on. What came of it
    is kept as a small file of evidence, from which verdicts, figures and pages are computed; several such files of one
    item unite. The scale smoke shows that everything works, and gives no verdict.

    Examples:
      unbraid papers run chen2018/table1
      unbraid papers run chen2018/figure3a --scale quick --device cuda --budget 25m
      unbraid papers run chen2018/precision --scale quick --setting 'sprites, float32' --setting 'sprites, bf16'
    """
    from unbraid.cli.paper_work import run_items
    from unbraid.papers.registry import find_items
    from unbraid.studies.execute import StudyOptions

    seconds = None if budget is None else parse_seconds(budget)
    options = StudyOptions(device=device, budget=seconds, num_scorers=scorers, settings=setting or ())
    run_items(find_items(ids), scale, out, options, keep=keep, evidence=evidence)
