"""What the quickstart trains, and what it shows of it."""

from collections.abc import Sequence
from pathlib import Path

from unbraid.cli.console import output, say, stage
from unbraid.cli.run_folders import finished_among
from unbraid.cli.score_cards import score_runs
from unbraid.cli.tables import score_table
from unbraid.cli.training_runs import placed, train_and_tell
from unbraid.datasets.synthetic.dsprites import DSprites
from unbraid.metrics.mig import MIG
from unbraid.models.autoencoder import Autoencoder
from unbraid.models.conv import Conv
from unbraid.models.distributions.posteriors.gaussian import GaussianLatents
from unbraid.objectives.beta_tcvae import BetaTCVAE
from unbraid.objectives.objective import Objective
from unbraid.objectives.vae import VAE
from unbraid.training.optimizers import Adam
from unbraid.training.options import TrainingOptions
from unbraid.training.runs.spec import RunSpec


def config(objective: Objective, num_steps: int) -> RunSpec:
    """Returns a spec: a heart in six sizes at 16 x 16 places, small enough for a laptop, with three factors to find."""
    return RunSpec(
        dataset=DSprites(resolution=32, shapes=("heart",), num_scales=6, num_orientations=1, num_positions=16),
        model=Autoencoder(Conv(channels=(16, 16, 32, 32)), latents=GaussianLatents(10)),
        objective=objective,
        num_steps=num_steps,
        batch_size=16,
        optimizer=Adam(2e-3),
    )


def train_and_report(num_steps: int, seeds: Sequence[int], out: Path, device: str) -> None:
    """Trains a VAE and a beta-TCVAE from each seed, prints their scores and writes a page about them."""
    from unbraid.show.explorer.explorer import MAX_RUNS, write_explorer
    from unbraid.show.report import write_report

    runs = placed([config(objective, num_steps) for objective in (VAE(), BetaTCVAE(beta=4.0))], seeds, out)
    train_and_tell(runs, TrainingOptions(), device, resume=True)
    output().print(score_table(score_runs(finished_among(runs, "score"), MIG())))
    finished = finished_among(runs, "show")
    with stage("Writing the explorer and the report"):
        explorer = write_explorer(
            finished[:MAX_RUNS], out / "explorer.html", title="The quickstart: move the latents yourself"
        )
        report = write_report(
            runs, out / "report.html", title="The quickstart: a VAE and a beta-TCVAE on small sprites"
        )
    say(f"The report is in {report.resolve().as_uri()}")
    say(f"The explorer is in {explorer.resolve().as_uri()}")
    say("Next, train on what you like: unbraid train --help")
