"""Model with an encoder, a prior and a decoder: the config and the module."""

import functools
from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, NamedTuple, final

import torch
from jaxtyping import Float, Int64
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm, _NormBase
from torch.nn.modules.dropout import _DropoutNd

from unbraid._internal import draws
from unbraid._internal.arrays import as_tensor
from unbraid._internal.source import is_user_defined
from unbraid.codes import Codes
from unbraid.config import Config
from unbraid.config.annotations import check_value
from unbraid.datasets.user.from_arrays import unlabeled
from unbraid.errors import CodesError, DataError, SpecError
from unbraid.figures.traversal import Traversal
from unbraid.models.architecture import Architecture, ImageShape
from unbraid.models.categories import likeliest_code, with_categories
from unbraid.models.distributions.distribution import Posterior, Prior
from unbraid.models.distributions.likelihoods import BernoulliLikelihood, Likelihood
from unbraid.models.distributions.posteriors.gaussian import GaussianLatents
from unbraid.models.distributions.posteriors.latents import Latents
from unbraid.models.layers.initial_weights import seeded
from unbraid.models.mlp import MLP

_SAMPLES_AT_ONCE = 1024


@final
@dataclass(frozen=True)
class Autoencoder(Config):
    """Config of a model: encoder, decoder, latents and likelihood.

    The decoder may have `noise_inputs` additional inputs for random noise, as a generator has. These inputs are 0 in
    reconstructions.

    Examples:
        >>> import torch
        >>> from unbraid.models.distributions import GaussianLatents
        >>> config = Autoencoder(MLP(hidden=(32,), decoder_hidden=(32,)), latents=GaussianLatents(3))
        >>> model = config.build((1, 16, 16), seed=0)
        >>> model.encode(torch.zeros(2, 1, 16, 16)).mean.shape
        torch.Size([2, 3])
    """

    encoder: Architecture = field(default_factory=MLP)
    """Architecture of the encoder."""
    decoder: Architecture | None = None
    """Architecture of the decoder; by default the architecture of the encoder."""
    latents: Latents = field(default_factory=GaussianLatents)
    """Family of q(z | x) and its prior."""
    likelihood: Likelihood = field(default_factory=BernoulliLikelihood)
    """Likelihood p(x | z) of each pixel."""
    noise_inputs: int = 0
    """Number of additional decoder inputs for random noise, as in a generator."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.noise_inputs < 0:
            raise SpecError(f"Autoencoder: noise_inputs is {self.noise_inputs}; expected an integer >= 0. Change it.")

    def build(self, image_shape: ImageShape, seed: int) -> "AutoencoderModule":
        """Builds a model for images of the given shape on the CPU, with initial weights drawn from `seed`."""
        return seeded(lambda: self._assemble(image_shape), seed)

    def without_memory(self, image_shape: ImageShape) -> "AutoencoderModule":
        """Builds the model on the "meta" device, without allocating memory for its tensors."""
        with torch.device("meta"):
            return self._assemble(image_shape)

    def check(self, image_shape: ImageShape) -> None:
        """Raises if the nets do not support the images, the latents or a fleet. Allocates no memory for weights."""
        nets = type(self.encoder), type(self.decoder or self.encoder)
        encoder, decoder = f"encoder {nets[0].__name__}", f"decoder {nets[1].__name__}"
        model = self.without_memory(image_shape)
        # Only custom nets are tried: a first forward pass on `meta` takes a second, because torch imports its compiler.
        if any(map(is_user_defined, nets)):
            with torch.device("meta"):
                self._try(model, encoder, decoder)
        _check_layers(encoder, model.encoder)
        _check_layers(decoder, model.decoder)

    def _try(self, model: "AutoencoderModule", encoder: str, decoder: str) -> None:
        outputs = _tried(encoder, model.encoder, model.image_shape, "images")
        if outputs.shape != (2, self.latents.num_parameters):
            raise SpecError(
                f"The {encoder} outputs {_by(outputs.shape[1:])} numbers for an image; expected "
                f"{self.latents.num_parameters} for {type(self.latents).__name__}. Set the outputs of the last layer "
                "to latents.num_parameters."
            )
        images = _tried(decoder, model.decoder, (self.latents.num_columns + self.noise_inputs,), "codes")
        if images.shape != (2, *model.image_shape):
            raise SpecError(
                f"The {decoder} outputs the shape {_by(images.shape[1:])}; expected {_by(model.image_shape)}, the "
                "shape of an image. Change the last layer to output image_shape."
            )

    def num_features(self, image_shape: ImageShape) -> int:
        """Returns the number of inputs of the encoder's last layer."""
        return _num_features(self.encoder, self.latents, image_shape)

    def _assemble(self, image_shape: ImageShape) -> "AutoencoderModule":
        return AutoencoderModule(
            encoder=self.encoder.make_encoder(image_shape, self.latents),
            decoder=(self.decoder or self.encoder).make_decoder(
                self.latents.num_columns + self.noise_inputs, image_shape
            ),
            latents=self.latents,
            likelihood=self.likelihood,
            image_shape=image_shape,
            noise_inputs=self.noise_inputs,
        )


