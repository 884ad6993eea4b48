"""Columns of each latent in a code, and codes in which one latent varies."""

import contextlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, final

import torch
from jaxtyping import Float
from torch import Tensor, nn

from unbraid.codes import Codes
from unbraid.errors import CodesError
from unbraid.models.autoencoder import AutoencoderModule
from unbraid.models.categories import columns_of

Decoder = Callable[[Tensor], Tensor]


@final
@dataclass(frozen=True)
class Place:
    """Columns of one latent in a code. `num_categories` is 0 for a continuous latent."""

    first: int
    width: int
    num_categories: int = 0

    def positions(self, ends: tuple[float, float], num_frames: int) -> tuple[float, ...]:
        """Returns equidistant values between the ends, inclusive, or the categories of a discrete latent."""
        if self.num_categories:
            return tuple(map(float, range(self.num_categories)))
        return tuple(ends[0] + (ends[1] - ends[0]) * step / (num_frames - 1) for step in range(num_frames))

    def moved(self, code: Float[Tensor, " column"], positions: Sequence[float]) -> Float[Tensor, "position column"]:
        """Returns copies of the code, one for each position, with this latent set to the position."""
        values = torch.tensor(positions, dtype=code.dtype, device=code.device)
        put = columns_of(values.long(), self.width).to(code) if self.num_categories else values[:, None]
        moved = code.repeat(len(positions), 1)
        moved[:, self.first : self.first + self.width] = put
        return moved


def places(decoder: Decoder, codes: Codes | None, num_columns: int) -> tuple[Place, ...]:
    """Returns the columns of each latent, from the model or `codes` if given; by default one column per latent."""
    if isinstance(decoder, AutoencoderModule):
        widths, num_discrete = decoder.latents.widths, decoder.latents.num_discrete
    elif codes is not None:
        widths = (1,) * codes.mean.shape[1] + tuple(table.shape[1] for table in codes.probabilities)
        num_discrete = len(codes.probabilities)
    else:
        widths, num_discrete = (1,) * num_columns, 0
    continuous = len(widths) - num_discrete
    return tuple(
        Place(sum(widths[:latent]), width, 0 if latent < continuous else max(2, width))
        for latent, width in enumerate(widths)
    )


@contextlib.contextmanager
def decoding(decoder: Decoder, num_columns: int) -> Iterator[Decoder]:
    """Sets the decoder to evaluation mode without gradients for the duration of the context.

    Yields a function that decodes codes, of any dtype on any device, to images on the CPU.
    """
    owner = getattr(decoder, "__self__", decoder)  # a method of a module runs its layers
    modules = list(owner.modules()) if isinstance(owner, nn.Module) else []
    in_training = [module for module in modules if module.training]
    weights = next((weight for module in modules for weight in module.parameters(recurse=False)), None)
    decode = decoder.decode if isinstance(decoder, AutoencoderModule) else decoder

    def decoded(z: Float[Tensor, "frame column"]) -> Float[Tensor, "frame ..."]:
        try:
            frames: Any = decode(z if weights is None else z.to(weights))
        except (RuntimeError, ValueError, TypeError, IndexError) as error:
            raise CodesError(
                f"The decoder failed on codes of shape ({len(z)}, {num_columns}) (error: {error}). Pass codes with the "
                "number of columns that the decoder expects."
            ) from error
        if not isinstance(frames, Tensor) or len(frames) != len(z) or not frames.is_floating_point():
            found = f"{frames.dtype} of {tuple(frames.shape)}" if isinstance(frames, Tensor) else type(frames).__name__
            raise CodesError(
                f"The decoder returned {found} for {len(z)} codes; expected a float tensor with one image per code. "
                "Wrap the decoder in a function that returns such a tensor."
            )
        return frames.detach().cpu()

    try:
        for module in in_training:
            module.training = False
        with torch.no_grad():
            yield decoded
    finally:
        for module in in_training:
            module.training = True
