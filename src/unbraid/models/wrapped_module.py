"""Modules with `encode` and `decode` as models for `train`."""

import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast, final

import torch
from jaxtyping import Float
from torch import Tensor, nn

from unbraid.config.annotations import public_path
from unbraid.errors import SpecError
from unbraid.models.architecture import Architecture, ImageShape
from unbraid.models.autoencoder import Autoencoder
from unbraid.models.distributions.likelihoods import BernoulliLikelihood, Likelihood
from unbraid.models.distributions.posteriors.gaussian import GaussianLatents
from unbraid.models.distributions.posteriors.latents import Latents


def wrap(
    module: type[nn.Module],
    num_latents: int,
    *,
    arguments: Mapping[str, Any] | None = None,
    likelihood: Likelihood | None = None,
) -> Autoencoder:
    """Returns a model for `train` with the encoder and the decoder of a module.

    Args:
        module: The class of the module, at the top level of a file or a notebook. Its `encode(x)` returns
            (mean, logvar), and its `decode(z)` logits of the shape of x. Each run builds it anew, with weights from its
            seed. Before `Run.open` in another process, import the file of the class.
        num_latents: Number of latents.
        arguments: Arguments of the class by name: numbers, strings, and lists or mappings of these.
        likelihood: p(x | z), by default Bernoulli, of logits.

    Examples:
        >>> class Net(nn.Module):
        ...     def __init__(self, width):
        ...         super().__init__()
        ...         self.encoder = nn.Sequential(nn.Flatten(), nn.Linear(16, width), nn.ReLU(), nn.Linear(width, 4))
        ...         self.decoder = nn.Sequential(nn.Linear(2, 16), nn.Unflatten(1, (1, 4, 4)))
        ...     def encode(self, x):
        ...         return self.encoder(x).chunk(2, dim=1)
        ...     def decode(self, z):
        ...         return self.decoder(z)
        >>> wrap(Net, num_latents=2, arguments={"width": 8}).latents
        GaussianLatents(size=2, ...)
    """
    given: Any = module
    if not (isinstance(given, type) and issubclass(given, nn.Module)):
        name = type(given).__name__
        raise SpecError(
            f"wrap got a {name}; expected a class of modules, because each run "
            f"builds its own. Pass the class and its arguments: wrap({name}, num_latents=10, arguments={{...}})."
        )
    for method in ("encode", "decode"):
        if not callable(getattr(module, method, None)):
            raise SpecError(
                f"{module.__name__} has no method {method}(). Expected encode(x) that returns (mean, logvar), and "
                "decode(z) that returns logits. Add the method."
            )
    try:
        text = json.dumps(dict(arguments or {}), sort_keys=True)
    except TypeError as error:
        raise SpecError(
            f"arguments of {module.__name__} cannot be written as JSON: {error}. Use numbers, strings and lists."
        ) from None
    net = WrappedModule(public_path(module), text)
    return Autoencoder(net, latents=GaussianLatents(num_latents), likelihood=likelihood or BernoulliLikelihood())


@final
@dataclass(frozen=True)
class WrappedModule(Architecture):
    """The encoder and the decoder of a module, made by `wrap`.

    The encoder and the decoder are two instances of the class. Layers that an instance does not use are left out.
    """

    module: str
    """The import path of the class, which is imported already."""
    arguments: str = "{}"
    """The arguments of the class, as JSON."""

    @property
    def wrapped_classes(self) -> tuple[type, ...]:
        """The class of the module, whose source is kept with a run; empty if it is not imported."""
        parent, _, name = self.module.rpartition(".")
        found = vars(sys.modules[parent]).get(name) if parent in sys.modules else None
        return (found,) if isinstance(found, type) and issubclass(found, nn.Module) else ()

    def make_encoder(self, image_shape: ImageShape, latents: Latents) -> nn.Module:
        encoder, decoder = _Encoder(self._built()), _Decoder(self._built(), image_shape)
        decoded, z = _used_parameters(decoder, torch.zeros(2, latents.num_columns)), torch.zeros(2, *image_shape)
        if shared := _used_parameters(encoder, z) & decoded:
            raise SpecError(
                f"{self.module}: encode and decode share the parameter {min(shared)}, and train gives them separate "
                "weights. Separate the parameters, or train with objective.loss in your own loop (docs/own-loop.md)."
            )
        return _without_unused(encoder, torch.zeros(2, *image_shape))

    def make_decoder(self, num_inputs: int, image_shape: ImageShape) -> nn.Module:
        return _without_unused(_Decoder(self._built(), image_shape), torch.zeros(2, num_inputs))

    def _built(self) -> nn.Module:
        if not self.wrapped_classes:
            raise SpecError(
                f"{self.module} is not a class of modules that is imported or defined here. Import its file, or define "
                "it, before the model is built."
            )
        try:
            return cast(nn.Module, self.wrapped_classes[0](**json.loads(self.arguments)))
        except TypeError as error:
            raise SpecError(f"{self.module} was called with {self.arguments}: {error}. Pass arguments=.") from error


@final
class _Encoder(nn.Module):
    """A module that returns means and log-variances as one table."""

    def __init__(self, module: Any) -> None:
        super().__init__()
        self.module = module

    def forward(self, x: Tensor) -> Float[Tensor, "batch parameter"]:
        encoded = self.module.encode(x)
        if not (isinstance(encoded, tuple | list) and len(encoded) == 2):
            raise SpecError(
                f"{type(self.module).__name__}.encode(x) returned a {type(encoded).__name__}; expected (mean, logvar)."
            )
        return torch.cat(tuple(encoded), dim=1)


@final
class _Decoder(nn.Module):
    """A module that returns logits in the shape of images."""

    def __init__(self, module: Any, image_shape: ImageShape) -> None:
        super().__init__()
        self.module = module
        self.image_shape = image_shape

    def forward(self, z: Tensor) -> Float[Tensor, "batch channel height width"]:
        logits: Tensor = self.module.decode(z)
        return logits.reshape(len(z), *self.image_shape)


def _used_parameters(net: nn.Module, inputs: Tensor) -> set[str]:
    """Returns the names of the parameters with an effect on the output."""
    net.eval()  # BatchNorm keeps its statistics
    with torch.enable_grad():
        names, parameters = zip(*net.named_parameters(), strict=True)
        gradients: tuple[Any, ...] = torch.autograd.grad(net(inputs).sum(), parameters, allow_unused=True)
    net.train()
    return {name for name, gradient in zip(names, gradients, strict=True) if gradient is not None}


def _without_unused(net: Any, inputs: Tensor) -> nn.Module:
    """Removes the layers of the module without a parameter that the output needs."""
    used = _used_parameters(net, inputs)
    for name, layer in list(net.module.named_children()):
        held = {f"module.{name}.{each}" for each, _ in layer.named_parameters()}
        if held and not held & used:
            delattr(net.module, name)
    return cast(nn.Module, net)