@final
class ForwardPass(NamedTuple):
    """Output of a model: q(z | x), the likeliest code of each image, and the decoded images."""

    posterior: Posterior
    code: Float[Tensor, "batch column"]
    images: Float[Tensor, "batch channel height width"]


@final
class AutoencoderModule(nn.Module):
    """Model with weights. `encode` maps images to q(z | x), and `decode` maps codes to images.

    Images are float tensors (image, channel, height, width) with intensities in [0, 1], or other inputs of
    `FromArrays.from_arrays`: bytes, booleans, or NumPy arrays, with or without a channel axis.
    """

    def __init__(
        self,
        encoder: nn.Module,
        decoder: nn.Module,
        latents: Latents,
        likelihood: Likelihood,
        image_shape: ImageShape,
        noise_inputs: int = 0,
    ) -> None:
        super().__init__()
        self.image_shape = image_shape
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

    def forward(self, images: Any) -> ForwardPass:
        """Encodes images and decodes the likeliest code of each image."""
        posterior = self.encode(images)
        code = likeliest_code(posterior.mean, posterior.probabilities, self.latents.widths)
        return ForwardPass(posterior, code, self.decode(code))

    def encode(self, images: Any) -> Posterior:
        """Returns the posterior q(z | x) of images, with `mean`, `std`, `rsample` and more."""
        x = self._inputs(images)
        return self.latents.posterior(self.encoder(x), torch.ones((), dtype=x.dtype, device=x.device))

    def reconstruct(self, images: Any) -> Float[Tensor, "batch channel height width"]:
        """Decodes the likeliest code of each image: means and likeliest categories."""
        return self(images).images

    def sample(self, num_images: int = 16, *, seed: int = 0) -> Float[Tensor, "image channel height width"]:
        """Decodes draws from the prior. Discrete latents are drawn as categories.

        Image n does not depend on `num_images`. Noise inputs of the decoder are standard normal.
        """
        num_images, seed = (check_value(n, int, name) for name, n in (("num_images", num_images), ("seed", seed)))
        if num_images < 1:
            raise SpecError(f"num_images is {num_images}; expected an integer >= 1. Pass e.g. num_images=16.")
        rows = torch.arange(num_images, device=next(self.parameters()).device)
        inputs = (torch.cat(self.prior_draws(block, seed), dim=1) for block in rows.split(_SAMPLES_AT_ONCE))
        return torch.cat([self.likelihood.mean(self.decoder(block)) for block in inputs])

    def prior_draws(
        self, rows: Int64[Tensor, " draw"], seed: int = 0
    ) -> tuple[Float[Tensor, "draw column"], Float[Tensor, "draw noise_input"]]:
        """Draws codes from the prior, with categories for discrete latents, and noise inputs of the decoder.

        A draw depends only on its row index and the seed.
        """
        latents = self.latents
        noise = draws.normal(rows, "prior samples", seed, (latents.num_columns + self.noise_inputs,))
        noise = noise.to(next(self.parameters()))
        z, others = self.prior.sample(noise[:, : latents.num_columns]), noise[:, latents.num_columns :]
        discrete = range(latents.num_latents - latents.num_discrete, latents.num_latents)
        return with_categories(z, latents.widths, discrete), others

    def traverse(self, images: Any, **options: Any) -> Traversal:
        """Returns latent traversals of images: decoded images in which one latent at a time varies.

        Args:
            images: Images as for `encode`, or `Codes` to start from the typical image. For numeric codes, use
                `unbraid.traverse(model, code)`.
            **options: Options of `unbraid.traverse`: latents, range, num_frames, order_by, labels, grid.
        """
        from unbraid.models.trained.traverse import traverse

        if isinstance(images, Codes):
            return traverse(self, images, **options)
        with torch.no_grad():
            posterior = self.encode(images)
        return traverse(self, likeliest_code(posterior.mean, posterior.probabilities, self.latents.widths), **options)

    def decode(self, codes: Any) -> Float[Tensor, "batch channel height width"]:
        """Decodes codes to images E[x | z], with intensities in [0, 1] for a Bernoulli likelihood.

        `codes` is a numeric array (row, column) or `Codes`. For `Codes`, the likeliest codes are decoded.
        """
        return self.likelihood.mean(self.decoder(self.decoder_input(self._columns(codes))))

    def decoder_input(self, z: Float[Tensor, "batch column"]) -> Float[Tensor, "batch input"]:
        """Returns the decoder's input for codes, with categories for hard latents and zeros for noise inputs."""
        return with_noise_inputs(with_categories(z, self.latents.widths, self.latents.hard_latents), self.noise_inputs)

    def _columns(self, codes: Any) -> Float[Tensor, "batch column"]:
        """Converts codes to a table with the dtype and device of the weights."""
        if isinstance(codes, Codes):
            codes = likeliest_code(codes.mean, codes.probabilities, self.latents.widths)
        z = codes if isinstance(codes, Tensor) else as_tensor("codes", codes)
        expected = self.latents.num_columns
        if z.ndim != 2 or z.shape[1] != expected:
            raise CodesError(
                f"The codes have shape {tuple(z.shape)}; expected (number of codes, {expected}). Pass one column for "
                "each column of the model's latents."
            )
        return z.to(next(self.parameters()))

    def _inputs(self, images: Any) -> Float[Tensor, "batch channel height width"]:
        """Converts images to a batch with the dtype and device of the weights."""
        like, rank = next(self.parameters()), len(self.image_shape) + 1
        if getattr(images, "shape", None) == self.image_shape:
            images = images[None]  # one image
        is_ready = isinstance(images, Tensor) and images.is_floating_point() and images.ndim == rank
        x: Tensor = images if is_ready else unlabeled(images).batch(slice(None))
        if x.shape[1:] != self.image_shape:
            raise DataError(
                f"The images are {_by(x.shape[1:])} (channels x height x width); expected {_by(self.image_shape)}. "
                "Resize, crop or convert the images."
            )
        return x.to(like)


