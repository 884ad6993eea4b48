"""The job that is disturbed: `unbraid quickstart`, one command that draws images, trains, encodes, scores and reports,
made tiny.
"""

import json
import os
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from unbraid.cli import main, quickstart
from unbraid.datasets.synthetic.dsprites import DSprites
from unbraid.models.autoencoder import Autoencoder
from unbraid.models.conv import Conv
from unbraid.models.distributions.posteriors.gaussian import GaussianLatents
from unbraid.objectives.objective import Objective
from unbraid.training.optimizers import Adam
from unbraid.training.options import TrainingOptions
from unbraid.training.runs.run import Run
from unbraid.training.runs.spec import RunSpec

NUM_STEPS = 6
checkpoint_every: int | None = 2
COMMAND = ("quickstart", "--steps", str(NUM_STEPS), "--seeds", "0", "--device", "cpu")
"""It makes two runs, a VAE and a beta-TCVAE, in one fleet."""


def tiny_config(objective: Objective, num_steps: int) -> RunSpec:
    """Convolutions, whose last bits depend on who is trained beside them: a fleet that is not put together again as it
    was is found out.
    """
    return RunSpec(
        dataset=DSprites(resolution=32, shapes=("heart",), num_scales=2, num_orientations=1, num_positions=4),
        model=Autoencoder(Conv(channels=(3, 4), hidden=8), latents=GaussianLatents(2)),
        objective=objective,
        num_steps=num_steps,
        batch_size=8,
        optimizer=Adam(2e-3),
    )


def make_tiny() -> None:
    """From here on, in this process, the quickstart is a matter of a second."""
    train_with_progress = quickstart.train_with_progress

    def with_more_checkpoints(runs: Sequence[Run], options: TrainingOptions, device: str, *, resume: bool) -> None:
        train_with_progress(runs, replace(options, checkpoint_every=checkpoint_every), device, resume=resume)

    quickstart.config, quickstart.train_with_progress = tiny_config, with_more_checkpoints


def command(folder: Path) -> None:
    """Type the command. Its runs go to `runs` and its images to `cache`, both in the folder."""
    os.environ["UNBRAID_CACHE"] = str(folder / "cache")
    main([*COMMAND, "--out", str(folder / "runs")])


def results(folder: Path) -> dict[str, bytes]:
    """Every file that the job has left, by its path, to the bit; but for the times that some of them tell."""
    paths = sorted(path for parent in ("runs", "cache") for path in (folder / parent).rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): _timeless(path) for path in paths}


def _timeless(path: Path) -> bytes:
    content = path.read_bytes()
    if path.name == "log.txt":
        return b""
    if path.name == "finished.json":
        return json.dumps(json.loads(content) | {"seconds": None}).encode()
    return re.sub(rb"\d{4}-\d{2}-\d{2}", b"", content) if path.name == "report.html" else content
