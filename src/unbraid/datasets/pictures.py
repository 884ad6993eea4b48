"""Pictures, as Pillow reads them: bytes of a file in, an array of bytes out.

A picture that is cut short, damaged, or far too large is refused by name, and so is one that Pillow has a warning for.
"""

import contextlib
import io
import itertools
import struct
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
# Pillow's readers trust what they read: a damaged file makes them fail in any of these ways.
_DAMAGE = (
    OSError,
    SyntaxError,
    ValueError,
    struct.error,
    EOFError,
    LookupError,
    ArithmeticError,
    TypeError,
    AttributeError,
    AssertionError,
    RuntimeError,
    MemoryError,
    Warning,
)
# The filters of warnings belong to the process: one thread at a time changes them, and puts them back.
_warning_filters = threading.RLock()


@final
@dataclass(frozen=True)
class Framing:
    """Says how a picture becomes an image of `image_shape` (channels, height, width): cut out, then resized.

    `crop` is the height and width of the middle that is kept; the odd pixel is left over at the right and at the
    bottom. Sizes are changed by Pillow's bilinear filter, which is as wide as the pixels it makes, so that all that it
    reads counts. With `shrink` each pixel is instead the mean of a square of pixels, `shrink` wide, which takes a fifth
    of the time; crop and image must fit that. `picture_size` is the height and width that a picture must have,
    `formats` the formats of Pillow that it may be in. Cameras note how they were held: `follow_exif` turns such a
    picture upright. `background` is what lies behind a picture that one can see through.

    With `mask` the image is white where the picture is anything but white, judged at the size of the picture; a pixel
    is white if at least half of it is.
    """

    image_shape: tuple[int, int, int]
    crop: tuple[int, int] | None = None
    picture_size: tuple[int, int] | None = None
    formats: tuple[str, ...] | None = None
    follow_exif: bool = True
    background: Literal["black", "white"] = "black"
    shrink: int = 1
    mask: bool = False


def decode(content: bytes, name: str) -> UInt8[np.ndarray, "height width channel"]:
    """Returns the picture, upright: one channel if it is gray, three if it is in color. What one can see through lies
    on black, which is nothing in most sets.
    """
    with _strict_pillow(), _opened(content, name) as picture:
        image = np.asarray(_plain(_upright(picture), name, "black"))
        return image.reshape(*image.shape[:2], -1)


def shape_of(content: bytes, name: str) -> tuple[int, int, int]:
    """Returns (channels, height, width) of what `decode` gives, from the head of the file."""
    with _strict_pillow(), _opened(content, name) as picture:
        turned = picture.getexif().get(0x0112, 1) in (5, 6, 7, 8)
        width, height = picture.size[::-1] if turned else picture.size
        return 1 if picture.mode in _GRAY_MODES else 3, height, width


def with_channels(
    image: UInt8[np.ndarray, "height width channel"], channels: int
) -> UInt8[np.ndarray, "height width channels"]:
    """Returns the image in gray or color, as Pillow turns one into the other: brightness by ITU-R BT.601, or the same
    gray three times.
    """
    from PIL import Image

    plain = Image.fromarray(image[:, :, 0] if image.shape[2] == 1 else image)
    return np.asarray(plain.convert(_mode(channels))).reshape(*image.shape[:2], channels)


def framed(content: bytes, name: str, framing: Framing) -> UInt8[np.ndarray, "channel height width"]:
    """Returns the picture as an image."""
    with _strict_pillow():
        return _framed(content, name, framing)


def _framed(content: bytes, name: str, framing: Framing) -> UInt8[np.ndarray, "channel height width"]:
    from PIL import Image

    channels, height, width = framing.image_shape
    with _opened(content, name, framing.formats) as opened:
        picture = _upright(opened) if framing.follow_exif else opened
        if framing.picture_size is not None and picture.size[::-1] != framing.picture_size:
            raise DataError(_wrong_size(name, picture, framing.picture_size))
        picture = _plain(picture, name, framing.background)
        if framing.mask:
            picture = Image.fromarray(_any(np.asarray(picture) != 255))
        elif picture.mode != _mode(channels):
            picture = picture.convert(_mode(channels))
        if framing.crop is not None:
            picture = _middle(picture, framing.crop, name)
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
    """Yields the pictures as images, in order, in blocks. They are read here and decoded by a thread for each core:
    Pillow lets others run while it decodes.
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
        image[...] = _framed(content, name, framing)


@contextlib.contextmanager
def _strict_pillow() -> Iterator[None]:
    """Makes a warning of Pillow's an error inside the block."""
    with _warning_filters, warnings.catch_warnings():
        warnings.filterwarnings("error", module=r"PIL\.")
        yield


