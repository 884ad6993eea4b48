"""Encoder, prior and decoder, put together."""

from dataclasses import dataclass, field
from typing import final

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm, _NormBase
from torch.nn.modules.dropout import _DropoutNd

from unbraid.distributions.likelihoods.likelihood import BernoulliLikelihood, Likelihood
from unbraid.distributions.posteriors.categories import with_categories
from unbraid.distributions.posteriors.latents import GaussianLatents, Latents
from unbraid.distributions.posteriors.posterior import Posterior
from unbraid.distributions.priors.prior import Prior
from unbraid.errors import SpecError
from unbraid.models.architecture import Architecture, ImageShape
from unbraid.models.layers.seeded import seeded
from unbraid.models.mlp import MLP
from unbraid.recipes import Recipe


@final
@dataclass(frozen=True)
class Autoencoder(Recipe):
    """The recipe of a model. Without a `decoder` of its own, the decoder is the mirror of the `encoder`.

    `noise_inputs` are inputs of the decoder that no image determines, as a generator has them; where an image is
    reconstructed they are 0.
    """

    encoder: Architecture = field(default_factory=MLP)
    decoder: Architecture | None = None
    latents: Latents = field(default_factory=GaussianLatents)
    likelihood: Likelihood = field(default_factory=BernoulliLikelihood)
    noise_inputs: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.noise_inputs < 0:
            raise SpecError(f"Autoencoder: noise_inputs is {self.noise_inputs}; expected 0 or more.")

    def build(self, image_shape: ImageShape, seed: int) -> "AutoencoderModule":
        """A model for images of this shape, with the initial weights of this seed, on the CPU."""
        return seeded(lambda: self._assemble(image_shape), seed)

    def check(self, image_shape: ImageShape) -> None:
        """Refuse images that the nets cannot take, and nets that do not fit the latents or cannot be trained in a
        fleet. No weights are made.
        """
        encoder, decoder = type(self.encoder).__name__, type(self.decoder or self.encoder).__name__
        with torch.device("meta"):
            model = self._assemble(image_shape)
            outputs = _tried(f"encoder {encoder}", model.encoder, image_shape, "images")
            if outputs.shape != (2, self.latents.num_parameters):
                raise SpecError(
                    f"The encoder {encoder} puts out {_numbers(outputs)} for an image; {type(self.latents).__name__} "
                    f"need {self.latents.num_parameters} numbers. Make it end in latents.num_parameters."
                )
            images = _tried(
                f"decoder {decoder}", model.decoder, (self.latents.num_columns + self.noise_inputs,), "codes"
            )
            if images.shape != (2, *image_shape):
                raise SpecError(
                    f"The decoder {decoder} puts out {_numbers(images)} for images of {image_shape}. Make it end in "
                    "the shape of the images."
                )
        for name, net in ((f"encoder {encoder}", model.encoder), (f"decoder {decoder}", model.decoder)):
            _check_layers(name, net)

    def _assemble(self, image_shape: ImageShape) -> "AutoencoderModule":
        return AutoencoderModule(
            encoder=self.encoder.make_encoder(image_shape, self.latents),
            decoder=(self.decoder or self.encoder).make_decoder(
                self.latents.num_columns + self.noise_inputs, image_shape
            ),
            latents=self.latents,
            likelihood=self.likelihood,
            noise_inputs=self.noise_inputs,
        )


@final
class AutoencoderModule(nn.Module):
    """One model with its weights: `encode` gives q(z | x), `decode` gives the image that a code stands for."""

    def __init__(
        self, encoder: nn.Module, decoder: nn.Module, latents: Latents, likelihood: Likelihood, noise_inputs: int = 0
    ) -> None:
        super().__init__()
        self.encoder = encoder
        self.decoder = decoder
        self.latents = latents
        self.noise_inputs = noise_inputs
        self.prior_module = latents.make_prior()
        self.likelihood_module = likelihood.make()

    @property
    def prior(self) -> Prior:
        prior: Prior = self.prior_module()
        return prior

    @property
    def likelihood(self) -> Likelihood:
        likelihood: Likelihood = self.likelihood_module()
        return likelihood

    def encode(self, x: Float[Tensor, "batch channel height width"]) -> Posterior:
        return self.latents.posterior(self.encoder(x), torch.ones((), dtype=x.dtype, device=x.device))

    def decode(self, z: Float[Tensor, "batch column"]) -> Float[Tensor, "batch channel height width"]:
        """E[x | z], with intensities in [0, 1] for a Bernoulli likelihood."""
        return self.likelihood.mean(self.decoder(self.decoder_input(z)))

    def decoder_input(self, z: Float[Tensor, "batch column"]) -> Float[Tensor, "batch input"]:
        """What the decoder sees of a code: hard latents as their categories, and zeros for its noise inputs."""
        seen = with_categories(z, self.latents.widths, self.latents.hard_latents)
        return with_noise_inputs(seen, self.noise_inputs)


def _tried(name: str, net: nn.Module, shape: tuple[int, ...], what: str) -> Tensor:
    """What the net makes of two inputs of this shape."""
    try:
        output: Tensor = net(torch.zeros(2, *shape))
    except (RuntimeError, ValueError, TypeError) as error:
        raise SpecError(
            f"The {name} cannot take {what} of {shape}: {error} Make it start with what it is given."
        ) from error
    return output


def _numbers(output: Tensor) -> str:
    return " x ".join(map(str, output.shape[1:])) + (" numbers" if output.ndim == 2 else "")


def _check_layers(name: str, net: nn.Module) -> None:
    """Refuse layers that draw random numbers, or whose state training would have to change."""
    for layer in net.modules():
        if isinstance(layer, _DropoutNd | nn.RReLU):
            raise SpecError(
                f"The {name} has a {type(layer).__name__}, which draws random numbers of its own: no run could be "
                "repeated. Leave it out."
            )
        if isinstance(layer, _NormBase) and isinstance(layer, _BatchNorm) != layer.track_running_stats:
            fix = "Set track_running_stats=True" if isinstance(layer, _BatchNorm) else "Set track_running_stats=False"
            raise SpecError(
                f"The {name} has a {type(layer).__name__} with track_running_stats={layer.track_running_stats}. Of "
                "running averages, those of BatchNorm "
                f"alone are kept, and it needs them: without, a code would depend on its batch. {fix}."
            )


def with_noise_inputs(z: Float[Tensor, "batch column"], noise_inputs: int) -> Float[Tensor, "batch input"]:
    """The code with zeros for the decoder's noise inputs."""
    return nn.functional.pad(z, (0, noise_inputs)) if noise_inputs > 0 else z
