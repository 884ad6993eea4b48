"""Decoding of picture files with Pillow to arrays of bytes.

A truncated, damaged or oversized picture, or a warning of Pillow, raises an error with the name of the picture.
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
# Largest height and width of a JPEG. Pillow uses time and memory for each row, so that a picture with few columns and
# millions of rows would take much longer than other pictures with the same number of pixels.
_MAX_SIDE = 65_535
_GRAY_MODES = ("1", "L", "LA", "La", "I;16", "I;16L", "I;16B", "I;16N")
_PICTURES_PER_BLOCK, _PICTURES_PER_JOB = 256, 32
# Warning filters are global to the process: one thread at a time changes and restores them.
_warning_filters = threading.RLock()


@final
@dataclass(frozen=True)
class Framing:
    """Options to convert a picture to an image of shape (channels, height, width) by cropping, then resizing.

    Args:
        image_shape: The shape of the image.
        crop: The side of the central square in pixels, "largest" for the largest possible square, or None for no crop.
            If the margins differ by one pixel, the right and the bottom margin are wider.
        picture_size: The required height and width of the picture, if any.
        formats: The accepted Pillow formats.
        follow_exif: Whether to apply the EXIF orientation.
        background: The color behind transparent pixels.
        shrink: If above 1, each pixel is the mean of a square with this side. This takes a fifth of the time of
            Pillow's antialiased bilinear filter, which is used otherwise.
        mask: Whether to return the mask of the non-white pixels. The mask is computed at the size of the picture. A
            pixel of the resized mask is white if at least half of its area is in the mask.
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
    """Decodes a picture in its upright orientation. Transparent pixels become black.

    By default, a gray picture has one channel and a color picture three. Colors are converted to gray by brightness
    (ITU-R BT.601).
    """
    from PIL import ImageOps

    with _strict_pillow(), _opened(content, name) as picture:
        plain = _plain(ImageOps.exif_transpose(picture), name, "black")
        image = np.asarray(plain if channels is None else plain.convert(_mode(channels)))
        return image.reshape(*image.shape[:2], -1)


def shape_of(content: bytes, name: str) -> tuple[int, int, int]:
    """Reads the shape (channels, height, width) of a picture from the file header."""
    with _strict_pillow(), _opened(content, name) as picture:
        turned = picture.getexif().get(0x0112, 1) in (5, 6, 7, 8)
        width, height = picture.size[::-1] if turned else picture.size
        return 1 if picture.mode in _GRAY_MODES else 3, height, width


def framed(content: bytes, name: str, framing: Framing) -> UInt8[np.ndarray, "channel height width"]:
    """Decodes, crops and resizes a picture with these options."""
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
                    f"{name} is {picture.height} x {picture.width} pixels; expected {side} x {side} or more for the "
                    "crop. Choose a smaller crop."
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
    """Decodes pictures and yields blocks of images, in order.

    The calling thread reads the files. One thread per core decodes pictures, because Pillow releases the GIL.
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
    """Converts warnings of Pillow to errors inside the block."""
    with _warning_filters, warnings.catch_warnings():
        warnings.filterwarnings("error", module=r"PIL\.")
        yield


@contextlib.contextmanager
def _opened(content: bytes, name: str, formats: tuple[str, ...] | None = None) -> Iterator["Image.Image"]:
    """Opens a picture without decoding. Adds the name of the picture to errors inside the block."""
    from PIL import Image, UnidentifiedImageError

    is_limited = formats is not None
    if formats is None:
        # An EPS file is a program, which Pillow would execute with Ghostscript.
        Image.init()
        formats = tuple(known for known in Image.ID if known != "EPS")
    try:
        with Image.open(io.BytesIO(content), formats=formats) as picture:
            if picture.width * picture.height > MAX_PIXELS or max(picture.size) > _MAX_SIDE:
                raise DataError(
                    f"{name} is {picture.height} x {picture.width} pixels; expected at most {MAX_PIXELS:,} pixels, "
                    f"and at most {_MAX_SIDE:,} per side. Resize the picture."
                )
            yield picture
    except UnidentifiedImageError:
        known = " or ".join(formats) if is_limited else "any picture"
        raise DataError(f"{name} has an unknown format; expected {known}. Convert it, or fetch it again.") from None
    except DataError:
        raise
    except Exception as error:
        # Pillow raises many types of errors for damaged files.
        raise DataError(
            f"{name} is not a readable picture ({error}). Fetch or save the damaged or truncated picture again."
        ) from error


def _plain(picture: "Image.Image", name: str, background: str) -> "Image.Image":
    """Converts a picture to gray or RGB with eight bits per channel, without transparency."""
    from PIL import Image

    if picture.mode.startswith("I;16"):
        return Image.fromarray((np.asarray(picture) // 257).astype(np.uint8))
    if picture.mode in ("I", "F"):
        raise DataError(
            f"{name} has mode {picture.mode}; expected at most 16 bits per channel. Save it with 8 bits per channel."
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
    """Resizes images to `side` x `side` pixels with Pillow's Lanczos filter. Returns images of this size unchanged."""
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


# Weights of red, green and blue in the brightness (ITU-R BT.601), as in Pillow.
_LUMA = (0.299, 0.587, 0.114)


def fitted(images: FactorImages, image_shape: tuple[int, int, int], origin: str) -> Raw:
    """Converts color images to gray by brightness, or gray images to color, to match the channels of a model.

    Raises an error for another height or width, because the user must choose between resizing and cropping.
    """
    channels, height, width = image_shape
    _, has_channels, has_height, has_width = images.pixels.shape
    if (has_height, has_width) != (height, width):
        if images.bytes_of(slice(1)).is_floating_point():
            expected = f"vectors of {width}" if height == 1 else f"images of {height} x {width} pixels"
            raise DataError(
                f"Got vectors of {has_width} numbers; expected {expected}. Pass a single image x as x[None]."
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
        f"{expected[1]}. Resize or crop the images first."
    )
