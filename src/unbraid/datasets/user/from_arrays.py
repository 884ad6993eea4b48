"""Dataset of images with or without factors from arrays in an `.npz` file."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, cast, final

import numpy as np
import torch
from jaxtyping import Float32
from torch import Tensor

from unbraid._internal import files
from unbraid._internal.arrays import is_masked
from unbraid._internal.npz import Npz
from unbraid.codes.conversions import has_names
from unbraid.codes.labels import Marks
from unbraid.datasets import file_stamps
from unbraid.datasets.dataset import Factor, FactorDataset, FactorImages, plain_array
from unbraid.datasets.pixels import ChannelsLast, Pixels, Raw
from unbraid.datasets.user.labels import as_arrays, is_label, labels_in, ordered_flags, probabilities_in
from unbraid.errors import DataError, SpecError

_IMAGES_AT_ONCE = 4096
# Smaller arrays are read into memory, so that a later write to the file cannot change them.
_MAPPED_FROM_BYTES = 2**28


@final
@dataclass(frozen=True)
class FromArrays(FactorDataset):
    """Dataset of images from an `.npz` file of plain arrays.

    Construction makes the path absolute, and computes the checksum of the file if `sha256` is empty, so that a run
    records its training data. Loading a changed file raises an error. Large arrays of bytes are memory-mapped.

    The array `images` is required. Its axes are (image, height, width), (image, height, width, channel) or (image,
    channel, height, width) with 1 or 3 channels. Its values are bytes, booleans, or floats in [0, 1], which are rounded
    to bytes. For an MLP with a Gaussian likelihood, the axes may also be (vector, number): vectors of any numbers,
    stored in single precision.

    Optional arrays:

    - `factors`: (image, factor). Integers are values of discrete factors, replaced by their rank among the distinct
      values of the column (3, 7, 7, -1 becomes 1, 2, 2, 0). Floats are values of continuous factors.
    - `factor_names`: one per column. `factor_ordered`: False for a categorical column. `factor_known`: (image, factor),
      False where a label is missing.
    - `factor:NAME`, `category:NAME` (categorical) and `known:NAME`: one factor each, instead of a table. Files of codes
      use the same names.
    - `weights`: sampling weights of the images, normalized to sum to one.

    Examples:
        >>> import numpy as np
        >>> data = FromArrays.from_arrays(np.zeros((10, 16, 16)), factors={"digit": np.arange(10)})
        >>> data.num_images, data.image_shape, data.factors[0].name
        (10, (1, 16, 16), 'digit')
    """

    origin: ClassVar = "read"

    path: str
    """Path of an .npz with the array `images`, and optional factors and weights."""
    sha256: str = ""
    """SHA-256 of the file; computed on construction if empty."""
    name: str = ""
    """Name of the data, for titles of reports."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.path:
            raise SpecError("FromArrays: path is ''; expected an .npz file. Or pass arrays to FromArrays.from_arrays.")
        object.__setattr__(self, "path", files.absolute(self.path))
        sha256 = file_stamps.sha256_or_empty(self.sha256, Path(self.path), "FromArrays")
        object.__setattr__(self, "sha256", sha256)

    @classmethod
    def from_arrays(
        cls,
        images: np.ndarray | Tensor,
        factors: Any = None,
        *,
        factor_names: Sequence[str] | None = None,
        missing: Marks = None,
        unordered: Sequence[str] = (),
        weights: np.ndarray | Tensor | None = None,
        name: str = "",
    ) -> "FromArrays":
        """Creates a dataset from arrays. Checks the arrays and saves them in the cache, so that runs can resume.

        Args:
            images: The images, with the axes and types of the array `images` of a file.
            factors: A table, or a mapping, a DataFrame or a structured array with columns of integers (discrete),
                floats (continuous) or strings (categorical), as for `Codes.from_arrays`. Masked labels (numpy.ma)
                and null labels of a DataFrame are missing.
            factor_names: The names of the columns of a table.
            missing: The value that marks missing labels, or a mapping from factor names to such values.
            unordered: The names of additional categorical factors.
            weights: The sampling weight of each image.
            name: The name of the data in titles of reports.
        """
        pixels = _as_stored(plain_array("images", images))
        _channels_first_shape(pixels.shape)
        arrays = {"images": pixels}
        arrays |= _factor_arrays(factors, factor_names, missing, unordered)
        if weights is not None:
            arrays["weights"] = plain_array("weights", weights)
        labels_in(arrays, len(pixels))
        probabilities_in(arrays, len(pixels))
        # Named by the checksum, so that equal arrays are stored once.
        return cls(*file_stamps.keep(lambda stream: np.savez(stream, **cast(Any, arrays)), "arrays", ".npz"), name)

    @property
    def factors(self) -> tuple[Factor, ...]:
        return labels_in(self._read_labels(), self.num_images)[1]

    @property
    def num_images(self) -> int:
        return self._shape[0]

    @property
    def image_shape(self) -> tuple[int, int, int]:
        return self._shape[1:]

    def open(self, *, verify: bool = False) -> FactorImages:
        """Returns the images. Large, uncompressed arrays of bytes are memory-mapped.

        The checksum of a large file is computed again only if the file was modified, or with `verify`.
        """
        path = self._file.path
        if self.sha256 and path.is_file():
            file_stamps.check_expected(path, file_stamps.known_sha256(path, anew=verify), self.sha256)
        pixels = self._pixels()
        labels, factors = labels_in(self._read_labels(), len(pixels))
        weights = probabilities_in(self._read(["weights"]), len(pixels))
        return FactorImages(pixels, labels, factors, None if weights is None else torch.from_numpy(weights))

    @property
    def _file(self) -> Npz:
        return Npz(Path(self.path))

    @property
    def holds_vectors(self) -> bool:
        return len(self._file.header("images").shape) == 2

    def _pixels(self) -> Raw | Pixels:
        header = self._file.header("images")
        shape = _channels_first_shape(header.shape)
        is_plain = header.dtype == np.uint8 and not header.is_fortran_ordered
        mapped = self._file.mapped("images") if is_plain and header.num_bytes >= _MAPPED_FROM_BYTES else None
        if mapped is None or len(header.shape) == 2:
            return torch.from_numpy(_channels_first(_as_stored(self._file.read("images"))))
        images = torch.from_numpy(_checked_brightness(mapped))
        return ChannelsLast(images) if _are_channels_last(header.shape) else images.reshape(shape)

    @property
    def _shape(self) -> tuple[int, int, int, int]:
        return _channels_first_shape(self._file.header("images").shape)

    def _read_labels(self) -> dict[str, np.ndarray]:
        return self._read(name for name in self._file.names if is_label(name))

    def _read(self, names: Iterable[str]) -> dict[str, np.ndarray]:
        return {name: self._file.read(name) for name in names if name in self._file}