def trunk_of(encoder: nn.Module) -> nn.Sequential:
    """Returns the encoder without its last layer. Weights are shared and keep their names."""
    if not isinstance(encoder, nn.Sequential) or len(encoder) < 2:
        raise SpecError(
            f"The encoder is a {type(encoder).__name__}; expected an nn.Sequential of at least 2 layers, because the "
            "critic reads the input of the last layer. Change the encoder, or use a separate critic: "
            "InfoGAN(shared_trunk=False)."
        )
    return nn.Sequential(OrderedDict(list(encoder.named_children())[:-1]))


@functools.lru_cache(maxsize=256)
def _num_features(encoder: Architecture, latents: Latents, image_shape: ImageShape) -> int:
    """Computes the number of inputs of the encoder's last layer by a forward pass. Cached for the specs of a study."""
    with torch.device("meta"):
        trunk = trunk_of(encoder.make_encoder(image_shape, latents))
        return _tried(f"encoder {type(encoder).__name__}", trunk, image_shape, "images").flatten(1).shape[1]


def _tried(name: str, net: nn.Module, shape: tuple[int, ...], what: str) -> Tensor:
    """Runs a net on two inputs of the given shape and returns the output."""
    try:
        output: Tensor = net(torch.zeros(2, *shape))
    except (RuntimeError, ValueError, TypeError) as error:
        raise SpecError(
            f"The {name} failed on {what} of {shape} (error: {error}). Change the first layer to accept this shape."
        ) from error
    return output


def _by(shape: Iterable[int]) -> str:
    return " x ".join(map(str, shape))


def _check_layers(name: str, net: nn.Module) -> None:
    """Raises if a layer draws random numbers or updates buffers in training."""
    for layer in net.modules():
        if isinstance(layer, _DropoutNd | nn.RReLU):
            raise SpecError(
                f"The {name} has a {type(layer).__name__}; expected no layer that draws random numbers, because runs "
                "would not be reproducible. Remove the layer."
            )
        if isinstance(layer, _NormBase) and isinstance(layer, _BatchNorm) != layer.track_running_stats:
            fix = "Set track_running_stats=True" if isinstance(layer, _BatchNorm) else "Set track_running_stats=False"
            raise SpecError(
                f"The {name} has a {type(layer).__name__} with track_running_stats={layer.track_running_stats}; "
                f"expected running averages for BatchNorm, and none for other layers. {fix}."
            )


def with_noise_inputs(z: Float[Tensor, "batch column"], noise_inputs: int) -> Float[Tensor, "batch input"]:
    """Appends zeros for the decoder's noise inputs to codes."""
    return nn.functional.pad(z, (0, noise_inputs)) if noise_inputs > 0 else z
