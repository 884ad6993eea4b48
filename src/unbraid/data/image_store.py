"""Images as bytes in one file: made once, by one process at a time, and opened without reading them.

A store is a folder: `images.npy` and `factors.npy`, plain arrays, and `record.json`, which is written last: a store
without a record was never finished, and a record that does not match its own checksum is not believed. While it is
being made, `images.part` grows block by block and `progress.json` says how much of it is safe, so that an interrupted
making goes on where it stopped.
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
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO, Any, cast, final

import numpy as np
import torch
from jaxtyping import Float, Int, UInt8

from unbraid import files
from unbraid.data import progress
from unbraid.data.bitmaps import ALWAYS_VERIFIED_BYTES
from unbraid.data.dataset import Factor, FactorImages
from unbraid.errors import DataError

log = logging.getLogger(__name__)

_FORMAT = 1
_NUM_SPOT_CHECKS = 16
_SECONDS_BETWEEN_SAVES = 5.0
# Fixed, so that the length of the header does not depend on NumPy.
_HEADER_BYTES = 128


@final
@dataclass(frozen=True)
class Plan:
    """What making a store will give. Cheap to have: the images are made when `blocks` is called.

    `blocks(start)` yields the images from number `start` on, in order, a few hundred or thousand at a time.
    """

    image_shape: tuple[int, int, int]
    factor_table: tuple[Factor, ...]
    factors: Int[np.ndarray, "image factor"] | Float[np.ndarray, "image factor"]
    blocks: Callable[[int], Iterator[UInt8[np.ndarray, "block channel height width"]]]


@final
@dataclass(frozen=True)
class ImageStore:
    """The store in this folder, finished or not."""

    folder: Path

    @property
    def record(self) -> dict[str, Any] | None:
        """What was written down when the store was finished; None if it never was, in another format, or damaged."""
        content = _read_record(self.folder / "record.json")
        return content if content.get("format") == _FORMAT else None

    @property
    def factor_table(self) -> tuple[Factor, ...]:
        return tuple(Factor(**factor) for factor in (self.record or {}).get("factors", ()))

    @property
    def facts(self) -> dict[str, Any]:
        """What the images were made from, as whoever made them put it."""
        return dict((self.record or {}).get("facts", {}))

    @property
    def _finished_files(self) -> Any:
        return (self.record or {}).get("files")

    def note(self, facts: Mapping[str, Any]) -> None:
        """Put the facts differently. A folder that cannot be written to keeps the old ones."""
        with contextlib.suppress(OSError):
            files.write_sealed(self.folder / "record.json", {**(self.record or {}), "facts": dict(facts)})

    def flaw(self, *, verify: bool = False) -> str | None:
        """What is wrong with the store, or None. `verify` takes the checksums of all of it, as is always done for small
        ones.
        """
        if (record := self.record) is None:
            return "its record.json is damaged" if (self.folder / "record.json").exists() else "it was never finished"
        try:
            for name, about in record["files"].items():
                if flaw := _file_flaw(self.folder / name, about, verify):
                    return flaw
            images = self._mapped("images.npy")
            if list(images.shape) != record["shape"] or images.dtype != np.uint8:
                return (
                    f"images.npy holds {images.dtype} of shape {images.shape}, not uint8 of shape "
                    f"{tuple(record['shape'])}"
                )
            if len(factors := self._mapped("factors.npy")) != len(images):
                return f"factors.npy has {len(factors)} rows for {len(images)} images"
            for row, checksum in record["spots"].items():
                if zlib.crc32(images[int(row)].tobytes()) != checksum:
                    return f"image {row} is not what was written"
        # NumPy says of some damaged headers that they are no Python.
        except (OSError, ValueError, KeyError, TypeError, AttributeError, IndexError, tokenize.TokenError) as error:
            return f"it is damaged ({error})"
        return None

    def images(self) -> FactorImages:
        """The images and factors of a store without a flaw, memory-mapped on the CPU."""
        table, finished = self.factor_table, self._finished_files
        pixels, factors = torch.from_numpy(self._mapped("images.npy")), torch.from_numpy(self._mapped("factors.npy"))
        # Whoever makes a store again removes its record first: as long as it is there, and the same, images and factors
        # belong together.
        if finished is None or self._finished_files != finished:
            raise DataError(f"{self.folder} is being made again by another process. Wait until it ends, and try again.")
        return FactorImages(pixels, factors, table)

    def make(self, plan: Plan, facts: Mapping[str, Any], doing: str, made_from: Any = None) -> None:
        """Make the images of the plan and finish the store. `facts` say what they are made from; `doing` is for whoever
        watches.

        Where a making of the same shape was interrupted, it goes on from the last image that is known to be safe, if
        what they are made from is the same: all of the facts, or else `made_from`, which JSON can hold.
        """
        shape = (len(plan.factors), *plan.image_shape)
        begun = {"made_from": dict(facts) if made_from is None else made_from, "shape": list(shape)}
        self.folder.mkdir(parents=True, exist_ok=True)
        (self.folder / "record.json").unlink(missing_ok=True)
        part = self.folder / "images.part"
        done = self._safe_images(begun, shape)
        if not done:
            # Before the part is written over: what is told of it is no longer true.
            (self.folder / "progress.json").unlink(missing_ok=True)
            # Whatever it is: a link would be followed.
            part.unlink(missing_ok=True)
        with files.opened(part, "r+b" if done else "w+b") as stream:
            checksum = _write_images(stream, plan, shape, done, lambda n: self._save_progress(stream, begun, n), doing)
        files.put_in_place(part, self.folder / "images.npy")
        content = _npy(plan.factors)
        files.write_bytes(self.folder / "factors.npy", content)
        images = self._mapped("images.npy")
        spots = np.unique(np.linspace(0, len(images) - 1, _NUM_SPOT_CHECKS).astype(int)).tolist()
        record = {
            "format": _FORMAT,
            "shape": list(shape),
            "factors": [asdict(factor) for factor in plan.factor_table],
            "files": {
                "images.npy": {"bytes": (self.folder / "images.npy").stat().st_size, "sha256": checksum},
                "factors.npy": {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()},
            },
            "spots": {str(row): zlib.crc32(images[row].tobytes()) for row in spots},
            "facts": dict(facts),
        }
        files.write_sealed(self.folder / "record.json", record)
        (self.folder / "progress.json").unlink(missing_ok=True)

    def ensure(
        self,
        flaw: Callable[[], str | None],
        make: Callable[[str], None],
        doing: str,
        failure: str,
        room: str = "the room",
    ) -> None:
        """`make` the store where `flaw` finds it wanting, by one process at a time; `make` is told what is wrong.

        `failure` and `room` are the words for a cache that cannot be written: "Could not convert it into", and how much
        it takes.
        """
        if flaw() is None:
            return
        try:
            with self.locked(doing):
                # Whoever held the lock before may have made it.
                if (found := flaw()) is not None:
                    make(found)
        except OSError as error:
            raise DataError(
                f"{failure} {self.folder} ({error.strerror or error}). Set UNBRAID_CACHE to a folder that you may "
                f"write to and that has {room}."
            ) from error

    def locked(self, doing: str) -> Any:
        """Hold the store: whoever makes it does so alone, and others wait."""
        return files.locked(self.folder / ".lock", wait=True, purpose=doing)

    def _safe_images(self, begun: Mapping[str, Any], shape: tuple[int, ...]) -> int:
        """How many images of an interrupted making of the same thing can be kept."""
        content = _read_record(self.folder / "progress.json")
        done = content.pop("done", 0)
        part = self.folder / "images.part"
        if content != begun or type(done) is not int or not 0 < done <= shape[0] or not part.is_file():
            return 0
        return done if part.stat().st_size >= _HEADER_BYTES + done * int(np.prod(shape[1:])) else 0

    def _save_progress(self, stream: IO[bytes], begun: Mapping[str, Any], done: int) -> None:
        stream.flush()
        os.fsync(stream.fileno())
        files.write_sealed(self.folder / "progress.json", {**begun, "done": done})

    def _mapped(self, name: str) -> np.ndarray:
        # Copy on write: nothing reaches the file, and torch takes it without a warning.
        return cast(np.ndarray, np.load(files.regular(self.folder / name), mmap_mode="c", allow_pickle=False))


def _write_images(
    stream: IO[bytes], plan: Plan, shape: tuple[int, ...], done: int, save: Callable[[int], None], doing: str
) -> str:
    """All images from number `done` on, after those that are there. Returns the SHA-256 of the whole file."""
    digest = hashlib.sha256()
    image_bytes = int(np.prod(shape[1:]))
    if done:
        log.info("Going on with image %s of %s in %s.", f"{done:,}", f"{shape[0]:,}", stream.name)
        stream.truncate(_HEADER_BYTES + done * image_bytes)
        while chunk := stream.read(2**22):
            digest.update(chunk)
    else:
        header = _header(shape)
        stream.write(header)
        digest.update(header)
    saved = time.monotonic()
    for block in plan.blocks(done):
        if block.dtype != np.uint8 or block.shape[1:] != shape[1:] or done + len(block) > shape[0]:
            raise DataError(
                f"Made {block.dtype} images of shape {block.shape} after image {done}; expected uint8 of shape "
                f"{shape} in all."
            )
        content = np.ascontiguousarray(block).tobytes()
        stream.write(content)
        digest.update(content)
        done += len(block)
        progress.advance(doing, done, shape[0], "images")
        if time.monotonic() - saved > _SECONDS_BETWEEN_SAVES:
            save(done)
            saved = time.monotonic()
    if done != shape[0]:
        raise DataError(f"Made {done} images; expected {shape[0]}. The source is shorter than it says.")
    save(done)
    return digest.hexdigest()


def _header(shape: tuple[int, ...]) -> bytes:
    stream = io.BytesIO()
    np.lib.format.write_array_header_1_0(stream, {"descr": "|u1", "fortran_order": False, "shape": shape})
    header = stream.getvalue()
    if len(header) != _HEADER_BYTES:
        raise DataError(f"The header of an array of shape {shape} takes {len(header)} bytes; expected {_HEADER_BYTES}.")
    return header


def _npy(array: np.ndarray) -> bytes:
    stream = io.BytesIO()
    np.lib.format.write_array(stream, np.ascontiguousarray(array), allow_pickle=False)
    return stream.getvalue()


def _file_flaw(path: Path, about: Mapping[str, Any], verify: bool) -> str | None:
    if not path.is_file():
        return f"{path.name} is missing"
    if (found := path.stat().st_size) != about["bytes"]:
        return f"{path.name} has {found} bytes where {about['bytes']} were written"
    if (verify or found <= ALWAYS_VERIFIED_BYTES) and files.sha256(path) != about["sha256"]:
        return f"the SHA-256 of {path.name} is not the one recorded when it was written"
    return None


def _read_record(path: Path) -> dict[str, Any]:
    """Returns a sealed record; an empty one where there is no such file, or not as it was written."""
    try:
        return files.read_sealed(path)
    except (OSError, ValueError):
        return {}