def _factor_arrays(
    factors: Any, names: Sequence[str] | None, missing: Marks, unordered: Sequence[str]
) -> dict[str, np.ndarray]:
    """Converts factors to named arrays: a plain table to one array, other types to one array per factor."""
    if factors is None:
        given = {"factor_names": names is not None, "missing": missing is not None, "unordered": len(unordered) > 0}
        if stray := [name for name, is_given in given.items() if is_given]:
            raise DataError(f"Got {stray[0]} without factors. Pass factors too, or omit {stray[0]}.")
        return {}
    arrays: dict[str, np.ndarray] = {} if names is None else {"factor_names": np.array(names, dtype=np.str_)}
    are_words = not isinstance(factors, Tensor) and np.asarray(factors).dtype.kind in "US"
    if has_names(factors) or missing is not None or are_words:
        return as_arrays(factors, names, missing=missing, unordered=unordered)
    if is_masked(factors):
        factors, arrays["factor_known"] = np.ma.getdata(factors), ~np.ma.getmaskarray(factors)
    arrays["factors"] = plain_array("factors", factors)
    if unordered:
        arrays["factor_ordered"] = ordered_flags(arrays, unordered)
    return arrays


def unlabeled(images: np.ndarray | Tensor) -> FactorImages:
    """Converts arrays to images on the CPU, with the checks of `FromArrays` and without a file in the cache."""
    pixels = torch.from_numpy(_channels_first(_as_stored(plain_array("images", images))))
    return FactorImages(pixels, (), ())


