"""ELBO of a trained model, and the codes and densities of images."""

from dataclasses import dataclass
from functools import cached_property
from typing import final

import torch
from jaxtyping import Float, Int64
from torch import Tensor

from unbraid._internal import draws
from unbraid._internal.device import widest
from unbraid.datasets.dataset import FactorImages
from unbraid.models.autoencoder import AutoencoderModule, with_noise_inputs
from unbraid.models.categories import likeliest_code, with_categories
from unbraid.models.distributions.distribution import Prior

_BLOCK = 4096


@final
class CodedImages:
    """Images of the given rows, with the codes and densities of a model.

    Discrete latents are categories, also if the model was trained with another measure. The decoder reads the drawn
    category, and densities are probabilities of categories, so that bounds on log p(x) are valid.
    """

    def __init__(self, model: AutoencoderModule, images: FactorImages, rows: Int64[Tensor, " row"]) -> None:
        self.model, self.rows = model, rows
        self._dtype = next(model.parameters()).dtype
        self.x: Float[Tensor, "row channel height width"] = images.batch(rows).to(self._dtype)
        self.posterior = model.encode(self.x).with_true_density().by_category()
        # Cache of log p(x | z) of the first draw by seed, because several scores read it.
        self._first: dict[int, Tensor] = {}

    @cached_property
    def prior(self) -> Prior:
        return self.model.prior.by_category()

    @cached_property
    def reconstruction(self) -> Float[Tensor, "row channel height width"]:
        """Decoded likeliest code of each image, as in `AutoencoderModule.reconstruct`."""
        code = likeliest_code(self.posterior.mean, self.posterior.probabilities, self.model.latents.widths)
        return self.model.decode(code)

    def code(self, seed: int, number: int = 0) -> Float[Tensor, "row column"]:
        """Draws a code from q(z | x) of each image.

        A draw depends only on the row, the seed and the number of the draw, not on the batch.
        """
        latents = self.model.latents
        stream = "hard elbo" if number == 0 else f"hard elbo {number}"
        noise = draws.normal(self.rows, stream, seed, (latents.num_noise,)).to(self.x)
        discrete = range(latents.num_latents - latents.num_discrete, latents.num_latents)
        return with_categories(self.posterior.rsample(noise), latents.widths, discrete)

    def log_likelihood(self, seed: int, number: int = 0) -> Float[Tensor, " row"]:
        """Returns log p(x | z) of each image and its drawn code, in nats."""
        if number == 0 and seed in self._first:
            return self._first[seed]
        inputs = with_noise_inputs(self.code(seed, number), self.model.noise_inputs)
        found = widest(self.model.likelihood.log_prob(self.x, self.model.decoder(inputs)))
        if number == 0:
            self._first[seed] = found
        return found

    def rate(self, seed: int) -> Float[Tensor, " row"]:
        """Returns KL(q(z | x) || p(z)) of each image, in nats, estimated from the draw without a closed form."""
        return widest(self.prior.kl_from(self.posterior, self.code(seed))).sum(dim=1)

    def log_weight(self, seed: int, number: int) -> Float[Tensor, " row"]:
        """Returns log p(x | z) + log p(z) - log q(z | x) of each image and its drawn code, in nats."""
        z, everything = self.code(seed, number), range(self.model.latents.num_latents)
        ratio = self.prior.joint_log_prob(z, everything) - self.posterior.joint_log_prob(z, everything)
        return self.log_likelihood(seed, number) + widest(ratio)


@final
@dataclass(frozen=True)
class HardELBO:
    """Mean distortion and mean rate of `num_images` images, in nats per image."""

    distortion: float
    rate: float
    num_images: int

    @property
    def value(self) -> float:
        return -self.distortion - self.rate


@torch.no_grad()
def hard_elbo(model: AutoencoderModule, images: FactorImages, max_images: int = 10_000, seed: int = 0) -> HardELBO:
    """Returns the ELBO with discrete latents as categories, E log p(x | z) - KL(q(z | x) || p(z)).

    One code is drawn for each image. The decoder reads the categories of discrete latents instead of relaxed draws, and
    the rate is the rate of the categories, so the result is a lower bound on log p(x). If there are more images than
    `max_images`, `max_images` of them are drawn with `seed`. Weighted images are always drawn.
    """
    rows, distortion, rate = _rows(images, max_images, seed), 0.0, 0.0
    for block in rows.split(_BLOCK):
        coded = CodedImages(model, images, block)
        distortion -= float(coded.log_likelihood(seed).sum())
        rate += float(coded.rate(seed).sum())
    return HardELBO(distortion / len(rows), rate / len(rows), len(rows))


def _rows(images: FactorImages, max_images: int, seed: int) -> Int64[Tensor, " row"]:
    seeds, size = torch.tensor([seed], device=images.device), min(max_images, len(images))
    if images.weights is not None:
        return draws.by_weight(seeds, "elbo rows", 0, images.weights.double().cumsum(0), size)[0]
    if size == len(images):
        return torch.arange(size, device=images.device)
    return draws.permutation(seeds, "elbo rows", 0, len(images))[0, :size]
