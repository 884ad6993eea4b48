"""A user's own images, with or without factors, from an `.npz`."""

import hashlib
import io
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, ClassVar, cast, final

import numpy as np
import torch
from jaxtyping import Float32
from torch import Tensor

from unbraid._internal import files
from unbraid._internal.arrays import is_masked
from unbraid._internal.npz import Npz
from unbraid.codes.conversions import has_names
from unbraid.codes.labels import Marks
from unbraid.datasets.dataset import Factor, FactorDataset, FactorImages
from unbraid.datasets.file_stamps import known_sha256
from unbraid.datasets.pixels import ChannelsLast, Pixels, Raw
from unbraid.datasets.user.array_labels import as_arrays, is_label, labels_in, ordered_flags, probabilities_in
from unbraid.errors import DataError, SpecError

_IMAGES_AT_ONCE = 4096
# Fewer bytes are read into memory, where a file that is written again while they are in use cannot change them.
_MAPPED_FROM_BYTES = 2**28


@final
@dataclass(frozen=True)
class FromArrays(FactorDataset):
    """Images of your own. `path` is an `.npz` of plain arrays; `sha256` is the checksum of the whole file.

    Both are filled in when the config is made: the path becomes absolute, and a checksum that is not given is taken
    from the file, so that a run names what it was trained on. Loading refuses a file that has changed since. Images
    that are many stay in the file, memory-mapped.

    `images`: (image, height, width), (image, height, width, channel) or (image, channel, height, width) with 1 or 3
    channels; bytes, booleans, or floats in [0, 1], which are rounded to bytes. Or (vector, number): vectors of any
    numbers, kept as they are in single precision, for an MLP and a Gaussian likelihood.

    All else may be absent. `factors`: (image, factor). Integers are values of discrete factors, replaced by their rank
    among the values that occur in their column (so 3, 7, 7, -1 becomes 1, 2, 2, 0); floats are measurements of
    continuous ones. `factor_names`: one a column. `factor_ordered`: False for a column whose values are unordered (then
    metrics do not rank it). `factor_known`: (image, factor), False where a label is missing. In place of a table,
    `factor:NAME`, `category:NAME` (unordered values) and `known:NAME` hold a factor each, as in files of codes.
    `weights`: how likely each image is to be drawn; scaled to sum to one.

    Examples:
        >>> import numpy as np
        >>> data = FromArrays.from_arrays(np.zeros((10, 16, 16)), factors={"digit": np.arange(10)})
        >>> data.num_images, data.image_shape, data.factors[0].name
        (10, (1, 16, 16), 'digit')
    """

    origin: ClassVar = "read"

    path: str
    """An .npz with the array `images`, and factors and weights if there are any."""
    sha256: str = ""
    """Checksum of what was read when the config was made; filled in."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.path:
            raise SpecError("FromArrays: path is empty; name an .npz file, or hand arrays to FromArrays.from_arrays.")
        if self.sha256 and not re.fullmatch("[0-9a-f]{64}", self.sha256):
            raise SpecError(
                f"FromArrays: sha256 is {self.sha256!r}; give 64 lower-case hexadecimal digits, or leave it out."
            )
        object.__setattr__(self, "path", files.absolute(self.path))
        object.__setattr__(self, "sha256", self.sha256 or _checksum(Path(self.path)))

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
    ) -> "FromArrays":
        """Returns the config for these arrays: they are checked, and kept in the cache under their checksum, so that a
        run can be resumed.

        `factors` are what `Codes.from_arrays` takes: a table, whose columns `factor_names` names; or a mapping, a
        DataFrame or a structured array, in which integers (values), floats (measurements) and words may mix.
        `unordered` names factors whose values are unordered. Labels that are masked (numpy.ma), that a DataFrame does
        not have, or that are `missing`, are missing labels.
        """
        pixels = _as_stored(_plain("images", images))
        _channels_first_shape(pixels.shape)
        arrays = {"images": pixels}
        arrays |= _factor_arrays(factors, factor_names, missing, unordered)
        if weights is not None:
            arrays["weights"] = _plain("weights", weights)
        labels_in(arrays, len(pixels))
        probabilities_in(arrays, len(pixels))
        return cls(*_kept(arrays))

    @property
    def factors(self) -> tuple[Factor, ...]:
        return labels_in(self._read_labels(), self.num_images)[1]

    @property
    def num_images(self) -> int:
        return self._image_header_shape()[0]

    @property
    def image_shape(self) -> tuple[int, int, int]:
        return _channels_first_shape(self._image_header_shape())[1:]

    def open(self, *, verify: bool = False) -> FactorImages:
        """Returns the images. Many bytes that are not compressed stay in the file, memory-mapped; all else is read.

        The checksum of a large file that has not been written since it was last taken is believed, unless `verify` asks
        for it anew.
        """
        path = self._file.path
        if self.sha256 and path.is_file() and (found := known_sha256(path, anew=verify)) != self.sha256:
            raise DataError(
                f"{path} has SHA-256 {found}, but the config expects {self.sha256}: the file was changed or damaged. "
                "Restore it, or make a new config from the new file."
            )
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
        images = torch.from_numpy(_checked_for_light(mapped))
        return ChannelsLast(images) if _are_channels_last(header.shape) else images.reshape(shape)

    def _image_header_shape(self) -> tuple[int, ...]:
        shape = self._file.header("images").shape
        return (_channels_first_shape(shape)[0], *shape[1:])

    def _read_labels(self) -> dict[str, np.ndarray]:
        return self._read(name for name in self._file.names if is_label(name))

    def _read(self, names: Iterable[str]) -> dict[str, np.ndarray]:
        return {name: self._file.read(name) for name in names if name in self._file}


def _factor_arrays(
    factors: Any, names: Sequence[str] | None, missing: Marks, unordered: Sequence[str]
) -> dict[str, np.ndarray]:
    """Returns the factors as the file holds them: a table as it is, and what has types or missing labels of its own by
    name.
    """
    arrays: dict[str, np.ndarray] = {} if names is None else {"factor_names": np.array(names, dtype=np.str_)}
    if factors is None:
        return arrays
    if has_names(factors) or missing is not None or _are_words(factors):
        return as_arrays(factors, names, missing=missing, unordered=unordered)
    if is_masked(factors):
        factors, arrays["factor_known"] = np.ma.getdata(factors), ~np.ma.getmaskarray(factors)
    arrays["factors"] = _plain("factors", factors)
    if unordered:
        arrays["factor_ordered"] = ordered_flags(arrays, unordered)
    return arrays


def _are_words(factors: Any) -> bool:
    return not isinstance(factors, Tensor) and np.asarray(factors).dtype.kind in "US"


def unlabeled(images: np.ndarray | Tensor) -> FactorImages:
    """Returns given images, checked and laid out as `FromArrays` does, on the CPU. Nothing is written."""
    pixels = torch.from_numpy(_channels_first(_as_stored(_plain("images", images))))
    return FactorImages(pixels, (), ())


def _checksum(path: Path) -> str:
    """Returns the checksum, empty where no file can be read: loading raises the error."""
    try:
        return known_sha256(path) if path.is_file() else ""
    except OSError:
        return ""


def _kept(arrays: dict[str, np.ndarray]) -> tuple[str, str]:
    """Returns the path and SHA-256 of the arrays in the cache. The file is named by its checksum, so equal arrays are
    kept once.
    """
    dry_run = HashedStream(None)
    np.savez(cast(IO[bytes], dry_run), **cast(dict[str, Any], arrays))
    path = files.cache_folder() / "arrays" / f"{dry_run.sha256}.npz"
    if not path.is_file() or files.sha256(path) != dry_run.sha256:
        try:
            with files.atomic_writer(path) as stream:
                np.savez(cast(IO[bytes], HashedStream(stream)), **cast(dict[str, Any], arrays))
        except OSError as error:
            raise DataError(
                f"Could not keep the arrays in {path} ({error.strerror or error}). "
                "Set UNBRAID_CACHE to a folder that you may write to and that has the room."
            ) from error
    return str(path), dry_run.sha256


def _plain(name: str, values: np.ndarray | Tensor) -> np.ndarray:
    if isinstance(values, Tensor):
        values = values.detach().cpu()
        # NumPy knows no bfloat16.
        array = (values.float() if values.dtype == torch.bfloat16 else values).numpy()
    elif is_masked(values):
        raise DataError(f"{name} has masked entries; drop the images that have one, or fill them.")
    else:
        try:
            array = np.asarray(values)
        except ValueError:
            raise DataError(f"{name} is a list whose entries differ in shape. Give all of them one shape.") from None
    if array.dtype.hasobject:
        raise DataError(
            f"{name} is an array of Python objects; give numbers of one type (a ragged list does not make an array)."
        )
    return array


def _as_stored(images: np.ndarray) -> np.ndarray:
    """Returns bytes of images or, where there are two axes, vectors of floats."""
    if images.size == 0:
        raise DataError(f"images has shape {images.shape}; give at least one image of at least one pixel.")
    return _as_vectors(images) if images.ndim == 2 and images.dtype.kind in "biuf" else _as_bytes(images)


def _as_vectors(vectors: np.ndarray) -> Float32[np.ndarray, "image number"]:
    with np.errstate(over="ignore"):  # what is beyond single precision raises below
        found = vectors.astype(np.float32)
    if num_bad := int((~np.isfinite(found)).any(axis=1).sum()):
        raise DataError(
            f"{num_bad} of {len(found)} vectors hold NaN, infinity or a number beyond single precision; drop or fill "
            "them. (An array of two axes is taken as vectors: one image alone is images[None].)"
        )
    return found


def _as_bytes(images: np.ndarray) -> np.ndarray:
    """Returns bytes from bytes, booleans or floats in [0, 1], in the same layout."""
    if images.dtype == np.bool_:
        return images.astype(np.uint8) * np.uint8(255)
    if images.dtype == np.uint8:
        return _checked_for_light(images)
    if images.dtype.kind == "U":
        raise DataError(
            "images is text; give uint8 from 0 to 255, floats from 0 to 1, or booleans. FromArrays(path) reads an .npz "
            "file, FromFolder(path) a folder of pictures."
        )
    if not np.issubdtype(images.dtype, np.floating):
        raise DataError(f"images holds {images.dtype}; give uint8 from 0 to 255, floats from 0 to 1, or booleans.")
    _check_unit_interval(images)
    as_bytes = np.empty(images.shape, dtype=np.uint8)
    for start in range(0, len(images), _IMAGES_AT_ONCE):
        block = slice(start, start + _IMAGES_AT_ONCE)
        as_bytes[block] = np.rint(images[block].astype(np.float64) * 255)
    return _checked_for_light(as_bytes)


def _checked_for_light(images: np.ndarray) -> np.ndarray:
    most = 0
    # Most sets are bright enough in their first images, and the others need not be looked at.
    for start in range(0, len(images), _IMAGES_AT_ONCE):
        if (most := max(most, int(images[start : start + _IMAGES_AT_ONCE].max()))) > 1:
            return images
    if most == 1:
        raise DataError(
            "images is at most 1 where 255 is white: nearly black. If it holds 0 and 1, multiply by 255 or give "
            "booleans."
        )
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
    """Returns (image, channel, height, width) of an array of images of this shape; a vector is one row."""
    if len(shape) == 2:
        return shape[0], 1, 1, shape[1]
    if len(shape) == 3:
        return shape[0], 1, shape[1], shape[2]
    channels_first, channels_last = (shape[1] in (1, 3), shape[3] in (1, 3)) if len(shape) == 4 else (False, False)
    if channels_first and channels_last:
        raise DataError(
            f"images has shape {shape}, where the channels could be the second or the last axis. Leave the channel "
            "axis out if there is one channel; else pad the images until only one of the two axes has length 1 or 3."
        )
    if channels_first:
        return shape[0], shape[1], shape[2], shape[3]
    if channels_last:
        return shape[0], shape[3], shape[1], shape[2]
    raise DataError(
        f"images has shape {shape}; expected (image, height, width), (image, height, width, channel) or (image, "
        "channel, height, width) with 1 or 3 channels, or (vector, number). Transpose or reshape it."
    )


def _channels_first(images: np.ndarray) -> np.ndarray:
    shape = _channels_first_shape(images.shape)
    return np.ascontiguousarray(
        np.moveaxis(images, 3, 1) if _are_channels_last(images.shape) else images.reshape(shape)
    )


def _are_channels_last(shape: tuple[int, ...]) -> bool:
    return len(shape) == 4 and _channels_first_shape(shape) != shape


@final
class HashedStream(io.RawIOBase):
    """Passes what is written on to `stream` (or nowhere) and keeps the SHA-256 of it.

    It cannot seek, on purpose: a writer that went back to patch an earlier byte would make the checksum wrong.
    """

    def __init__(self, stream: IO[bytes] | None) -> None:
        super().__init__()
        self._stream = stream
        self._digest = hashlib.sha256()

    def writable(self) -> bool:
        return True

    def write(self, content: bytes | bytearray | memoryview) -> int:  # type: ignore[override]
        self._digest.update(content)
        if self._stream is not None:
            self._stream.write(content)
        return len(content)

    @property
    def sha256(self) -> str:
        return self._digest.hexdigest()
