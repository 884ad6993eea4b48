"""The ELBO of a trained model."""

from dataclasses import dataclass
from typing import final

import torch

from unbraid._internal import draws
from unbraid.datasets.dataset import FactorImages
from unbraid.models.autoencoder import AutoencoderModule
from unbraid.models.trained.coded_images import CodedImages

_BLOCK = 4096


@final
@dataclass(frozen=True)
class HardELBO:
    """Holds the mean distortion and the mean rate of `num_images` images, in nats per image."""

    distortion: float
    rate: float
    num_images: int

    @property
    def value(self) -> float:
        return -self.distortion - self.rate


@torch.no_grad()
def hard_elbo(model: AutoencoderModule, images: FactorImages, max_images: int = 10_000, seed: int = 0) -> HardELBO:
    """Returns the ELBO with hard categories: E log p(x | z) - KL(q(z | x) || p(z)), with one draw of each code.

    The decoder sees the category of each discrete latent, not its relaxation, and the rate is that of the categories,
    whatever the model was trained with: so it bounds log p(x) from below. Of more than `max_images` images, as many are
    drawn from `seed`; images with weights are always drawn.
    """
    rows, distortion, rate = _rows(images, max_images, seed), 0.0, 0.0
    for block in rows.split(_BLOCK):
        coded = CodedImages(model, images, block)
        distortion -= float(coded.log_likelihood(seed).sum())
        rate += float(coded.rate(seed).sum())
    return HardELBO(distortion / len(rows), rate / len(rows), len(rows))


def _rows(images: FactorImages, max_images: int, seed: int) -> torch.Tensor:
    seeds, size = torch.tensor([seed], device=images.device), min(max_images, len(images))
    if images.weights is not None:
        return draws.by_weight(seeds, "elbo rows", 0, images.weights.double().cumsum(0), size)[0]
    if size == len(images):
        return torch.arange(size, device=images.device)
    return draws.permutation(seeds, "elbo rows", 0, len(images))[0, :size]
