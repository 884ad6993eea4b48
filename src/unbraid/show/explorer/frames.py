"""Frames decoded beforehand, for a decoder that the browser cannot compute."""

from typing import Any

import torch

from unbraid.show.explorer.explored import ExploredModel
from unbraid.show.explorer.packing import Packer, as_bytes

NUM_STARTS = 8
NUM_LATENTS = 16
POSITIONS = tuple(-3 + 0.5 * step for step in range(13))


def decoded_frames(model: ExploredModel, order: list[int], rows: torch.Tensor, packer: Packer) -> dict[str, Any]:
    """Returns decoded frames for pages that cannot decode.

    For each of the first images, and each of the most informative latents, they show the image with that latent at each
    of its positions, and all others unchanged.
    """
    starts = model.columns(rows[:NUM_STARTS])
    latents = order[:NUM_LATENTS]
    positions = [model.where[latent].positions((POSITIONS[0], POSITIONS[-1]), len(POSITIONS)) for latent in latents]
    frames = [
        model.decode(model.where[latent].moved(start, there))
        for start in starts
        for latent, there in zip(latents, positions, strict=True)
    ]
    return {
        "starts": len(starts),
        "latents": latents,
        "positions": [list(there) for there in positions],
        "images": packer.add("frames", as_bytes(torch.cat([model.decode(starts), *frames]).flatten(1)), "uint8"),
    }
