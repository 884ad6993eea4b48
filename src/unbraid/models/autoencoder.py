"""Encoder, prior and decoder, put together."""

from dataclasses import dataclass, field
from typing import final

import torch
from jaxtyping import Float
from torch import Tensor, nn

from unbraid.distributions.latents import GaussianLatents, Latents
from unbraid.distributions.likelihood import BernoulliLikelihood, Likelihood
from unbraid.distributions.posterior import Posterior
from unbraid.distributions.prior import Prior, StandardNormal
from unbraid.models.architecture import Architecture, ImageShape
from unbraid.models.mlp import MLP


@final
@dataclass(frozen=True)
class Autoencoder:
    """The recipe of a model. Without a `decoder` of its own, the decoder is the mirror of the `encoder`."""

    encoder: Architecture = field(default_factory=MLP)
    decoder: Architecture | None = None
    latents: Latents = field(default_factory=GaussianLatents)
    likelihood: Likelihood = field(default_factory=BernoulliLikelihood)

    def build(self, image_shape: ImageShape, seed: int) -> "AutoencoderModule":
        """A model for images of this shape, with the initial weights of this seed, on the CPU."""
        # A plain module initialises itself from the global generator: seeded here for the moment, and put back. Only the CPU's:
        # torch.manual_seed would seed every GPU's too, for good.
        with torch.random.fork_rng(devices=[]), torch.device("cpu"):
            torch.default_generator.manual_seed(seed)
            return self._assemble(image_shape)

    def check(self, image_shape: ImageShape) -> None:
        """Refuse images that the nets cannot take. No weights are made."""
        with torch.device("meta"):
            self._assemble(image_shape)

    def _assemble(self, image_shape: ImageShape) -> "AutoencoderModule":
        return AutoencoderModule(
            encoder=self.encoder.make_encoder(image_shape, self.latents.num_parameters),
            decoder=(self.decoder or self.encoder).make_decoder(self.latents.num_latents, image_shape),
            latents=self.latents,
            likelihood=self.likelihood,
        )


@final
class AutoencoderModule(nn.Module):
    """One model with its weights: `encode` gives q(z | x), `decode` gives the image that a code stands for."""

    def __init__(self, encoder: nn.Module, decoder: nn.Module, latents: Latents, likelihood: Likelihood) -> None:
        super().__init__()
        self.encoder = encoder
        self.decoder = decoder
        self.latents = latents
        self.likelihood = likelihood

    @property
    def prior(self) -> Prior:
        return StandardNormal()

    def encode(self, x: Float[Tensor, "batch channel height width"]) -> Posterior:
        return self.latents.posterior(self.encoder(x))

    def decode(self, z: Float[Tensor, "batch latent"]) -> Float[Tensor, "batch channel height width"]:
        """E[x | z], with intensities in [0, 1] for a Bernoulli likelihood."""
        return self.likelihood.mean(self.decoder(z))
