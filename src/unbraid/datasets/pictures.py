"""Decoding of picture files with Pillow to arrays of bytes.

Truncated, damaged or oversized pictures and warnings of Pillow raise an error with the name of the picture.
"""

import contextlib
import io
import itertools
import threading
import warnings
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, final

import numpy as np
import torch
from jaxtyping import UInt8
from torch import Tensor

from unbraid._internal.cpu import usable_cores
from unbraid.datasets.dataset import FactorImages
from unbraid.datasets.formats.archives import ArchiveMember, Container
from unbraid.datasets.pixels import Raw
from unbraid.errors import DataError

if TYPE_CHECKING:
    from PIL import Image

MAX_PIXELS = 2**26
# What JPEG allows. Pillow spends time and memory on every row, so a picture of few columns and millions of rows would
# take many times what its pixels do.
_MAX_SIDE = 65_535
_GRAY_MODES = ("1", "L", "LA", "La", "I;16", "I;16L", "I;16B", "I;16N")
_PICTURES_PER_BLOCK, _PICTURES_PER_JOB = 256, 32
# The filters of warnings belong to the process: one thread at a time changes them, and puts them back.
_warning_filters = threading.RLock()


@final
@dataclass(frozen=True)
class Framing:
    """Conversion of a picture to an image of `image_shape` (channels, height, width): cropped, then resized.

    Args:
        image_shape: The shape of the image.
        crop: The side of the central square to keep, "largest" for the largest possible square, or None. An odd
            pixel is removed at the right and at the bottom.
        picture_size: The required height and width of the picture.
        formats: The accepted Pillow formats.
        follow_exif: Whether to apply the EXIF orientation.
        background: The color behind transparent pixels.
        shrink: If above 1, each pixel is the mean of a square with this side, which takes a fifth of the time.
            Otherwise Pillow's antialiased bilinear filter resizes.
        mask: Whether to return the mask of the pixels that are not white, computed at the size of the picture. A
            pixel of the image is white if at least half of its area is in the mask.
    """

    image_shape: tuple[int, int, int]
    crop: int | Literal["largest"] | None = None
    picture_size: tuple[int, int] | None = None
    formats: tuple[str, ...] | None = None
    follow_exif: bool = True
    background: Literal["black", "white"] = "black"
    shrink: int = 1
    mask: bool = False


def decode(content: bytes, name: str, channels: int | None = None) -> UInt8[np.ndarray, "height width channel"]:
    """Returns the upright picture with one channel if gray, else three, or as given. Transparent pixels are black.

    Pillow converts colors to gray by their brightness (ITU-R BT.601).
    """
    from PIL import ImageOps

    with _strict_pillow(), _opened(content, name) as picture:
        plain = _plain(ImageOps.exif_transpose(picture), name, "black")
        image = np.asarray(plain if channels is None else plain.convert(_mode(channels)))
        return image.reshape(*image.shape[:2], -1)


def shape_of(content: bytes, name: str) -> tuple[int, int, int]:
    """Returns (channels, height, width) of the decoded picture, read from the file header."""
    with _strict_pillow(), _opened(content, name) as picture:
        turned = picture.getexif().get(0x0112, 1) in (5, 6, 7, 8)
        width, height = picture.size[::-1] if turned else picture.size
        return 1 if picture.mode in _GRAY_MODES else 3, height, width


def framed(content: bytes, name: str, framing: Framing) -> UInt8[np.ndarray, "channel height width"]:
    """Returns the picture, cropped and resized as `framing` specifies."""
    from PIL import Image, ImageOps

    channels, height, width = framing.image_shape
    with _opened(content, name, framing.formats) as opened:
        picture = ImageOps.exif_transpose(opened) if framing.follow_exif else opened
        if (size := framing.picture_size) is not None and picture.size[::-1] != size:
            raise DataError(
                f"{name} is {picture.height} x {picture.width} pixels (height x width); expected {size[0]} x "
                f"{size[1]}. Fetch the official file."
            )
        picture = _plain(picture, name, framing.background)
        if framing.mask:
            is_drawn = np.asarray(picture).reshape(picture.height, picture.width, -1).min(axis=2) < 255
            picture = Image.fromarray(np.where(is_drawn, np.uint8(255), np.uint8(0)))
        elif picture.mode != _mode(channels):
            picture = picture.convert(_mode(channels))
        if framing.crop is not None:
            side = min(picture.size) if framing.crop == "largest" else framing.crop
            if min(picture.size) < side:
                raise DataError(
                    f"{name} is {picture.height} x {picture.width} pixels, too small for a crop of {side} x {side}."
                )
            left, top = (picture.width - side) // 2, (picture.height - side) // 2
            picture = picture.crop((left, top, left + side, top + side))
        if framing.shrink > 1:
            picture = picture.reduce(framing.shrink)
        if picture.size != (width, height):
            picture = picture.resize(
                (width, height), Image.Resampling.BOX if framing.mask else Image.Resampling.BILINEAR
            )
        image = np.asarray(picture).reshape(height, width, -1).transpose(2, 0, 1)
    if framing.mask:
        return np.repeat(np.where(image >= 128, np.uint8(255), np.uint8(0)), channels, axis=0)
    return image


