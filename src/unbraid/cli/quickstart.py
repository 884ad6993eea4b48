"""`unbraid quickstart`."""

from pathlib import Path
from typing import Annotated

import typer

from unbraid.cli.options import Device, OutFolder, parse_seeds

_NUM_STEPS = 1400


def quickstart(
    steps: Annotated[int, typer.Option(metavar="NUMBER", min=1, help="How long to train.")] = _NUM_STEPS,
    seeds: Annotated[str, typer.Option(metavar="NUMBERS", help="The seeds of each objective.")] = "0-2",
    out: OutFolder = Path("runs/quickstart"),
    device: Device = "auto",
) -> None:
    """Train, score and show a few small models.

    A VAE and a beta-TCVAE, three seeds each, learn from small sprites; their scores are printed, and two pages about
    them are written: a report, and an explorer in which sliders move the latents. It needs no download and no GPU.
    After an interruption the same command continues; once finished, it only writes the pages again.

    Examples:
      unbraid quickstart
      unbraid quickstart --steps 20 --out /tmp/look
    """
    from unbraid.cli.first_runs import train_and_report

    train_and_report(steps, parse_seeds(seeds), out, device)
