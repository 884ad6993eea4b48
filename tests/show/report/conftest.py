import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from unbraid.datasets import FromArrays
from unbraid.metrics import Score
from unbraid.models import MLP, Autoencoder
from unbraid.models.distributions import GaussianLatents
from unbraid.objectives import VAE, BetaTCVAE, Objective
from unbraid.show.report.members import ReportedRun
from unbraid.training import train
from unbraid.training.runs import History, Run, RunSpec

TINY = Autoencoder(MLP(hidden=(8,), decoder_hidden=(8,)), latents=GaussianLatents(3))


def dots(*, channels: int = 1, num_images: int = 24) -> tuple[np.ndarray, np.ndarray]:
    """A bright pixel in a dark image, and where it is: across (4 values), down (3 values); and a factor that never
    varies.
    """
    factors = np.stack(
        [np.arange(num_images) % 4, np.arange(num_images) // 4 % 3, np.zeros(num_images, dtype=int)], axis=1
    )
    images = np.full((num_images, 8, 8, channels), 20, dtype=np.uint8)
    images[np.arange(num_images), 1 + 2 * factors[:, 1], 2 * factors[:, 0]] = 255
    return images, factors


@pytest.fixture(scope="session")
def spec() -> Callable[..., RunSpec]:
    """A spec of two steps, on labeled dots unless told otherwise."""
    images, factors = dots()
    labeled = FromArrays.from_arrays(images[..., 0], factors, factor_names=["across", "down", "nothing"])

    def make(objective: Objective | None = None, dataset: FromArrays = labeled) -> RunSpec:
        return RunSpec(dataset, TINY, objective or VAE(), num_steps=2, batch_size=8)

    return make


@pytest.fixture(scope="session")
def trained(spec: Callable[..., RunSpec], tmp_path_factory: pytest.TempPathFactory) -> list[Run]:
    """Two objectives, two seeds each. Shared: a test that changes a folder copies it first."""
    return train([spec(VAE()), spec(BetaTCVAE(beta=4.0))], [0, 1], folder=tmp_path_factory.mktemp("runs"))


@pytest.fixture
def member(spec: Callable[..., RunSpec]) -> Callable[..., ReportedRun]:
    """A member without a folder: a MIG, a seed and a history are all that is known of it."""

    def make(
        mig: float = math.nan, *, seed: int = 0, objective: Objective | None = None, history: History | None = None
    ) -> ReportedRun:
        score = None if math.isnan(mig) else Score("MIG", mig)
        return ReportedRun(Run(Path("nowhere"), spec(objective), seed), history or History(), score)

    return make
