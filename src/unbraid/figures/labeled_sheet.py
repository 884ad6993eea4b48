"""Rows of frames with a label before each row and one above each column, as a picture or as an SVG."""

import base64
import html
import io
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, final

import torch
from jaxtyping import Float
from torch import Tensor

from unbraid.figures.tiles import tiles

if TYPE_CHECKING:
    from PIL import Image, ImageFont

# Frames are drawn at least this large, each pixel of a small one as a square.
_LEAST_PIXELS = 64
_TEXT_SIZE = 13
_SPACE = 6  # pixels between a label and the frames
_GAP = 2  # pixels between frames
_INK, _PAPER = "#222222", "#ffffff"


@final
@dataclass(frozen=True)
class LabeledSheet:
    """Holds frames in rows and columns, and texts beside them.

    A frame of NaN is left blank; without labels there is no room for them. `corner` is what the labels of the rows are
    about.
    """

    frames: Float[Tensor, "row column channel height width"]
    row_labels: Sequence[str] = ()
    column_labels: Sequence[str] = ()
    corner: str = ""

    def image(self) -> "Image.Image":
        """Returns the sheet as a picture with a white background."""
        from PIL import Image, ImageDraw

        sheet, font = self._pixels(), _font()
        left, top = self._margins(font)
        picture = Image.new("RGB", (left + sheet.width, top + sheet.height), _PAPER)
        picture.paste(sheet.convert("RGB"), (left, top), sheet.getchannel("A"))
        pen = ImageDraw.Draw(picture)
        for x, y, text, anchor in self._texts(left, top):
            pen.text((x, y), text, fill=_INK, font=font, anchor=f"{anchor[0]}m")
        return picture

    def svg(self) -> str:
        """Returns the sheet as an SVG whose labels are text."""
        sheet, stream = self._pixels(), io.BytesIO()
        left, top = self._margins(_font())
        sheet.save(stream, format="PNG", optimize=True)
        address = base64.b64encode(stream.getvalue()).decode()
        width, height = left + sheet.width, top + sheet.height
        anchors = {"left": "start", "middle": "middle", "right": "end"}
        texts = [
            f'<text x="{x:g}" y="{y:g}" text-anchor="{anchors[anchor]}">{html.escape(text)}</text>'
            for x, y, text, anchor in self._texts(left, top)
        ]
        opening = (
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
            f'viewBox="0 0 {width} {height}" font-family="sans-serif" font-size="{_TEXT_SIZE}" fill="{_INK}" '
            'dominant-baseline="central">'
        )
        paper = f'<rect width="100%" height="100%" fill="{_PAPER}"/>'
        pixels = (
            f'<image x="{left}" y="{top}" width="{sheet.width}" height="{sheet.height}" '
            f'style="image-rendering:pixelated" href="data:image/png;base64,{address}"/>'
        )
        return "\n".join([opening, paper, pixels, *texts, "</svg>", ""])

    def _pixels(self) -> "Image.Image":
        from PIL import Image

        larger = -(-_LEAST_PIXELS // max(self.frames.shape[3:]))
        frames = self.frames.repeat_interleave(larger, dim=3).repeat_interleave(larger, dim=4)
        return Image.fromarray(tiles(frames, _GAP))

    def _margins(self, font: "ImageFont.FreeTypeFont | ImageFont.ImageFont") -> tuple[int, int]:
        """Returns how many pixels the labels take on the left and above."""
        widest = max((font.getlength(text) for text in (*self.row_labels, self.corner)), default=0.0)
        return (round(widest) + 2 * _SPACE) * (widest > 0), (_TEXT_SIZE + _SPACE) * any(self.column_labels)

    def _texts(self, left: int, top: int) -> list[tuple[float, float, str, str]]:
        """Returns where the middle line of each text is, the text, and at which of its ends it is held there."""
        rows, columns, _, height, width = self.frames.shape
        larger = -(-_LEAST_PIXELS // max(height, width))
        down, across = height * larger + _GAP, width * larger + _GAP
        end = float(left - _SPACE)
        beside = [
            (end, top + row * down + (down - _GAP) / 2, text, "right")
            for row, text in enumerate(self.row_labels[:rows])
        ]
        above = [
            (left + column * across + (across - _GAP) / 2, top / 2, text, "middle")
            for column, text in enumerate(self.column_labels[:columns])
        ]
        return [*beside, *above, *([(end, top / 2, self.corner, "right")] if self.corner and top else [])]


def stack(rows: Sequence[Float[Tensor, "_column ..."]]) -> Float[Tensor, "row column ..."]:
    """Returns rows of frames as one tensor. Shorter rows end in frames of NaN."""
    longest = max(map(len, rows))
    blank = torch.full_like(rows[0][:1], torch.nan)
    return torch.stack([torch.cat([row, *[blank] * (longest - len(row))]) for row in rows])


def beside(pictures: Sequence["Image.Image"], titles: Sequence[str]) -> "Image.Image":
    """Returns pictures in a row, each with its title above."""
    from PIL import Image, ImageDraw

    font, top = _font(), _TEXT_SIZE + 2 * _SPACE
    widths = [
        max(picture.width, round(font.getlength(title))) + 3 * _SPACE
        for picture, title in zip(pictures, titles, strict=True)
    ]
    sheet = Image.new("RGB", (sum(widths), top + max(picture.height for picture in pictures)), _PAPER)
    pen, left = ImageDraw.Draw(sheet), 0
    for picture, title, width in zip(pictures, titles, widths, strict=True):
        sheet.paste(picture.convert("RGB"), (left, top))
        pen.text((left + _SPACE, top / 2), title, fill=_INK, font=font, anchor="lm")
        left += width
    return sheet


def _font() -> "ImageFont.FreeTypeFont | ImageFont.ImageFont":
    from PIL import ImageFont

    return ImageFont.load_default(_TEXT_SIZE)
