"""Images with or without factors from arrays, stored in an `.npz`."""

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
# Fewer bytes are read into memory, where a file that is written again while they are in use cannot change them.
_MAPPED_FROM_BYTES = 2**28


@final
@dataclass(frozen=True)
class FromArrays(FactorDataset):
    """Images from an `.npz` of plain arrays. `sha256` is the checksum of the whole file.

    On construction, the path becomes absolute, and a missing checksum is computed, so that a run records its training
    data. Loading a file that has changed since raises an error. Large arrays of bytes stay in the file, memory-mapped.

    The array `images` is required. Its axes are (image, height, width), (image, height, width, channel) or (image,
    channel, height, width) with 1 or 3 channels. It holds bytes, booleans, or floats in [0, 1], which are rounded to
    bytes. For an MLP with a Gaussian likelihood, the axes may also be (vector, number): vectors of any numbers, kept in
    single precision.

    Optional arrays:

    - `factors`: (image, factor). Integers are values of discrete factors, replaced by their rank among the values that
      occur in their column (so 3, 7, 7, -1 becomes 1, 2, 2, 0); floats are values of continuous factors.
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
            raise SpecError("FromArrays: path is empty; name an .npz file, or hand arrays to FromArrays.from_arrays.")
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
        """Checks the arrays, saves them in the cache, so that runs can resume, and returns their config.

        Args:
            images: The array `images` of the file.
            factors: A table, or a mapping, a DataFrame or a structured array with columns of integers (discrete),
                floats (continuous) or words (categorical), as for `Codes.from_arrays`. Masked labels (numpy.ma)
                and null labels of a DataFrame are missing.
            factor_names: The names of the columns of a table.
            missing: The value that marks missing labels, or a mapping from factor names to these values.
            unordered: The names of additional categorical factors.
            weights: The array `weights` of the file.
            name: A name of the data, for titles of reports.
        """
        pixels = _as_stored(plain_array("images", images))
        _channels_first_shape(pixels.shape)
        arrays = {"images": pixels}
        arrays |= _factor_arrays(factors, factor_names, missing, unordered)
        if weights is not None:
            arrays["weights"] = plain_array("weights", weights)
        labels_in(arrays, len(pixels))
        probabilities_in(arrays, len(pixels))
        # Named by its checksum, so equal arrays are kept once.
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
        """Returns the images. Large arrays of bytes stay in the file, memory-mapped, unless they are compressed.

        The checksum of a large file is only recomputed if the file was modified, or with `verify`.
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
    """Returns the factors as named arrays: a plain table unchanged, other forms as one array per factor."""
    if factors is None:
        given = {"factor_names": names is not None, "missing": missing is not None, "unordered": len(unordered) > 0}
        if stray := [name for name, is_given in given.items() if is_given]:
            raise DataError(f"{stray[0]} is given without factors. Give the factors too, or leave it out.")
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
    """Returns images on the CPU, checked and converted as in `FromArrays`, without writing to the cache."""
    pixels = torch.from_numpy(_channels_first(_as_stored(plain_array("images", images))))
    return FactorImages(pixels, (), ())


def _as_stored(images: np.ndarray) -> np.ndarray:
    """Converts images to bytes, or vectors (two axes) to floats."""
    if images.ndim == 2 and images.size and images.dtype.kind in "biuf":
        return _as_vectors(images)
    return _checked_brightness(as_bytes(images))


def _as_vectors(vectors: np.ndarray) -> Float32[np.ndarray, "image number"]:
    with np.errstate(over="ignore"):  # numbers beyond single precision raise below
        found = vectors.astype(np.float32)
    if num_bad := int((~np.isfinite(found)).any(axis=1).sum()):
        raise DataError(
            f"{num_bad} of {len(found)} vectors hold NaN, infinity or a number beyond single precision; drop or fill "
            "them. (A single image is images[None].)"
        )
    return found


def as_bytes(images: np.ndarray) -> np.ndarray:
    """Converts booleans or floats in [0, 1] to bytes in the same layout. Returns bytes unchanged."""
    if images.size == 0:
        raise DataError(f"images has shape {images.shape}; give at least one image of at least one pixel.")
    if images.dtype == np.uint8:
        return images
    if images.dtype == np.bool_:
        return images.astype(np.uint8) * np.uint8(255)
    if images.dtype.kind != "f":
        raise DataError(
            f"images holds {images.dtype}; give uint8 from 0 to 255, floats from 0 to 1, or booleans. "
            "FromArrays(path) reads an .npz file."
        )
    _check_unit_interval(images)
    converted = np.empty(images.shape, dtype=np.uint8)
    for start in range(0, len(images), _IMAGES_AT_ONCE):
        block = slice(start, start + _IMAGES_AT_ONCE)
        converted[block] = np.rint(images[block].astype(np.float64) * 255)
    return converted


def _checked_brightness(images: np.ndarray) -> np.ndarray:
    most = 0
    # Most sets are bright enough in their first images, and the others need not be read.
    for start in range(0, len(images), _IMAGES_AT_ONCE):
        if (most := max(most, int(images[start : start + _IMAGES_AT_ONCE].max()))) > 1:
            return images
    if most == 1:
        raise DataError("images is at most 1 where 255 is white: nearly black. Multiply by 255, or give booleans.")
    return images


def _check_unit_interval(images: np.ndarray) -> None:
    least, most = float(images.min()), float(images.max())
    if np.isnan(least):
        raise DataError(
            f"images has {int(np.isnan(images).sum())} values that are NaN; find what made them, or drop those images."
        )
    if least < 0 or most > 1:
        fix = "convert with .astype(np.uint8)" if least >= 0 and 1 < most <= 255 else "rescale them"
        raise DataError(
            f"images holds floats from {least:g} to {most:g}; expected 0 to 1. If they are on another scale, {fix}."
        )


def _channels_first_shape(shape: tuple[int, ...]) -> tuple[int, int, int, int]:
    """Converts the shape of an array of images to (image, channel, height, width). A vector is one row."""
    if len(shape) == 2:
        return shape[0], 1, 1, shape[1]
    if len(shape) == 3:
        return shape[0], 1, shape[1], shape[2]
    channels_first, channels_last = (shape[1] in (1, 3), shape[3] in (1, 3)) if len(shape) == 4 else (False, False)
    if channels_first and channels_last:
        raise DataError(
            f"images has shape {shape}, where the channels could be the second or the last axis. Leave out an axis of "
            "one channel, or pad the images."
        )
    if channels_first:
        return shape[0], shape[1], shape[2], shape[3]
    if channels_last:
        return shape[0], shape[3], shape[1], shape[2]
    raise DataError(
        f"images has shape {shape}; expected (image, height, width), (image, height, width, channel) or (image, "
        "channel, height, width) with 1 or 3 channels, or (vector, number)."
    )


def _channels_first(images: np.ndarray) -> np.ndarray:
    shape = _channels_first_shape(images.shape)
    return np.ascontiguousarray(
        np.moveaxis(images, 3, 1) if _are_channels_last(images.shape) else images.reshape(shape)
    )


def _are_channels_last(shape: tuple[int, ...]) -> bool:
    return len(shape) == 4 and _channels_first_shape(shape) != shape