def decode_many(
    source: Container, members: Sequence[ArchiveMember], framing: Framing, num_threads: int | None = None
) -> Iterator[UInt8[np.ndarray, "block channel height width"]]:
    """Yields blocks of the pictures as images, in order.

    This thread reads the files, and one thread per core decodes them: Pillow releases the GIL while decoding.
    """
    contents = source.contents(members)
    with ThreadPoolExecutor(num_threads or usable_cores()) as threads:
        for first in range(0, len(members), _PICTURES_PER_BLOCK):
            block = members[first : first + _PICTURES_PER_BLOCK]
            names = [source.named(member) for member in block]
            images = np.empty((len(block), *framing.image_shape), np.uint8)
            with _strict_pillow():
                jobs = []
                for start in range(0, len(block), _PICTURES_PER_JOB):
                    some = list(itertools.islice(contents, min(_PICTURES_PER_JOB, len(block) - start)))
                    jobs.append(threads.submit(_decode_into, images[start:], some, names[start:], framing))
                for job in jobs:
                    job.result()
            yield images


def _decode_into(
    images: UInt8[np.ndarray, "block channel height width"],
    contents: Sequence[bytes],
    names: Sequence[str],
    framing: Framing,
) -> None:
    for image, content, name in zip(images, contents, names, strict=False):
        image[...] = framed(content, name, framing)


@contextlib.contextmanager
def _strict_pillow() -> Iterator[None]:
    """Turns warnings of Pillow into errors inside the block."""
    with _warning_filters, warnings.catch_warnings():
        warnings.filterwarnings("error", module=r"PIL\.")
        yield


@contextlib.contextmanager
def _opened(content: bytes, name: str, formats: tuple[str, ...] | None = None) -> Iterator["Image.Image"]:
    """Opens the picture without decoding it. Errors inside the block are raised with the name of the picture."""
    from PIL import Image, UnidentifiedImageError

    is_limited = formats is not None
    if formats is None:
        # An EPS file is a program, and Pillow has another program run it.
        Image.init()
        formats = tuple(known for known in Image.ID if known != "EPS")
    try:
        with Image.open(io.BytesIO(content), formats=formats) as picture:
            if picture.width * picture.height > MAX_PIXELS or max(picture.size) > _MAX_SIDE:
                raise DataError(
                    f"{name} is {picture.height} x {picture.width} pixels; expected at most {MAX_PIXELS:,} pixels, "
                    f"and at most {_MAX_SIDE:,} per side. Make it smaller."
                )
            yield picture
    except UnidentifiedImageError:
        known = " or ".join(formats) if is_limited else "any picture"
        raise DataError(f"{name} does not begin as {known} does. Save it in this format, or fetch it again.") from None
    except DataError:
        raise
    except Exception as error:
        # Of any type: Pillow's readers do not validate a damaged file.
        raise DataError(
            f"{name} is not a readable picture ({error}). It may be cut short: fetch it or save it again."
        ) from error


def _plain(picture: "Image.Image", name: str, background: str) -> "Image.Image":
    """Returns the picture in gray or color, with eight bits per channel and without transparency."""
    from PIL import Image

    if picture.mode.startswith("I;16"):
        return Image.fromarray((np.asarray(picture) // 257).astype(np.uint8))
    if picture.mode in ("I", "F"):
        raise DataError(
            f"{name} has more than 16 bits per pixel (mode {picture.mode}). Save it with 8 bits per channel."
        )
    mode: Literal["L", "RGB"] = "L" if picture.mode in _GRAY_MODES else "RGB"
    if picture.has_transparency_data:
        seen = picture.convert("RGBA")
        picture = Image.alpha_composite(Image.new("RGBA", seen.size, background), seen)
    return picture if picture.mode == mode else picture.convert(mode)


def _mode(channels: int) -> Literal["L", "RGB"]:
    return "L" if channels == 1 else "RGB"


def resized(
    images: UInt8[np.ndarray, "image channel height width"], side: int
) -> UInt8[np.ndarray, "image channel {side} {side}"]:
    """Resizes images to squares of this side, by Pillow's Lanczos filter. Images of that size are unchanged."""
    from PIL import Image

    if images.shape[2:] == (side, side):
        return images
    small = np.empty((*images.shape[:2], side, side), np.uint8)
    for image, place in zip(images, small, strict=True):
        is_gray = len(image) == 1
        picture = Image.fromarray(image[0] if is_gray else np.ascontiguousarray(image.transpose(1, 2, 0)))
        pixels = np.asarray(picture.resize((side, side), Image.Resampling.LANCZOS))
        place[:] = pixels if is_gray else pixels.transpose(2, 0, 1)
    return small


# ITU-R BT.601, which Pillow uses too: the brightness of red, green and blue.
_LUMA = (0.299, 0.587, 0.114)


def fitted(images: FactorImages, image_shape: tuple[int, int, int], origin: str) -> Raw:
    """Converts the pixels to the channels of the model: color to gray by brightness, or gray to color.

    Raises an error if height or width differs: whether to resize or to crop is the user's choice.
    """
    channels, height, width = image_shape
    _, has_channels, has_height, has_width = images.pixels.shape
    if (has_height, has_width) != (height, width):
        if images.bytes_of(slice(1)).is_floating_point():
            expected = f"vectors of {width}" if height == 1 else f"images of {height} x {width} pixels"
            raise DataError(
                f"Vectors of {has_width} numbers were given; expected {expected}. A single image is x[None]."
            )
        raise DataError(wrong_size(origin, (has_height, has_width), (height, width)))
    pixels: Tensor = images.pixels[:]
    if has_channels == channels:
        return pixels
    if channels == 3:
        return pixels.expand(-1, 3, -1, -1)
    luma = torch.tensor(_LUMA, device=pixels.device)
    return torch.einsum("nchw,c->nhw", pixels.float(), luma).round().to(torch.uint8)[:, None]


def wrong_size(origin: str, has: tuple[int, int], expected: tuple[int, int]) -> str:
    """Returns the error message for images with an unexpected height or width."""
    return (
        f"{origin} is {has[0]} x {has[1]} pixels (height x width); this run was trained on {expected[0]} x "
        f"{expected[1]}. Resize or crop it first."
    )