def _as_stored(images: np.ndarray) -> np.ndarray:
    """Converts images to bytes, or vectors (two axes) to floats."""
    if images.ndim == 2 and images.size and images.dtype.kind in "biuf":
        return _as_vectors(images)
    return _checked_brightness(as_bytes(images))


def _as_vectors(vectors: np.ndarray) -> Float32[np.ndarray, "image number"]:
    with np.errstate(over="ignore"):  # numbers beyond single precision raise an error below
        found = vectors.astype(np.float32)
    if num_bad := int((~np.isfinite(found)).any(axis=1).sum()):
        raise DataError(
            f"{num_bad} of {len(found)} vectors contain NaN, infinity or a number beyond single precision; expected "
            "finite numbers. Drop these vectors. (Pass a single image as images[None].)"
        )
    return found


def as_bytes(images: np.ndarray) -> np.ndarray:
    """Converts booleans or floats in [0, 1] to bytes in the same layout. Returns bytes unchanged."""
    if images.size == 0:
        raise DataError(f"images has shape {images.shape}; expected at least one image and one pixel. Add images.")
    if images.dtype == np.uint8:
        return images
    if images.dtype == np.bool_:
        return images.astype(np.uint8) * np.uint8(255)
    if images.dtype.kind != "f":
        raise DataError(
            f"images has dtype {images.dtype}; expected uint8 from 0 to 255, floats from 0 to 1, or booleans. Convert "
            "images, or read an .npz file with FromArrays(path)."
        )
    _check_unit_interval(images)
    converted = np.empty(images.shape, dtype=np.uint8)
    for start in range(0, len(images), _IMAGES_AT_ONCE):
        block = slice(start, start + _IMAGES_AT_ONCE)
        converted[block] = np.rint(images[block].astype(np.float64) * 255)
    return converted


def _checked_brightness(images: np.ndarray) -> np.ndarray:
    most = 0
    # The first images of most datasets have bright pixels, so that the other images need not be read.
    for start in range(0, len(images), _IMAGES_AT_ONCE):
        if (most := max(most, int(images[start : start + _IMAGES_AT_ONCE].max()))) > 1:
            return images
    if most == 1:
        raise DataError("images has values up to 1; expected bytes up to 255. Multiply by 255, or pass booleans.")
    return images


def _check_unit_interval(images: np.ndarray) -> None:
    least, most = float(images.min()), float(images.max())
    if np.isnan(least):
        raise DataError(
            f"images has {int(np.isnan(images).sum())} NaN values; expected floats from 0 to 1. Drop these images."
        )
    if least < 0 or most > 1:
        fix = "Convert images with .astype(np.uint8)" if least >= 0 and 1 < most <= 255 else "Rescale images"
        raise DataError(f"images has floats from {least:g} to {most:g}; expected 0 to 1. {fix}.")


def _channels_first_shape(shape: tuple[int, ...]) -> tuple[int, int, int, int]:
    """Converts the shape of an array of images to (image, channel, height, width). A vector becomes one row."""
    if len(shape) == 2:
        return shape[0], 1, 1, shape[1]
    if len(shape) == 3:
        return shape[0], 1, shape[1], shape[2]
    channels_first, channels_last = (shape[1] in (1, 3), shape[3] in (1, 3)) if len(shape) == 4 else (False, False)
    if channels_first and channels_last:
        raise DataError(
            f"images has shape {shape}; expected channels on only one of the second and the last axis. Remove an axis "
            "of length 1, or pad the images."
        )
    if channels_first:
        return shape[0], shape[1], shape[2], shape[3]
    if channels_last:
        return shape[0], shape[3], shape[1], shape[2]
    raise DataError(
        f"images has shape {shape}; expected (image, height, width), (image, height, width, channel) or (image, "
        "channel, height, width) with 1 or 3 channels, or (vector, number). Reshape images."
    )


def _channels_first(images: np.ndarray) -> np.ndarray:
    shape = _channels_first_shape(images.shape)
    return np.ascontiguousarray(
        np.moveaxis(images, 3, 1) if _are_channels_last(images.shape) else images.reshape(shape)
    )


def _are_channels_last(shape: tuple[int, ...]) -> bool:
    return len(shape) == 4 and _channels_first_shape(shape) != shape
