"""Pictures from files, in the shape that a model was trained on."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from jaxtyping import UInt8
from torch import Tensor

from unbraid import files
from unbraid.data.dataset import FactorImages
from unbraid.data.own.from_arrays import unlabelled
from unbraid.data.pictures.pictures import decode, shape_of, with_channels
from unbraid.errors import DataError

SUFFIXES = (".png", ".jpg", ".jpeg")

# ITU-R BT.601, which pillow uses too: how bright red, green and blue are to the eye.
_LUMA = (0.299, 0.587, 0.114)


def picture_paths(paths: Sequence[Path]) -> list[Path]:
    """The pictures that these paths are or, if they are folders, hold; those of a folder by name."""
    found: list[Path] = []
    for path in paths:
        if path.is_dir():
            inside = sorted(child for child in path.iterdir() if child.suffix.lower() in SUFFIXES)
            if not inside:
                raise DataError(
                    f"The folder {path} holds no {', '.join(SUFFIXES)} files. Name one that does, or an .npz file."
                )
            found.extend(inside)
        elif not path.exists():
            raise DataError(f"There is no file {path}. Name .png or .jpg files, a folder of them, or one .npz file.")
        elif path.suffix.lower() not in SUFFIXES:
            raise DataError(f"{path} is neither a .png, .jpg or .npz file nor a folder. Convert it to one of these.")
        else:
            found.append(path)
    return found


def read_pictures(paths: Sequence[Path], image_shape: tuple[int, int, int]) -> FactorImages:
    """The pictures as images of this shape, grey or colour as it asks. Nothing is resized: that would be a choice, and
    the user's.
    """
    return unlabelled(np.stack([_read(path, image_shape) for path in paths]))


def fitted(
    images: FactorImages, image_shape: tuple[int, int, int], origin: str
) -> UInt8[Tensor, "image channel height width"]:
    """The pixels with as many channels as the model takes. Refused if their height or width differs."""
    channels, height, width = image_shape
    _, has_channels, has_height, has_width = images.pixels.shape
    if (has_height, has_width) != (height, width):
        raise DataError(_wrong_size(origin, has_height, has_width, height, width))
    pixels = images.pixels[:]
    if has_channels == channels:
        return pixels
    if channels == 3:
        return pixels.expand(-1, 3, -1, -1)
    luma = torch.tensor(_LUMA, device=pixels.device)
    return torch.einsum("nchw,c->nhw", pixels.float(), luma).round().to(torch.uint8)[:, None]


def _read(path: Path, image_shape: tuple[int, int, int]) -> UInt8[np.ndarray, "..."]:
    channels, height, width = image_shape
    try:
        content = files.read_bytes(path)
    except OSError as error:
        raise DataError(f"{path} cannot be read ({error.strerror}). Check that it is yours to read.") from None
    # Before it is decoded: a picture of the wrong size may be a very large one.
    _, has_height, has_width = shape_of(content, str(path))
    if (has_height, has_width) != (height, width):
        raise DataError(_wrong_size(str(path), has_height, has_width, height, width))
    fitting = with_channels(decode(content, str(path)), channels)
    return fitting[:, :, 0] if channels == 1 else fitting


def _wrong_size(origin: str, has_height: int, has_width: int, height: int, width: int) -> str:
    return (
        f"{origin} is {has_height} x {has_width} pixels (height x width); this run was trained on {height} x {width}. "
        "Resize or crop it first."
    )
