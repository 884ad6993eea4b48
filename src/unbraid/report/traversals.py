"""What changes in the image as one latent moves and the others stand still."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

import torch

from unbraid.codes import Codes
from unbraid.evaluation.latent_readings import Reading
from unbraid.models.autoencoder import AutoencoderModule
from unbraid.models.trained.latent_moves import Place
from unbraid.models.trained.traverse import NUM_FRAMES, RANGE, traverse
from unbraid.report.pictures import Sheet, sheet

POSITIONS = Place(0, 1).positions(RANGE, NUM_FRAMES)
# A model may have hundreds of latents; those that say most are enough.
MAX_LATENTS = 16


@final
@dataclass(frozen=True)
class Traversals:
    """Holds a strip of frames for each latent, the most informative first; of a discrete one, a frame for each
    category. They start from the image `start`.
    """

    start: int
    strips: tuple[tuple[Reading, Sheet], ...]
    num_hidden: int

    @property
    def used(self) -> list[tuple[Reading, Sheet]]:
        return [(reading, frames) for reading, frames in self.strips if not reading.is_unused]

    @property
    def unused(self) -> list[Reading]:
        return [reading for reading, _ in self.strips if reading.is_unused]


def traversals(model: AutoencoderModule, codes: Codes, readings: Sequence[Reading]) -> Traversals:
    """Returns the strips of the latents that say most, those that are unused among them."""
    drawn = readings[:MAX_LATENTS]
    made = traverse(model, codes, latents=[reading.latent for reading in drawn])
    strips = [(reading, sheet(strip.frames[None])) for reading, strip in zip(drawn, made.strips, strict=True)]
    return Traversals(made.strips[0].start, tuple(strips), num_hidden=len(readings) - len(drawn))


def traversal_sheet(
    model: AutoencoderModule,
    codes: Codes,
    readings: Sequence[Reading],
    num_frames: int,
    max_pixels: int,
    *,
    lossy: bool,
) -> Sheet:
    """Returns a row for each of these latents as one picture; a discrete one stays at its last category where it has
    fewer than others have frames.
    """
    made = traverse(model, codes, latents=[reading.latent for reading in readings], num_frames=num_frames)
    rows = [strip.frames[torch.linspace(0, len(strip.frames) - 1, num_frames).round().long()] for strip in made.strips]
    return sheet(torch.stack(rows), max_pixels, lossy=lossy)
