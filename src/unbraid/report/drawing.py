"""Text, frames and colours on a picture. Sizes are in pixels, twice those of a plain screen, so that a fine one shows
it sharp.
"""

import functools
import unicodedata
from collections.abc import Sequence
from typing import Literal, cast

import numpy as np
from einops import rearrange
from jaxtyping import UInt8
from PIL import Image, ImageDraw, ImageFont
from torch import Tensor

# As on the pages of the report.
INK, SOFT, LINE, SURFACE = "#17212b", "#566370", "#d5dce3", "#ffffff"
_HEAT = (6, 55, 112)

TITLE, TEXT, SMALL = 46, 28, 22
# Frames are about this large.
FRAME_PIXELS = 128
_MAX_WITHOUT_SHRINKING = 192

Colour = str | tuple[int, int, int]
Place = tuple[int | float, int | float]
"""From the left, and from the top."""
# The font has the letters of ASCII and these.
_OTHER_GLYPHS = "·…"
_REPLACEMENTS = str.maketrans({"×": "x", "–": "-", "—": "-", "−": "-", "’": "'", "“": '"', "”": '"'})


def blank(width: int, height: int) -> Image.Image:
    return Image.new("RGB", (width, height), SURFACE)


def write(
    picture: Image.Image,
    place: Place,
    text: str,
    size: int = TEXT,
    colour: Colour = INK,
    anchor: Literal["la", "ma", "ra", "lm", "mm", "rm"] = "la",
) -> None:
    """Writes text at a place; the anchor says which point of the text is there: left, middle or right, at its ascent or
    its middle.
    """
    ImageDraw.Draw(picture).text(place, writable(text), fill=colour, font=_font(size), anchor=anchor)


def write_upwards(
    picture: Image.Image, place: tuple[int, int], text: str, size: int = TEXT, colour: Colour = INK
) -> None:
    """Writes text that runs from the bottom to the top, its middle at the place."""
    width, height = text_width(text, size) + 2, 2 * size
    sheet = blank(width, height)
    write(sheet, (width / 2, height / 2), text, size, colour, "mm")
    picture.paste(sheet.rotate(90, expand=True), (place[0] - height // 2, place[1] - width // 2))


def text_width(text: str, size: int = TEXT) -> int:
    return round(_font(size).getlength(writable(text)))


def fitting(text: str, width: int, size: int = TEXT) -> str:
    """Returns the text, or as much of its beginning as has room."""
    if text_width(text, size) <= width:
        return text
    while text and text_width(f"{text}…", size) > width:
        text = text[:-1]
    return f"{text.rstrip()}…"


def wrapped(text: str, width: int, size: int = TEXT) -> list[str]:
    """Returns the text in lines that have room; a word that is too long for a line is cut."""
    lines: list[str] = []
    for word in text.split():
        if lines and text_width(f"{lines[-1]} {word}", size) <= width:
            lines[-1] += f" {word}"
        else:
            lines.append(fitting(word, width, size))
    return lines


def paragraph(text: str, width: int, size: int = TEXT, colour: Colour = INK) -> Image.Image:
    """Returns the text in as many lines as it takes, as a picture of its own."""
    lines, height = wrapped(text, width, size), round(1.4 * size)
    picture = blank(max([1, *(text_width(line, size) + 2 for line in lines)]), height * max(1, len(lines)))
    for number, line in enumerate(lines):
        write(picture, (0, number * height), line, size, colour)
    return picture


def writable(text: str) -> str:
    """Returns the text in letters that the font has: without accents, and ? for those that it has nothing like."""
    plain = "".join(
        letter if letter in _OTHER_GLYPHS else unicodedata.normalize("NFKD", letter)
        for letter in text.translate(_REPLACEMENTS)
    )
    kept = (letter for letter in plain if not unicodedata.combining(letter))
    return "".join(
        letter if (letter.isascii() and letter.isprintable()) or letter in _OTHER_GLYPHS else "?" for letter in kept
    )


def frame_size(height: int, width: int) -> tuple[int, int]:
    """Returns the height and width of an image as shown: a whole multiple of its pixels, or smaller if it is large."""
    longest = max(height, width)
    if longest > _MAX_WITHOUT_SHRINKING:
        return max(1, round(height * FRAME_PIXELS / longest)), max(1, round(width * FRAME_PIXELS / longest))
    multiple = max(1, FRAME_PIXELS // longest)
    return height * multiple, width * multiple


def frame(image: UInt8[Tensor, "channel height width"]) -> Image.Image:
    """Returns the image as it is shown: its pixels as squares, or averaged if it is made smaller. Images of neither 1
    nor 3 channels are shown as their mean.
    """
    pixels: UInt8[np.ndarray, "height width channel"] = rearrange(
        image, "channel height width -> height width channel"
    ).numpy()
    if pixels.shape[2] not in (1, 3):
        pixels = pixels.mean(axis=2, keepdims=True).round().astype(np.uint8)
    picture = Image.fromarray(pixels if pixels.shape[2] == 3 else pixels[:, :, 0]).convert("RGB")
    height, width = frame_size(picture.height, picture.width)
    kind = Image.Resampling.NEAREST if height >= picture.height else Image.Resampling.BOX
    return picture.resize((width, height), kind)


def paste_framed(picture: Image.Image, place: tuple[int, int], frame_: Image.Image) -> None:
    """Pastes the frame with a line around it: without, an image on white would have no edge."""
    left, top = place
    ImageDraw.Draw(picture).rectangle(
        (left - 2, top - 2, left + frame_.width + 1, top + frame_.height + 1), outline=LINE, width=2
    )
    picture.paste(frame_, place)


def heat(share: float) -> tuple[int, int, int]:
    """Returns the colour of a share: white for 0, dark blue for 1."""
    red, green, blue = (round(255 + (channel - 255) * min(max(share, 0.0), 1.0)) for channel in _HEAT)
    return red, green, blue


def beside(pictures: Sequence[Image.Image], gap: int) -> Image.Image:
    """Puts pictures from left to right, their tops level."""
    together = blank(
        sum(each.width for each in pictures) + gap * (len(pictures) - 1), max(each.height for each in pictures)
    )
    left = 0
    for each in pictures:
        together.paste(each, (left, 0))
        left += each.width + gap
    return together


def stacked(pictures: Sequence[Image.Image], gap: int) -> Image.Image:
    """Puts pictures from top to bottom, their left edges level."""
    together = blank(
        max(each.width for each in pictures), sum(each.height for each in pictures) + gap * (len(pictures) - 1)
    )
    top = 0
    for each in pictures:
        together.paste(each, (0, top))
        top += each.height + gap
    return together


def with_margin(picture: Image.Image, margin: int) -> Image.Image:
    whole = blank(picture.width + 2 * margin, picture.height + 2 * margin)
    whole.paste(picture, (margin, margin))
    return whole


@functools.cache
def _font(size: int) -> ImageFont.FreeTypeFont:
    # Pillow's own, so that the picture is the same on every machine.
    return cast(ImageFont.FreeTypeFont, ImageFont.load_default(size))
