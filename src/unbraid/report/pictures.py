"""Images as they go into the page: sheets of frames, inside the text."""

import base64
import io
from dataclasses import dataclass
from typing import Literal, final

from einops import rearrange
from jaxtyping import Float
from PIL import Image
from torch import Tensor
from torch.nn.functional import interpolate

from unbraid.figures.tiles import tiles

# Frames are shown about this large; more pixels would only make the file larger.
MAX_PIXELS = 64
# Frames up to this size are shown with their pixels as squares.
_MAX_SQUARES = 32


@final
@dataclass(frozen=True)
class Sheet:
    """A picture that shows rows and columns of frames, as a `data:` address. `is_small`: its pixels are to be shown as
    squares, not smoothed.
    """

    address: str
    width: int
    height: int
    is_small: bool


def sheet(frames: Float[Tensor, "row column channel height width"]) -> Sheet:
    """Returns frames with intensities in [0, 1] (others are clipped), side by side, with a transparent line between
    them.
    """
    rows, channels = len(frames), frames.shape[2]
    flat = _at_most(rearrange(frames.float(), "row column channel height width -> (row column) channel height width"))
    height, width = flat.shape[2:]
    pixels = tiles(rearrange(flat, "(row column) channel h w -> row column channel h w", row=rows))
    is_small = max(height, width) <= _MAX_SQUARES
    # Large frames in colour are the one case that would fill megabytes as PNG, and they are smoothed on the page
    # anyway.
    kind: Literal["png", "webp"] = "png" if channels != 3 or is_small else "webp"
    return Sheet(_data_address(Image.fromarray(pixels), kind), pixels.shape[1], pixels.shape[0], is_small)


def _data_address(image: Image.Image, kind: Literal["png", "webp"]) -> str:
    stream = io.BytesIO()
    if kind == "png":
        image.save(stream, format="PNG", optimize=True)
    else:
        image.save(stream, format="WEBP", quality=90)
    return f"data:image/{kind};base64,{base64.b64encode(stream.getvalue()).decode()}"


def _at_most(frames: Float[Tensor, "frame channel height width"]) -> Float[Tensor, "frame channel h w"]:
    """Returns the frames, made smaller by averaging if a side is longer than the limit."""
    height, width = frames.shape[2:]
    factor = MAX_PIXELS / max(height, width)
    if factor >= 1:
        return frames
    return interpolate(frames, size=(max(1, round(height * factor)), max(1, round(width * factor))), mode="area")