@contextlib.contextmanager
def _opened(content: bytes, name: str, formats: tuple[str, ...] | None = None) -> Iterator["Image.Image"]:
    """Opens the picture, not yet decoded. Whatever goes wrong inside the block is said of the picture."""
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
                    f"{name} is {picture.height} x {picture.width} pixels (height x width); at most {MAX_PIXELS:,} "
                    f"are read, and at most {_MAX_SIDE:,} a side. Make it smaller."
                )
            yield picture
    except UnidentifiedImageError:
        known = " or ".join(formats) if is_limited else "any picture"
        raise DataError(f"{name} does not begin as {known} does. Save it again as one, or fetch it again.") from None
    except (*_DAMAGE, Image.DecompressionBombError) as error:
        raise DataError(
            f"{name} is not a readable picture ({error}). It may be cut short: fetch it or save it again."
        ) from error


def _upright(picture: "Image.Image") -> "Image.Image":
    from PIL import ImageOps

    return ImageOps.exif_transpose(picture)


def _plain(picture: "Image.Image", name: str, background: str) -> "Image.Image":
    """Returns the picture with eight bits a channel, gray or color, and nothing to see through."""
    from PIL import Image

    if picture.mode.startswith("I;16"):
        return Image.fromarray((np.asarray(picture) // 257).astype(np.uint8))
    if picture.mode in ("I", "F"):
        raise DataError(f"{name} has more than 16 bits a pixel (mode {picture.mode}). Save it with 8 bits a channel.")
    mode: Literal["L", "RGB"] = "L" if picture.mode in _GRAY_MODES else "RGB"
    if picture.has_transparency_data:
        seen = picture.convert("RGBA")
        picture = Image.alpha_composite(Image.new("RGBA", seen.size, background), seen)
    return picture if picture.mode == mode else picture.convert(mode)


def _middle(picture: "Image.Image", crop: tuple[int, int], name: str) -> "Image.Image":
    height, width = crop
    if picture.height < height or picture.width < width:
        raise DataError(
            f"{name} is {picture.height} x {picture.width} pixels (height x width), too small to cut {height} x "
            f"{width} out of it."
        )
    left, top = (picture.width - width) // 2, (picture.height - height) // 2
    return picture.crop((left, top, left + width, top + height))


def _any(differs: np.ndarray) -> UInt8[np.ndarray, "height width"]:
    """Returns 255 where any channel differs, else 0."""
    return np.where(differs if differs.ndim == 2 else differs.any(axis=2), np.uint8(255), np.uint8(0))


def _mode(channels: int) -> Literal["L", "RGB"]:
    return "L" if channels == 1 else "RGB"


def _wrong_size(name: str, picture: "Image.Image", size: tuple[int, int]) -> str:
    return (
        f"{name} is {picture.height} x {picture.width} pixels (height x width); expected {size[0]} x {size[1]}. "
        "Fetch the official file, or use FromFolder for pictures of your own."
    )


def resized(
    images: UInt8[np.ndarray, "image channel height width"], side: int
) -> UInt8[np.ndarray, "image channel {side} {side}"]:
    """Returns squares of this side, gray or color, by Pillow's Lanczos filter, in which every pixel has its part. Those
    of the right size stay as they are.
    """
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


# ITU-R BT.601, which pillow uses too: how bright red, green and blue are to the eye.
_LUMA = (0.299, 0.587, 0.114)


def fitted(images: FactorImages, image_shape: tuple[int, int, int], origin: str) -> Raw:
    """Returns the pixels with as many channels as the model takes: colors become gray by their brightness, and gray
    becomes color. Raises if their height or width differs: to resize or to crop is a choice, and the user's.
    """
    channels, height, width = image_shape
    _, has_channels, has_height, has_width = images.pixels.shape
    if (has_height, has_width) != (height, width):
        if images.bytes_of(slice(1)).is_floating_point():
            raise DataError(
                f"Vectors of {has_width} numbers were given; this run was trained on "
                + (
                    f"vectors of {width}."
                    if height == 1
                    else f"images of {height} x {width} pixels. Give one as x[None]."
                )
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
    """Returns the error message for images of another height and width."""
    return (
        f"{origin} is {has[0]} x {has[1]} pixels (height x width); this run was trained on {expected[0]} x "
        f"{expected[1]}. Resize or crop it first."
    )
