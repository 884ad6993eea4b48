"""`unbraid quickstart`: a small example from training to a report."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from unbraid.cli.console import echo, output
from unbraid.cli.options import Device, OutFolder, parse_seeds
from unbraid.cli.runs import select_finished
from unbraid.cli.train import place_runs, train_with_progress

if TYPE_CHECKING:
    from unbraid.objectives.objective import Objective
    from unbraid.training.runs.spec import RunSpec


def quickstart(
    steps: Annotated[int, typer.Option(metavar="NUMBER", min=1, help="The number of training steps.")] = 1400,
    seeds: Annotated[str, typer.Option(metavar="NUMBERS", help="The seeds of each objective.")] = "0-2",
    out: OutFolder = Path("runs/quickstart"),
    device: Device = "auto",
) -> None:
    """Train, score and show a few small models.

    The command trains a VAE and a beta-TCVAE on small sprites, with three seeds each, and prints their scores. It
    writes two pages: a report, and an explorer with a slider for each latent. It needs no download and no GPU. To
    continue after an interruption, run the command again. Finished models are not trained again.

    Examples:
      unbraid quickstart
      unbraid quickstart --steps 20 --out /tmp/look
    """
    from unbraid.cli.score_cards import score_cards
    from unbraid.cli.tables import score_table
    from unbraid.metrics.mig import MIG
    from unbraid.objectives.beta_tcvae import BetaTCVAE
    from unbraid.objectives.vae import VAE
    from unbraid.show.explorer.explorer import MAX_RUNS, write_explorer
    from unbraid.show.report import write_report
    from unbraid.training.options import TrainingOptions

    specs = [config(objective, steps) for objective in (VAE(), BetaTCVAE(beta=4.0))]
    runs = place_runs(specs, parse_seeds(seeds), out)
    train_with_progress(runs, TrainingOptions(workers=0), device, resume=True)
    finished = select_finished(runs, "score")
    output().print(score_table(score_cards(finished, [MIG()])))
    echo("Writing the explorer and the report ...")
    title = "The quickstart: move the latents yourself"
    explorer = write_explorer(finished[:MAX_RUNS], out / "explorer.html", title=title)
    title = "The quickstart: a VAE and a beta-TCVAE on small sprites"
    report = write_report(runs, out / "report.html", title=title)
    echo(f"The report is in {report.resolve().as_uri()}")
    echo(f"The explorer is in {explorer.resolve().as_uri()}")
    echo("Next, train other models: unbraid train --help")


def config(objective: "Objective", num_steps: int) -> "RunSpec":
    """Returns the spec of a small net on images of a heart, with three factors: six sizes and 16 x 16 positions."""
    from unbraid.datasets.synthetic.dsprites import DSprites
    from unbraid.models.autoencoder import Autoencoder
    from unbraid.models.conv import Conv
    from unbraid.models.distributions import GaussianLatents
    from unbraid.training.optimizers import Adam
    from unbraid.training.runs.spec import RunSpec

    return RunSpec(
        dataset=DSprites(resolution=32, shapes=("heart",), num_scales=6, num_orientations=1, num_positions=16),
        model=Autoencoder(Conv(channels=(16, 16, 32, 32)), latents=GaussianLatents(10)),
        objective=objective,
        num_steps=num_steps,
        batch_size=16,
        optimizer=Adam(2e-3),
    )
