"""The two graphs of an exported model, an encoder and a decoder. Neither draws random numbers."""

import copy
from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import final

import torch
from torch import Tensor, nn

from unbraid._internal import draws
from unbraid.errors import RunError
from unbraid.models.autoencoder import AutoencoderModule
from unbraid.models.distributions.distribution import Posterior

_BATCHES = (1, 5)  # sizes of compared batches, other than the traced one
_TRACED = 2


class Graph(nn.Module, ABC):
    """A part of a model with one named input, a row for each image, and named outputs."""

    name: str
    """The name of its file, without the suffix."""
    input_name: str
    output_names: tuple[str, ...]

    @abstractmethod
    def inputs(self, batch_size: int) -> Tensor:
        """Returns fixed inputs for comparisons: images of noise, or codes from a normal distribution."""

    @torch.no_grad()
    def outputs(self, inputs: Tensor) -> list[Tensor]:
        """Returns the outputs of torch for these inputs, in the order of the names."""
        found = self(inputs)
        return list(found) if isinstance(found, tuple) else [found]

    def comparisons(self) -> Iterator[tuple[Tensor, list[Tensor]]]:
        """Returns batches of several sizes, each with the outputs of torch."""
        for batch_size in _BATCHES:
            inputs = self.inputs(batch_size)
            yield inputs, self.outputs(inputs)

    @torch.no_grad()
    def traced(self) -> torch.export.ExportedProgram:
        """Returns the graph as torch.export traces it, for batches of any size."""
        sizes = {self.input_name: {0: torch.export.Dim("batch", min=1)}}
        try:
            return torch.export.export(self, (self.inputs(_TRACED),), dynamic_shapes=sizes)
        except (RuntimeError, ValueError, TypeError, NotImplementedError, AssertionError) as error:
            raise RunError(
                f"The {self.name} cannot be exported: {str(error).strip()}\nIn a custom net, remove Python "
                "code that depends on the values of tensors, and write x.shape[0] for the size of a batch, not len(x)."
            ) from error


@final
class EncoderGraph(Graph):
    """The encoder, from images to parameters of the posterior.

    Outputs are the mean and the std of continuous latents, their covariance if they are correlated, and the
    probabilities of discrete latents.
    """

    name, input_name = "encoder", "images"

    def __init__(self, model: AutoencoderModule) -> None:
        super().__init__()
        self.model = model
        posterior = self._posterior(self.inputs(_TRACED))
        self.output_names = tuple(_named(posterior))
        self.is_gaussian = posterior.gaussian_std is not None

    def inputs(self, batch_size: int) -> Tensor:
        rows = torch.arange(batch_size)
        return draws.uniform(rows, "exported images", 0, self.model.image_shape).float()

    def forward(self, images: Tensor) -> tuple[Tensor, ...]:
        return tuple(_named(self._posterior(images)).values())

    def _posterior(self, images: Tensor) -> Posterior:
        return self.model.latents.posterior(self.model.encoder(images), torch.ones(()))


@final
class DecoderMeanGraph(Graph):
    """The decoder, from codes to E[x | z], the mean of the likelihood."""

    name, input_name, output_names = "decoder", "code", ("image",)

    def __init__(self, model: AutoencoderModule) -> None:
        super().__init__()
        self.model = model

    def inputs(self, batch_size: int) -> Tensor:
        rows = torch.arange(batch_size)
        return draws.normal(rows, "exported codes", 0, (self.model.latents.num_columns,)).float()

    def forward(self, code: Tensor) -> Tensor:
        return self.model.likelihood.mean(self.model.decoder(self.model.decoder_input(code)))


@torch.no_grad()
def graphs_of(model: AutoencoderModule) -> tuple[EncoderGraph, DecoderMeanGraph]:
    """Returns encoder and decoder of a copy of the model on the CPU, in float32."""
    plain = copy.deepcopy(model).to("cpu", torch.float32).requires_grad_(requires_grad=False).eval()
    encoder, decoder = EncoderGraph(plain), DecoderMeanGraph(plain)
    return encoder.eval(), decoder.eval()


def _named(posterior: Posterior) -> dict[str, Tensor]:
    """Returns the parameters of the posterior by the names that `OnnxEncoder` reads.

    Without continuous latents there is neither mean nor std.
    """
    found: dict[str, Tensor | None] = {
        "mean": posterior.mean,
        "std": posterior.std,
        "covariance": posterior.covariance,
        **{f"probabilities_{number}": table for number, table in enumerate(posterior.probabilities)},
    }
    return {name: tensor for name, tensor in found.items() if tensor is not None and tensor.shape[1] > 0}
