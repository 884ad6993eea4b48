"""Sheets of images as pictures embedded in a page."""

import base64
import io
from dataclasses import dataclass
from typing import final

from einops import rearrange
from jaxtyping import Float
from PIL import Image
from torch import Tensor
from torch.nn.functional import interpolate

from unbraid.figures.curves import are_vectors, as_pictures
from unbraid.figures.labeled_sheet import tiles

# The size of a frame on the page, above which frames are scaled down.
MAX_PIXELS = 64
# The largest frames whose pixels are shown as squares.
_MAX_SQUARES = 32
_HIGH, _LOW = 90, 60  # WebP qualities


@final
@dataclass(frozen=True)
class FrameSheet:
    """A picture of rows and columns of frames, as a `data:` URL.

    If `is_small` is true, the page shows pixels as squares without smoothing.
    """

    address: str
    width: int
    height: int
    is_small: bool
    num_columns: int = 1

    @property
    def frame_width(self) -> float:
        """The width of a frame in pixels, without the gap of one pixel between frames."""
        return (self.width - self.num_columns + 1) / self.num_columns

    @property
    def style(self) -> str:
        """CSS variables with the picture and its sizes, for the style sheet that animates the columns."""
        return (
            f"--s:url({self.address});--r:{self.width}/{self.height};--n:{self.num_columns};"
            f"--f:{self.frame_width:g}/{self.height};--w:{100 * self.width / self.frame_width:.2f}%"
        )


def sheet(
    frames: Float[Tensor, "row column channel height width"],
    max_pixels: int = MAX_PIXELS,
    *,
    lossy: bool = False,
    ends: tuple[float, float] | None = None,
) -> FrameSheet:
    """Returns a picture of frames with intensities in [0, 1], separated by transparent lines.

    Intensities outside of [0, 1] are clipped. Frames larger than `max_pixels` are scaled down. `lossy` reduces the file
    size by compression. Vectors are drawn as curves between `ends`, by default their least and greatest number.
    """
    if are_vectors(frames):
        frames, max_pixels = as_pictures(frames, ends), max_pixels * 3 // 2  # thin lines blur
    rows, columns, channels = frames.shape[:3]
    flat = rearrange(frames.float(), "row column channel height width -> (row column) channel height width")
    flat = _at_most(flat, max_pixels)
    height, width = flat.shape[2:]
    pixels = tiles(rearrange(flat, "(row column) channel h w -> row column channel h w", row=rows))
    is_small = max(height, width) <= _MAX_SQUARES
    # Large frames in color would take megabytes as PNG. The page smooths these frames, so WebP is sufficient.
    is_large = channels == 3 and not is_small
    address = data_address(Image.fromarray(pixels), quality=_LOW if lossy else _HIGH if is_large else None)
    return FrameSheet(address, pixels.shape[1], pixels.shape[0], is_small, columns)


def data_address(image: Image.Image, quality: int | None = None) -> str:
    """Returns a picture as a `data:` URL: as PNG, or as a smaller WebP with a `quality` of at most 100."""
    stream = io.BytesIO()
    if quality is None:
        image.save(stream, format="PNG", optimize=True)
    else:
        image.convert("RGBA").save(stream, format="WEBP", quality=quality, method=1)
    kind = "png" if quality is None else "webp"
    return f"data:image/{kind};base64,{base64.b64encode(stream.getvalue()).decode()}"


def _at_most(
    frames: Float[Tensor, "frame channel height width"], max_pixels: int
) -> Float[Tensor, "frame channel h w"]:
    """Returns the frames, downsampled by averaging if a side is longer than `max_pixels`."""
    height, width = frames.shape[2:]
    factor = max_pixels / max(height, width)
    if factor >= 1:
        return frames
    return interpolate(frames, size=(max(1, round(height * factor)), max(1, round(width * factor))), mode="area")
