"""Pictures from files, in the shape that a model was trained on."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from jaxtyping import UInt8

from unbraid._internal import files
from unbraid.datasets.dataset import FactorImages
from unbraid.datasets.pictures import decode, shape_of, wrong_size
from unbraid.datasets.user.from_arrays import unlabeled
from unbraid.errors import DataError

SUFFIXES = (".png", ".jpg", ".jpeg")


def picture_paths(paths: Sequence[Path]) -> list[Path]:
    """Returns the pictures that these paths are or, if they are folders, hold; those of a folder by name."""
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
    """Returns the pictures as images of this shape, gray or color as it asks.

    Nothing is resized: that would be a choice, and the user's.
    """
    return unlabeled(np.stack([_read(path, image_shape) for path in paths]))


def _read(path: Path, image_shape: tuple[int, int, int]) -> UInt8[np.ndarray, "..."]:
    channels, height, width = image_shape
    try:
        content = files.read_bytes(path)
    except OSError as error:
        raise DataError(f"{path} cannot be read ({error.strerror}). Check that it is yours to read.") from None
    # Before it is decoded: a picture of the wrong size may be a very large one.
    _, has_height, has_width = shape_of(content, str(path))
    if (has_height, has_width) != (height, width):
        raise DataError(wrong_size(str(path), (has_height, has_width), (height, width)))
    fitting = decode(content, str(path), channels)
    return fitting[:, :, 0] if channels == 1 else fitting
