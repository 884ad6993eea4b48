"""Frames side by side, as the pixels of one picture."""

import numpy as np
import torch
from einops import rearrange
from jaxtyping import Float, UInt8
from torch import Tensor
from torch.nn.functional import pad


def tiles(frames: Float[Tensor, "row column channel height width"], gap: int = 1) -> UInt8[np.ndarray, "h w value"]:
    """Returns frames with intensities in [0, 1] (others are clipped), side by side.

    Between them is a transparent line of `gap` pixels. The last channel is the opacity: pixels that are NaN are
    transparent.

    Three channels are red, green and blue; one is gray, and so is the mean of any other number of them.
    """
    rows, columns, channels = frames.shape[:3]
    flat = rearrange(frames.float(), "row column channel height width -> (row column) channel height width")
    gray_or_color = flat if channels in (1, 3) else flat.mean(dim=1, keepdim=True)
    there = ~gray_or_color.isnan().any(dim=1, keepdim=True)
    opaque = torch.cat([gray_or_color.nan_to_num(nan=0.0).clamp(0, 1), there.to(flat)], dim=1)
    spaced = rearrange(
        pad(opaque, (0, gap, 0, gap)),
        "(row column) channel h w -> (row h) (column w) channel",
        row=rows,
        column=columns,
    )
    h, w = (size - gap for size in spaced.shape[:2])
    pixels: UInt8[np.ndarray, "h w value"] = (spaced[:h, :w] * 255).round().to(torch.uint8).numpy()
    return pixels
