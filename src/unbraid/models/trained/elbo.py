"""The ELBO of a trained model, with the underlying codes and densities of images."""

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
    """Images of some rows, with the codes and densities of a model.

    Discrete latents are categories, whatever the measure in training: the decoder reads the drawn category, and
    densities are probabilities of categories. Bounds on log p(x) computed from these are therefore valid.
    """

    def __init__(self, model: AutoencoderModule, images: FactorImages, rows: Int64[Tensor, " row"]) -> None:
        self.model, self.rows = model, rows
        self._dtype = next(model.parameters()).dtype
        self.x: Float[Tensor, "row channel height width"] = images.batch(rows).to(self._dtype)
        self.posterior = model.encode(self.x).with_true_density().by_category()
        # log p(x | z) of the first draw by seed, which several scores ask for.
        self._first: dict[int, Tensor] = {}

    @cached_property
    def prior(self) -> Prior:
        return self.model.prior.by_category()

    @cached_property
    def reconstruction(self) -> Float[Tensor, "row channel height width"]:
        """Returns E[x | z] at the likeliest code of each image, as in `AutoencoderModule.reconstruct`."""
        code = likeliest_code(self.posterior.mean, self.posterior.probabilities, self.model.latents.widths)
        return self.model.decode(code)

    def code(self, seed: int, number: int = 0) -> Float[Tensor, "row column"]:
        """Returns a draw from q(z | x) of each image.

        The draw depends only on the row, the seed and the number of the draw, not on the batch.
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
        seen = with_noise_inputs(self.code(seed, number), self.model.noise_inputs)
        found = widest(self.model.likelihood.log_prob(self.x, self.model.decoder(seen)))
        if number == 0:
            self._first[seed] = found
        return found

    def rate(self, seed: int) -> Float[Tensor, " row"]:
        """Returns KL(q(z | x) || p(z)) of each image, in nats. Without a closed form, uses the drawn code."""
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
    """Returns the ELBO with hard categories: E log p(x | z) - KL(q(z | x) || p(z)), with one draw of each code.

    The decoder reads the category of each discrete latent, not its relaxation, and the rate is that of the categories,
    whatever the measure in training. The result is therefore a lower bound on log p(x). Of more than `max_images`
    images, `max_images` are drawn with `seed`. Images with weights are always drawn.
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
