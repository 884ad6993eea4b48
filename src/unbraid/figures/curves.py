"""Vectors as pictures of curves, for sheets of frames."""

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn.functional import interpolate

_WIDTH, _HEIGHT = 96, 64  # pixels of a picture
_LINE = 1.6  # pixels
_PAPER = 0.94  # intensity of the background, which sets the pictures of a row apart
_MARGIN = 0.06  # of the height, above and below
_PER_COLUMN = 4  # at least so many points of a curve in a column of pixels


def are_vectors(frames: Float[Tensor, "... channel height width"]) -> bool:
    """Returns whether the frames are vectors, which are stored as gray images with a single row."""
    return frames.ndim >= 3 and frames.shape[-3:-1] == (1, 1)


def as_pictures(
    frames: Float[Tensor, "... channel height width"], ends: tuple[float, float] | None = None
) -> Float[Tensor, "... channel h w"]:
    """Returns vectors as pictures of their curves, black on light gray, and images unchanged.

    `ends` are the numbers at the bottom and the top of each picture, by default the least and the greatest one. Vectors
    of NaN become pictures of NaN.
    """
    if not are_vectors(frames):
        return frames
    low, high = ends_of([frames]) if ends is None else ends
    flat = frames.float().reshape(-1, 1, frames.shape[-1])
    heights = (flat - low) / (high - low) if high > low else flat * 0 + 0.5
    rows = (1 - _MARGIN - heights * (1 - 2 * _MARGIN)) * _HEIGHT
    step = max(_PER_COLUMN, -(-frames.shape[-1] // _WIDTH))
    points = interpolate(rows, size=_WIDTH * step + 1, mode="linear", align_corners=True)[:, 0]
    columns = points.unfold(1, step + 1, step)  # neighbors share an end, so that the curve has no gaps
    top, bottom = columns.amin(dim=2)[:, None] - _LINE / 2, columns.amax(dim=2)[:, None] + _LINE / 2
    above = torch.arange(_HEIGHT, dtype=torch.float32, device=flat.device)[None, :, None]
    ink = (torch.minimum(bottom, above + 1) - torch.maximum(top, above)).clamp(0, 1)
    return (_PAPER * (1 - ink)).reshape(*frames.shape[:-2], _HEIGHT, _WIDTH)


def ends_of(frames: list[Tensor]) -> tuple[float, float]:
    """Returns the least and the greatest finite number of these frames; (0, 0) if there is none."""
    known = torch.cat([each[each.isfinite()].flatten() for each in frames])
    return (float(known.min()), float(known.max())) if len(known) else (0.0, 0.0)
