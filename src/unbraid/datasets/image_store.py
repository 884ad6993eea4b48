"""Cache of images as bytes or bits in one file, written once by one process and then memory-mapped.

A store is a folder with the plain arrays `images.npy` and `factors.npy`, and `record.json`, which is written last and
contains its own checksum. During the write, `images.part` grows block by block, and `progress.json` records the
flushed length. An interrupted process resumes from this length.

Black-and-white images may be packed into bits: each row of an image is one 64-bit word, with bit c for column c.
"""

import contextlib
import hashlib
import io
import logging
import os
import time
import tokenize
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import IO, Any, Literal, cast, final

import numpy as np
import torch
from jaxtyping import Float, Int, UInt8, UInt64

from unbraid._internal import files
from unbraid._internal.progress import Event, emit
from unbraid.datasets.dataset import Factor, FactorImages
from unbraid.datasets.file_stamps import ALWAYS_VERIFIED_BYTES, read_sealed, writing_to_cache
from unbraid.datasets.pixels import Bitmaps
from unbraid.errors import DataError

log = logging.getLogger(__name__)

_FORMAT = 2
_NUM_SPOT_CHECKS = 16
_SECONDS_BETWEEN_SAVES = 5.0
# The length of NumPy's header, for every shape that fits into a file.
_HEADER_BYTES = 128


Blocks = Iterator[UInt8[np.ndarray, "block channel height width"] | UInt64[np.ndarray, "block row"]]
"""Iterator of blocks of a few hundred or thousand images, as bytes or as 64-bit words."""


@final
@dataclass(frozen=True)
class Plan:
    """Content of a store. Calling `blocks` computes the images.

    Args:
        image_shape: (channels, height, width).
        factor_table: The factors.
        factors: The factor values of each image.
        blocks: A function that returns the blocks of images from a given image number on.
        packing: The content of the blocks: bytes, or words of packed bits.
        facts: The origin of the images, stored in the record.
        made_from: Key of the content. An interrupted write resumes only if the key is equal. By default the facts.
    """

    image_shape: tuple[int, int, int]
    factor_table: tuple[Factor, ...]
    factors: Int[np.ndarray, "image factor"] | Float[np.ndarray, "image factor"]
    blocks: Callable[[int], Blocks]
    packing: Literal["bytes", "bits"] = "bytes"
    facts: Mapping[str, Any] = field(default_factory=dict)
    made_from: Any = None

    @property
    def array(self) -> np.ndarray:
        """Placeholder with the dtype and shape of all images, without memory for the images."""
        (channels, height, width), num_images = self.image_shape, len(self.factors)
        if self.packing == "bytes":
            return np.broadcast_to(np.uint8(0), (num_images, channels, height, width))
        return np.broadcast_to(np.zeros((), "<u8"), (num_images, height))


def sliced(images: UInt8[np.ndarray, "image channel height width"], start: int, images_per_block: int) -> Blocks:
    """Yields the images from number `start` on, in blocks."""
    for first in range(start, len(images), images_per_block):
        yield images[first : first + images_per_block]


