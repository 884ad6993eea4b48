"""`unbraid quickstart`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from unbraid.cli.console import output, say
from unbraid.cli.options import Device, OutFolder, parse_seeds
from unbraid.cli.runs import finished_among
from unbraid.cli.train import placed, train_with_progress

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

    A VAE and a beta-TCVAE, three seeds each, learn from small sprites; their scores are printed, and two pages about
    them are written: a report, and an explorer in which sliders move the latents. It needs no download and no GPU.
    After an interruption the same command continues; once finished, it only writes the pages again.

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
    runs = placed(specs, parse_seeds(seeds), out)
    train_with_progress(runs, TrainingOptions(), device, resume=True)
    finished = finished_among(runs, "score")
    output().print(score_table(score_cards(finished, [MIG()])))
    say("Writing the explorer and the report ...")
    title = "The quickstart: move the latents yourself"
    explorer = write_explorer(finished[:MAX_RUNS], out / "explorer.html", title=title)
    title = "The quickstart: a VAE and a beta-TCVAE on small sprites"
    report = write_report(runs, out / "report.html", title=title)
    say(f"The report is in {report.resolve().as_uri()}")
    say(f"The explorer is in {explorer.resolve().as_uri()}")
    say("Next, train other models: unbraid train --help")


def config(objective: "Objective", num_steps: int) -> "RunSpec":
    """Returns a spec for images of a heart in six sizes at 16 x 16 positions, with three factors; fast on a laptop."""
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
