"""Grids of images with row and column labels, as a picture or a matplotlib figure."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, final

import numpy as np
import torch
from einops import rearrange
from jaxtyping import Float, UInt8
from torch import Tensor
from torch.nn.functional import pad

from unbraid.figures.canvas import Axes, axes_or_new, name_axes

if TYPE_CHECKING:
    from PIL import Image, ImageFont

# The minimum size of a frame. Pixels of smaller frames are drawn as squares.
_LEAST_PIXELS = 64
_TEXT_SIZE = 13
_SPACE = 6  # pixels between a label and the frames
_GAP = 2  # pixels between frames
_INK, _PAPER = "#222222", "#ffffff"
_INCHES = 0.7  # the size of a frame in a matplotlib figure


@final
@dataclass(frozen=True)
class LabeledSheet:
    """Frames (images) in rows and columns, with labels of rows and columns.

    Frames of NaN are blank. `corner` is the title of the row labels.
    """

    frames: Float[Tensor, "row column channel height width"]
    row_labels: Sequence[str] = ()
    column_labels: Sequence[str] = ()
    corner: str = ""

    def image(self) -> "Image.Image":
        """Returns the sheet as a Pillow image with a white background. Does not require matplotlib."""
        from PIL import Image, ImageDraw

        larger = -(-_LEAST_PIXELS // max(self.frames.shape[3:]))
        frames = self.frames.repeat_interleave(larger, dim=3).repeat_interleave(larger, dim=4)
        sheet, font = Image.fromarray(tiles(frames, _GAP)), _font()
        widest = max((font.getlength(text) for text in (*self.row_labels, self.corner)), default=0.0)
        left = (round(widest) + 2 * _SPACE) * (widest > 0)
        top = (_TEXT_SIZE + _SPACE) * any(self.column_labels)
        picture = Image.new("RGB", (left + sheet.width, top + sheet.height), _PAPER)
        picture.paste(sheet.convert("RGB"), (left, top), sheet.getchannel("A"))
        height, width = frames.shape[3:]
        pen = ImageDraw.Draw(picture)
        for row, text in enumerate(self.row_labels[: len(frames)]):
            y = top + row * (height + _GAP) + height / 2
            pen.text((left - _SPACE, y), text, fill=_INK, font=font, anchor="rm")
        for column, text in enumerate(self.column_labels[: frames.shape[1]]):
            x = left + column * (width + _GAP) + width / 2
            pen.text((x, top / 2), text, fill=_INK, font=font, anchor="mm")
        if self.corner and top:
            pen.text((left - _SPACE, top / 2), self.corner, fill=_INK, font=font, anchor="rm")
        return picture

    def axes(self) -> Axes:
        """Draws the sheet in a new matplotlib figure, with tick labels as row and column labels. Returns the axes."""
        rows, columns, _, height, width = self.frames.shape
        pixels = tiles(self.frames)
        per_pixel = _INCHES / max(height, width)
        axes = axes_or_new(None, pixels.shape[0] * per_pixel + 0.5, pixels.shape[1] * per_pixel + 1.5)
        # matplotlib does not support images of gray and opacity.
        axes.imshow(pixels if pixels.shape[2] == 4 else pixels[..., [0, 0, 0, 1]], interpolation="none")
        down = np.arange(rows) * (height + 1) + (height - 1) / 2
        across = np.arange(columns) * (width + 1) + (width - 1) / 2
        axes.set_yticks(down[: len(self.row_labels)], self.row_labels[:rows])
        axes.set_xticks(across[: len(self.column_labels)], self.column_labels[:columns])
        axes.xaxis.tick_top()
        axes.tick_params(length=0)
        axes.spines[:].set_visible(False)
        name_axes(axes, upright=self.corner)
        return axes


def tiles(frames: Float[Tensor, "row column channel height width"], gap: int = 1) -> UInt8[np.ndarray, "h w value"]:
    """Joins frames to one image, separated by transparent lines of `gap` pixels.

    Intensities outside of [0, 1] are clipped. The last channel of the result is the opacity; NaN is transparent. Three
    channels are RGB. Any other number of channels is averaged to gray.
    """
    rows, columns, channels = frames.shape[:3]
    flat = rearrange(frames.float(), "row column channel height width -> (row column) channel height width")
    gray_or_color = flat if channels in (1, 3) else flat.mean(dim=1, keepdim=True)
    is_known = ~gray_or_color.isnan().any(dim=1, keepdim=True)
    opaque = torch.cat([gray_or_color.nan_to_num(nan=0.0).clamp(0, 1), is_known.to(flat)], dim=1)
    spaced = rearrange(
        pad(opaque, (0, gap, 0, gap)),
        "(row column) channel h w -> (row h) (column w) channel",
        row=rows,
        column=columns,
    )
    h, w = (size - gap for size in spaced.shape[:2])
    pixels: UInt8[np.ndarray, "h w value"] = (spaced[:h, :w] * 255).round().to(torch.uint8).numpy()
    return pixels


def stack(rows: Sequence[Float[Tensor, "_column ..."]]) -> Float[Tensor, "row column ..."]:
    """Stacks rows of frames. Shorter rows are padded with frames of NaN."""
    longest = max(map(len, rows))
    blank = torch.full_like(rows[0][:1], torch.nan)
    return torch.stack([torch.cat([row, *[blank] * (longest - len(row))]) for row in rows])


def beside(pictures: Sequence["Image.Image"], titles: Sequence[str]) -> "Image.Image":
    """Returns one picture with all pictures side by side, each with a title above."""
    from PIL import Image, ImageDraw

    font, top = _font(), _TEXT_SIZE + 2 * _SPACE
    widths = [
        max(picture.width, round(font.getlength(title))) + 3 * _SPACE
        for picture, title in zip(pictures, titles, strict=True)
    ]
    sheet = Image.new("RGB", (sum(widths), top + max(picture.height for picture in pictures)), _PAPER)
    pen, left = ImageDraw.Draw(sheet), 0
    for picture, title, width in zip(pictures, titles, widths, strict=True):
        sheet.paste(picture, (left, top))
        pen.text((left + _SPACE, top / 2), title, fill=_INK, font=font, anchor="lm")
        left += width
    return sheet


def _font() -> "ImageFont.FreeTypeFont | ImageFont.ImageFont":
    from PIL import ImageFont

    return ImageFont.load_default(_TEXT_SIZE)