@final
@dataclass(frozen=True)
class ImageStore:
    """Store of images in a folder, complete or incomplete."""

    folder: Path

    @property
    def record(self) -> dict[str, Any] | None:
        """Record of a complete store, or None if the record is missing, damaged or of another format."""
        content = read_sealed(self.folder / "record.json") or {}
        return content if content.get("format") == _FORMAT else None

    @property
    def factor_table(self) -> tuple[Factor, ...]:
        return tuple(Factor(**factor) for factor in (self.record or {}).get("factors", ()))

    @property
    def facts(self) -> dict[str, Any]:
        """Facts of the plan, read from the record."""
        return dict((self.record or {}).get("facts", {}))

    def note(self, facts: Mapping[str, Any]) -> None:
        """Replaces the facts in the record, if the folder is writable."""
        with contextlib.suppress(OSError):
            files.write_sealed(self.folder / "record.json", {**(self.record or {}), "facts": dict(facts)})

    def flaw(self, *, verify: bool = False) -> str | None:
        """Returns a description of the first flaw of the store, or None. `verify` adds the SHA-256 of large files."""
        if (record := self.record) is None:
            return "record.json is damaged" if (self.folder / "record.json").exists() else "the store is incomplete"
        try:
            for name, about in record["files"].items():
                path = self.folder / name
                if (found := path.stat().st_size) != about["bytes"]:
                    return f"{name} has {found} bytes; expected {about['bytes']}"
                if (verify or found <= ALWAYS_VERIFIED_BYTES) and files.sha256(path) != about["sha256"]:
                    return f"the SHA-256 of {name} differs from the recorded SHA-256"
            images = self._mapped("images.npy")
            if [images.dtype.str, *images.shape] != record["array"]:
                return f"images.npy has {images.dtype} of shape {images.shape}; expected {record['array']}"
            if len(factors := self._mapped("factors.npy")) != len(images):
                return f"factors.npy has {len(factors)} rows; expected {len(images)}"
            for row, checksum in record["spots"].items():
                if zlib.crc32(images[int(row)].tobytes()) != checksum:
                    return f"image {row} differs from its recorded checksum"
        # NumPy may raise many types of errors for a damaged header.
        except (OSError, ValueError, TypeError, SyntaxError, tokenize.TokenError) as error:
            return f"the store is damaged ({error})"
        return None

    def images(self) -> FactorImages:
        """Returns the images and factors of an intact store, memory-mapped on the CPU."""
        record = self.record
        images, factors = self._mapped("images.npy"), torch.from_numpy(self._mapped("factors.npy"))
        # A process that rewrites a store removes the record first, so images and factors belong to this record.
        if record is None or (self.record or {}).get("files") != record["files"]:
            raise DataError(f"Another process is rewriting {self.folder}. Wait until that process ends, and try again.")
        pixels = (
            torch.from_numpy(images) if images.dtype == np.uint8 else Bitmaps.from_words(images, record["shape"][-1])
        )
        return FactorImages.from_table(pixels, factors, tuple(Factor(**factor) for factor in record["factors"]))

    def make(self, plan: Plan, doing: str) -> None:
        """Writes all images of the plan, then the record. Resumes an interrupted write after the last saved image."""
        array = plan.array
        about = {"shape": [len(array), *plan.image_shape], "array": [array.dtype.str, *array.shape]}
        begun = {"made_from": dict(plan.facts) if plan.made_from is None else plan.made_from, **about}
        self.folder.mkdir(parents=True, exist_ok=True)
        (self.folder / "record.json").unlink(missing_ok=True)
        part = self.folder / "images.part"
        done = self._safe_images(begun, array)
        if not done:
            # Removed before the write: the old record becomes invalid, and a write would follow a symbolic link.
            (self.folder / "progress.json").unlink(missing_ok=True)
            part.unlink(missing_ok=True)
        with files.opened(part, "r+b" if done else "w+b") as stream:
            checksum = _write_images(stream, plan, done, lambda n: self._save_progress(stream, begun, n), doing)
        files.put_in_place(part, self.folder / "images.npy")
        with files.atomic_writer(self.folder / "factors.npy") as stream:
            np.save(stream, np.ascontiguousarray(plan.factors), allow_pickle=False)
        checksums = {"images.npy": checksum, "factors.npy": files.sha256(self.folder / "factors.npy")}
        images = self._mapped("images.npy")
        spots = np.unique(np.linspace(0, len(images) - 1, _NUM_SPOT_CHECKS).astype(int)).tolist()
        record = {
            "format": _FORMAT,
            **about,
            "factors": [asdict(factor) for factor in plan.factor_table],
            "files": {
                name: {"bytes": (self.folder / name).stat().st_size, "sha256": sha256}
                for name, sha256 in checksums.items()
            },
            "spots": {str(row): zlib.crc32(images[row].tobytes()) for row in spots},
            "facts": dict(plan.facts),
        }
        files.write_sealed(self.folder / "record.json", record)
        (self.folder / "progress.json").unlink(missing_ok=True)

    def ensure(
        self,
        planned: Callable[[], Plan],
        doing: str,
        *,
        verify: bool = False,
        flaw: Callable[[], str | None] | None = None,
    ) -> FactorImages:
        """Returns the images. If `flaw`, by default the method, returns a flaw, one process first writes the store."""
        flaw = flaw or (lambda: self.flaw(verify=verify))
        if flaw() is not None:
            with (
                writing_to_cache(self.folder),
                files.locked(self.folder / ".lock", wait=True, purpose=doing),
            ):
                # Another process may have written the store while this process waited for the lock.
                if (found := flaw()) is not None:
                    log.info("%s, into %s (%s).", doing[0].upper() + doing[1:], self.folder, found)
                    self.make(planned(), doing)
        return self.images()

    def _safe_images(self, begun: Mapping[str, Any], array: np.ndarray) -> int:
        """Returns the number of images that an interrupted write of the same plan has saved."""
        content = read_sealed(self.folder / "progress.json") or {}
        done = content.pop("done", 0)
        part = self.folder / "images.part"
        if content != begun or type(done) is not int or not 0 < done <= len(array) or not part.is_file():
            return 0
        return done if part.stat().st_size >= _HEADER_BYTES + done * array[0].nbytes else 0

    def _save_progress(self, stream: IO[bytes], begun: Mapping[str, Any], done: int) -> None:
        stream.flush()
        os.fsync(stream.fileno())
        files.write_sealed(self.folder / "progress.json", {**begun, "done": done})

    def _mapped(self, name: str) -> np.ndarray:
        # Copy on write: the file is not changed, and torch accepts the array without a warning.
        return cast(np.ndarray, np.load(files.regular(self.folder / name), mmap_mode="c", allow_pickle=False))


def _write_images(stream: IO[bytes], plan: Plan, done: int, save: Callable[[int], None], doing: str) -> str:
    """Appends the images from number `done` on to the file, and returns the SHA-256 of the whole file."""
    digest, array = hashlib.sha256(), plan.array
    if done:
        log.info("Resuming at image %s of %s in %s.", f"{done:,}", f"{len(array):,}", stream.name)
        stream.truncate(_HEADER_BYTES + done * array[0].nbytes)
        while chunk := stream.read(2**22):
            digest.update(chunk)
    else:
        header = _header(array)
        stream.write(header)
        digest.update(header)
    saved = time.monotonic()
    for block in plan.blocks(done):
        if block.dtype != array.dtype or block.shape[1:] != array.shape[1:] or done + len(block) > len(array):
            raise DataError(
                f"The block after image {done} has {block.dtype} of shape {block.shape}; expected {array.dtype}, and "
                f"{array.shape} in total. Check `blocks` of the plan."
            )
        content = np.ascontiguousarray(block).tobytes()
        stream.write(content)
        digest.update(content)
        done += len(block)
        emit(Event(doing, done, len(array), "images"))
        if time.monotonic() - saved > _SECONDS_BETWEEN_SAVES:
            save(done)
            saved = time.monotonic()
    if done != len(array):
        raise DataError(f"The source has {done} images; expected {len(array)}. Fetch or save the source again.")
    save(done)
    return digest.hexdigest()


def _header(array: np.ndarray) -> bytes:
    stream = io.BytesIO()
    about = {"descr": array.dtype.str, "fortran_order": False, "shape": array.shape}
    np.lib.format.write_array_header_1_0(stream, about)
    return stream.getvalue()
