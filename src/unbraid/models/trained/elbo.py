"""The ELBO of a trained model."""

from dataclasses import dataclass
from typing import final

import torch

from unbraid import draws
from unbraid.data.dataset import FactorImages
from unbraid.distributions.posteriors.categories import with_categories
from unbraid.models.autoencoder import AutoencoderModule, with_noise_inputs

_BLOCK = 4096


@final
@dataclass(frozen=True)
class ELBO:
    """The mean distortion and the mean rate of `num_images` images, in nats per image."""

    distortion: float
    rate: float
    num_images: int

    @property
    def value(self) -> float:
        return -self.distortion - self.rate


@torch.no_grad()
def hard_elbo(model: AutoencoderModule, images: FactorImages, max_images: int = 10_000, seed: int = 0) -> ELBO:
    """The ELBO with hard categories: E log p(x | z) - KL(q(z | x) || p(z)), with one draw of each code.

    The decoder sees the category of each discrete latent, not its relaxation, and the rate is that of the categories,
    whatever the model was trained with: so it bounds log p(x) from below. Of more than `max_images` images, as many are
    drawn from `seed`; images with weights are always drawn.
    """
    rows = _rows(images, max_images, seed)
    weights, latents = next(model.parameters()), model.latents
    discrete = range(latents.num_latents - latents.num_discrete, latents.num_latents)
    prior, distortion, rate = model.prior.by_category(), 0.0, 0.0
    for block in rows.split(_BLOCK):
        x = images.batch(block).to(weights.dtype)
        posterior = model.encode(x).with_true_density().by_category()
        # Every image has its own address, so that a draw does not depend on the block it comes in.
        noise = draws.normal(block, "hard elbo", seed, (latents.num_noise,)).to(weights.dtype)
        z = with_categories(posterior.rsample(noise), latents.widths, discrete)
        decoded = model.decoder(with_noise_inputs(z, model.noise_inputs))
        distortion -= float(model.likelihood.log_prob(x, decoded).double().sum())
        rate += float(prior.kl_from(posterior, z).double().sum())
    return ELBO(distortion / len(rows), rate / len(rows), len(rows))


def _rows(images: FactorImages, max_images: int, seed: int) -> torch.Tensor:
    seeds, size = torch.tensor([seed], device=images.device), min(max_images, len(images))
    if images.weights is not None:
        return draws.by_weight(seeds, "elbo rows", 0, images.weights.double().cumsum(0), size)[0]
    if size == len(images):
        return torch.arange(size, device=images.device)
    return draws.permutation(seeds, "elbo rows", 0, len(images))[0, :size]
