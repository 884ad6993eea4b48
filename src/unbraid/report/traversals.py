"""What changes in the image as one latent moves and the others stand still."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

import torch
from jaxtyping import Float
from torch import Tensor

from unbraid.codes import Codes
from unbraid.models.autoencoder import AutoencoderModule
from unbraid.models.trained.decode import columns_of, likeliest
from unbraid.report.latents import Reading
from unbraid.report.pictures import Sheet, sheet

POSITIONS = (-2.0, -1.5, -1.0, -0.5, 0.0, 0.5, 1.0, 1.5, 2.0)
# A model may have hundreds of latents; those that say most are enough.
MAX_LATENTS = 16


@final
@dataclass(frozen=True)
class Traversals:
    """A strip of frames for each latent, the most informative first; of a discrete one, a frame for each category. They
    start from the image `start`.
    """

    start: int
    strips: tuple[tuple[Reading, Sheet], ...]
    num_hidden: int

    @property
    def used(self) -> list[tuple[Reading, Sheet]]:
        return [(reading, frames) for reading, frames in self.strips if not reading.is_unused]

    @property
    def unused(self) -> list[tuple[Reading, Sheet]]:
        return [(reading, frames) for reading, frames in self.strips if reading.is_unused]


@torch.no_grad()
def traversals(model: AutoencoderModule, codes: Codes, readings: Sequence[Reading]) -> Traversals:
    start, widths = typical_image(codes), model.latents.widths
    (code,) = likeliest(codes, torch.tensor([start]), widths)
    drawn = readings[:MAX_LATENTS]
    strips = [(reading, sheet(model.decode(_moved(code, reading, widths))[None])) for reading in drawn]
    return Traversals(start, tuple(strips), num_hidden=len(readings) - len(drawn))


def typical_image(codes: Codes) -> int:
    """The image whose mean code is nearest the mean of all, each latent in units of its own spread."""
    mean = codes.mean.double()
    centred = mean - mean.mean(dim=0)
    # The posterior's own std keeps an unused latent, whose means hardly differ, from having a say.
    spread = centred.square().mean(dim=0) + (0 if codes.std is None else codes.std.double().square().mean(dim=0))
    # A latent that never differs at all is as near everywhere.
    return int((centred.square() / spread.where(spread > 0, 1.0)).sum(dim=1).argmin())


def _moved(code: Float[Tensor, " column"], reading: Reading, widths: Sequence[int]) -> Float[Tensor, "position column"]:
    """The code, with one latent put at each of the positions: from -2 to 2 lie 95 % of a standard normal prior. A
    discrete one, at each category.
    """
    first, width = sum(widths[: reading.latent]), widths[reading.latent]
    if reading.num_categories:
        places = columns_of(torch.arange(reading.num_categories), width).to(code)
    else:
        places = torch.tensor(POSITIONS, dtype=code.dtype)[:, None]
    moved = code.repeat(len(places), 1)
    moved[:, first : first + width] = places
    return moved
