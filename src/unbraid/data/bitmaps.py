"""Black-and-white images packed into bits: drawn once, kept on disk, opened without reading them.

An image is one 64-bit word a row, bit c of which is column c. The file is a plain `.npy`; a `.json` beside it records
its size and SHA-256 and is written last, so that a file without a record is a file that was never finished.
"""

import logging
import tokenize
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, cast, final

import numpy as np
import torch
from jaxtyping import Int, UInt8, UInt64
from torch import Tensor

from unbraid import files
from unbraid.data import progress
from unbraid.data.formats.hashed_stream import HashedStream
from unbraid.data.pixels import Pixels
from unbraid.errors import DataError

log = logging.getLogger(__name__)

# Below this a full checksum costs a few hundredths of a second, so every opening takes it.
ALWAYS_VERIFIED_BYTES = 32 * 2**20
_NUM_SPOT_CHECKS = 16


@final
@dataclass(frozen=True)
class BitmapCache:
    """Where bitmaps lie, and how to draw them if they do not lie there whole.

    `draw_all` yields all images in order, in blocks; `draw_one` draws a single image, which opening compares with the
    file (None where that would cost too much). `doing` is for the log, and for whoever watches.
    """

    path: Path
    num_images: int
    num_rows: int
    draw_all: Callable[[], Iterator[UInt64[np.ndarray, "block row"]]]
    draw_one: Callable[[int], UInt64[np.ndarray, " row"]] | None = None
    doing: str = "drawing"

    def open(self, *, verify: bool = False) -> UInt64[np.ndarray, "image row"]:
        """The images, memory-mapped; drawn first where the file is missing or damaged, by one process at a time.

        Opening looks at the record, the size, the header and a few images. `verify` also takes the SHA-256 of the whole
        file, as is always done for small ones.
        """
        if self._flaw(verify) is not None:
            try:
                self._draw_alone(verify)
            except OSError as error:
                raise DataError(
                    f"Could not write the images to {self.path} ({error.strerror or error}). Set UNBRAID_CACHE to a "
                    "folder that you "
                    f"may write to and that has {self.num_images * self.num_rows * 8 / 1e6:,.1f} MB of room."
                ) from error
        return self._mapped()

    def _draw_alone(self, verify: bool) -> None:
        with files.locked(self.path.with_suffix(".lock"), wait=True, purpose=f"{self.doing} {self.path.name}"):
            # Whoever held the lock before may have drawn it.
            if (flaw := self._flaw(verify)) is None:
                return
            if self.path.exists():
                log.warning("%s %s again: %s.", self.doing.capitalize(), self.path, flaw)
            else:
                log.info("%s %s images into %s.", self.doing.capitalize(), f"{self.num_images:,}", self.path)
            with files.atomic_writer(self.path) as stream:
                checksum = self._write(stream)
            files.write_json(self._record_path, {"bytes": self.path.stat().st_size, "sha256": checksum})

    def _write(self, stream: IO[bytes]) -> str:
        hashed = HashedStream(stream)
        header = {"descr": "<u8", "fortran_order": False, "shape": (self.num_images, self.num_rows)}
        np.lib.format.write_array_header_1_0(cast(IO[bytes], hashed), header)
        done = 0
        for block in self.draw_all():
            hashed.write(np.ascontiguousarray(block, dtype="<u8").tobytes())
            done += len(block)
            progress.advance(f"{self.doing} {self.path.stem}", done, self.num_images, "images")
        return hashed.sha256

    def _flaw(self, verify: bool) -> str | None:
        """What is wrong with the files, or None."""
        if not self.path.exists():
            return "it does not exist"
        try:
            record = files.read_json(self._record_path)
            size, checksum = record["bytes"], record["sha256"]
        except (OSError, ValueError, KeyError, TypeError):
            return f"its record {self._record_path.name} is missing or unreadable"
        if (found := self.path.stat().st_size) != size:
            return f"it has {found} bytes where {size} were written"
        if (verify or size <= ALWAYS_VERIFIED_BYTES) and files.sha256(self.path) != checksum:
            return "its SHA-256 is not the one recorded when it was written"
        return self._content_flaw()

    def _content_flaw(self) -> str | None:
        try:
            images = self._mapped()
        except (OSError, ValueError, tokenize.TokenError):  # the last is what NumPy says of some headers
            return "its header is damaged"
        if images.shape != (self.num_images, self.num_rows) or images.dtype != np.dtype("<u8"):
            return (
                f"it holds {images.dtype} of shape {images.shape}, not uint64 of shape "
                f"{(self.num_images, self.num_rows)}"
            )
        if self.draw_one is None:
            return None
        for image in np.linspace(0, self.num_images - 1, min(_NUM_SPOT_CHECKS, self.num_images)).astype(int).tolist():
            if not np.array_equal(images[image], self.draw_one(image)):
                return f"image {image} is not what is drawn now"
        return None

    def _mapped(self) -> np.ndarray:
        # Copy on write: nothing reaches the file, and torch takes it without a warning.
        return cast(np.ndarray, np.load(files.regular(self.path), mmap_mode="c", allow_pickle=False))

    @property
    def _record_path(self) -> Path:
        return self.path.with_suffix(".json")


@final
@dataclass(frozen=True)
class Bitmaps(Pixels):
    """Black-and-white images as bits, an eighth of the room, on any device. They become bytes when they are asked for:
    255 where a bit is set, else 0.
    """

    words: UInt8[Tensor, "image row 8"]
    """A row of pixels is one 64-bit word, its low byte first; bit c is column c."""
    num_columns: int

    @classmethod
    def of(cls, bits: UInt64[np.ndarray, "image row"], num_columns: int) -> "Bitmaps":
        """On the CPU, without a copy: what is memory-mapped stays so."""
        little_endian = bits.astype("<u8", copy=False)
        return cls(torch.from_numpy(little_endian[:, :, None].view(np.uint8)), num_columns)

    @property
    def shape(self) -> torch.Size:
        num_images, num_rows, _ = self.words.shape
        return torch.Size((num_images, 1, num_rows, self.num_columns))

    @property
    def device(self) -> torch.device:
        return self.words.device

    @property
    def nbytes(self) -> int:
        return self.words.nbytes

    def __getitem__(self, rows: Int[Tensor, "*batch"] | slice) -> UInt8[Tensor, "..."]:
        words = self.words[rows]
        if words.device.type == "cpu":
            # NumPy unpacks a word at a time, and wakes no threads.
            columns = np.unpackbits(words.numpy(), axis=-1, count=self.num_columns, bitorder="little")
            columns *= 255
            return torch.from_numpy(columns)[..., None, :, :]
        return shifted_apart(words, self.num_columns)[..., None, :, :]

    def to(self, device: torch.device | str) -> "Bitmaps":
        return replace(self, words=self.words.to(device))


def shifted_apart(words: UInt8[Tensor, "*batch row 8"], num_columns: int) -> UInt8[Tensor, "*batch row {num_columns}"]:
    """The bits as bytes, by torch alone: for devices that NumPy cannot reach."""
    places = torch.arange(8, dtype=torch.uint8, device=words.device)
    return ((words[..., None] >> places) & 1).flatten(-2)[..., :num_columns] * 255
