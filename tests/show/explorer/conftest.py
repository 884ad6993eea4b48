"""Pages to look at: any decoder with codes of every kind, and runs side by side."""

from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

from tests.models.nets import a_draw
from unbraid import DSprites, RunSpec, train
from unbraid.codes import Codes, CodesOptions
from unbraid.models import MLP, Autoencoder
from unbraid.models.distributions import GaussianLatents
from unbraid.models.layers.initial_weights import seeded
from unbraid.objectives import BetaVAE
from unbraid.show.explorer import write_explorer
from unbraid.training.optimizers import Adam
from unbraid.training.runs import Run

NUM_IMAGES = 48
HOSTILE = "<img src=x onerror=alert(1)></script><script>document.title='taken'</script>"
SHAPE = (1, 16, 16)


@pytest.fixture(scope="session")
def codes() -> Codes:
    """Two latents that follow a factor each, one that is noise, and a discrete one. A factor has a hostile name."""
    across, down = np.arange(NUM_IMAGES) % 4, np.arange(NUM_IMAGES) // 4 % 3
    noise = a_draw(NUM_IMAGES, 3).numpy()
    mean = np.stack([across - 1.5, down - 1.0, 0.01 * noise[:, 2]], axis=1) + [0.05, 0.05, 0.001] * noise
    std = np.full((NUM_IMAGES, 3), [0.1, 0.2, 1.0])
    categories = np.eye(3)[np.arange(NUM_IMAGES) % 3] * 0.9 + 0.1 / 3
    return Codes.from_arrays(
        mean,
        std,
        probabilities=[categories],
        factors={"across": across, HOSTILE: down},
        options=CodesOptions(missing=None),
    )


@pytest.fixture(scope="session")
def decoder() -> nn.Module:
    def make() -> nn.Module:
        return nn.Sequential(nn.Linear(6, 32), nn.Tanh(), nn.Linear(32, 256), nn.Sigmoid(), nn.Unflatten(1, SHAPE))

    return seeded(make, 0).eval().requires_grad_(False)


@pytest.fixture(scope="session")
def images() -> np.ndarray:
    return np.stack([np.full(SHAPE[1:], 5 * number, dtype=np.uint8) for number in range(NUM_IMAGES)])


@pytest.fixture(scope="session")
def page_file(decoder: nn.Module, codes: Codes, images: np.ndarray, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("explorer") / "page.html"
    return write_explorer(path=path, decoder=decoder, codes=codes, images=images)


@pytest.fixture(scope="session")
def runs(tmp_path_factory: pytest.TempPathFactory) -> list[Run]:
    """Two seeds of a small net, whose codes spread after a few steps because they cost little."""
    data = DSprites(resolution=16, shapes=("heart", "square"), num_scales=2, num_orientations=1, num_positions=4)
    model = Autoencoder(MLP((32,), decoder_hidden=(32,)), latents=GaussianLatents(3))
    spec = RunSpec(data, model, BetaVAE(beta=0.01), num_steps=20, batch_size=8, optimizer=Adam(1e-2))
    return train([spec], [0, 1], folder=tmp_path_factory.mktemp("runs"), progress=False, device="cpu")


@pytest.fixture(scope="session")
def runs_file(runs: list[Run], tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_explorer(runs, tmp_path_factory.mktemp("explorer") / "runs.html")


@pytest.fixture(scope="session")
def frames_file(codes: Codes, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A decoder with a layer that the page cannot compute."""

    def make() -> nn.Module:
        return nn.Sequential(nn.Linear(6, 256), nn.Softplus(), nn.Hardsigmoid(), nn.Unflatten(1, SHAPE))

    path = tmp_path_factory.mktemp("explorer") / "frames.html"
    return write_explorer(path=path, decoder=seeded(make, 0).eval(), codes=codes)


def decoded(decoder: nn.Module, columns: list[float]) -> np.ndarray:
    with torch.no_grad():
        return decoder(torch.tensor([columns]))[0].flatten().numpy()
