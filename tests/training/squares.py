"""What the tests of training and of runs share: a dataset of 36 tiny images that needs no disk, and specs that train
in a second.
"""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import final

import torch
from safetensors.torch import load_file

from unbraid.datasets.dataset import Factor, FactorDataset, FactorImages
from unbraid.models import MLP, Autoencoder, Conv
from unbraid.models.distributions import GaussianLatents
from unbraid.training.runs import Run, RunSpec

PACKAGES = ("unbraid", "tests")
"""Whose classes a run of squares names."""


@final
@dataclass(frozen=True)
class Squares(FactorDataset):
    """A white square at each of 6 x 6 places."""

    size: int = 8

    @property
    def factors(self) -> tuple[Factor, ...]:
        return Factor("row", 6), Factor("column", 6)

    @property
    def num_images(self) -> int:
        return 36

    @property
    def image_shape(self) -> tuple[int, int, int]:
        return 1, self.size, self.size

    def open(self, *, verify: bool = False) -> FactorImages:
        places = torch.cartesian_prod(torch.arange(6), torch.arange(6))
        pixels = torch.zeros(36, *self.image_shape, dtype=torch.uint8)
        stride = self.size // 8
        for image, (row, column) in zip(pixels, places.tolist(), strict=True):
            image[:, row * stride : (row + 3) * stride, column * stride : (column + 3) * stride] = 255
        return FactorImages.from_table(pixels, places, self.factors)


MLP_MODEL = Autoencoder(encoder=MLP(hidden=(12,), decoder_hidden=(12,)), latents=GaussianLatents(3))
CONV_MODEL = Autoencoder(encoder=Conv(channels=(3, 4), hidden=8), latents=GaussianLatents(3))

# Four batches an epoch and four images left over: fifty steps cross twelve epochs.
MLP_SPEC = RunSpec(dataset=Squares(), model=MLP_MODEL, num_steps=50, batch_size=8, precision="float64")
CONV_SPEC = replace(MLP_SPEC, dataset=Squares(32), model=CONV_MODEL)


def result(run: Run) -> dict[str, bytes]:
    """What training made, to the bit: the history, and every tensor of the weights and of the codes."""
    tensors = load_file(run.folder / "weights.safetensors") | load_file(run.folder / "codes.safetensors")
    return {"history.csv": (run.folder / "history.csv").read_bytes()} | {
        name: tensor.numpy().tobytes() for name, tensor in tensors.items()
    }


def everything(folder: Path) -> dict[str, tuple[bytes, int]]:
    """Every file below a folder: its bytes, and its inode, which changes when a file is replaced by its equal."""
    return {
        str(path.relative_to(folder)): (path.read_bytes(), path.stat().st_ino)
        for path in folder.rglob("*")
        if path.is_file()
    }
