"""Black-and-white images packed into bits: drawn once, kept on disk, opened without reading them.

An image is one 64-bit word a row, bit c of which is column c. The file is a plain `.npy`; a `.json` beside it records its size and SHA-256
and is written last, so that a file without a record is a file that was never finished.
"""

import json
import logging
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, cast, final

import numpy as np
import torch
from jaxtyping import UInt8, UInt64
from torch import Tensor

from unbraid import files
from unbraid.data.hashed_stream import HashedStream
from unbraid.errors import DataError

log = logging.getLogger(__name__)

# Below this a full checksum costs a few hundredths of a second, so every opening takes it.
ALWAYS_VERIFIED_BYTES = 32 * 2**20
_NUM_SPOT_CHECKS = 16
# Small enough for a block of bytes to stay in a processor's cache.
_IMAGES_AT_ONCE = 512


@final
@dataclass(frozen=True)
class BitmapCache:
    """Where bitmaps lie, and how to draw them if they do not lie there whole.

    `draw_all` yields all images in order, in blocks; `draw_one` draws a single image, which opening compares with the file.
    """

    path: Path
    num_images: int
    num_rows: int
    draw_all: Callable[[], Iterator[UInt64[np.ndarray, "block row"]]]
    draw_one: Callable[[int], UInt64[np.ndarray, " row"]]

    def open(self, *, verify: bool = False) -> UInt64[np.ndarray, "image row"]:
        """The images, memory-mapped and read-only; drawn first where the file is missing or damaged, by one process at a time.

        Opening looks at the record, the size, the header and a few images. `verify` also takes the SHA-256 of the whole file, as is always
        done for small ones.
        """
        if self._flaw(verify) is not None:
            try:
                self._draw_alone(verify)
            except OSError as error:
                raise DataError(
                    f"Could not write the drawn images to {self.path} ({error.strerror or error}). Set UNBRAID_CACHE to a folder that you "
                    f"may write to and that has {self.num_images * self.num_rows * 8 / 1e6:,.1f} MB of room."
                ) from error
        return self._mapped()

    def _draw_alone(self, verify: bool) -> None:
        with files.locked(self.path.with_suffix(".lock"), wait=True, purpose=f"drawing {self.path.name}"):
            # Whoever held the lock before may have drawn it.
            if (flaw := self._flaw(verify)) is None:
                return
            if self.path.exists():
                log.warning("Drawing %s again: %s.", self.path, flaw)
            else:
                log.info("Drawing %s images into %s.", f"{self.num_images:,}", self.path)
            with files.atomic_writer(self.path) as stream:
                checksum = self._write(stream)
            files.write_json(self._record_path, {"bytes": self.path.stat().st_size, "sha256": checksum})

    def _write(self, stream: IO[bytes]) -> str:
        hashed = HashedStream(stream)
        header = {"descr": "<u8", "fortran_order": False, "shape": (self.num_images, self.num_rows)}
        np.lib.format.write_array_header_1_0(cast(IO[bytes], hashed), header)
        for block in self.draw_all():
            hashed.write(np.ascontiguousarray(block, dtype="<u8").tobytes())
        return hashed.sha256

    def _flaw(self, verify: bool) -> str | None:
        """What is wrong with the files, or None."""
        if not self.path.exists():
            return "it does not exist"
        try:
            record = json.loads(self._record_path.read_bytes())
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
        except (OSError, ValueError):
            return "its header is damaged"
        if images.shape != (self.num_images, self.num_rows) or images.dtype != np.dtype("<u8"):
            return f"it holds {images.dtype} of shape {images.shape}, not uint64 of shape {(self.num_images, self.num_rows)}"
        for image in np.linspace(0, self.num_images - 1, min(_NUM_SPOT_CHECKS, self.num_images)).astype(int).tolist():
            if not np.array_equal(images[image], self.draw_one(image)):
                return f"image {image} is not what is drawn now"
        return None

    def _mapped(self) -> np.ndarray:
        return cast(np.ndarray, np.load(self.path, mmap_mode="r", allow_pickle=False))

    @property
    def _record_path(self) -> Path:
        return self.path.with_suffix(".json")


def unpack(
    bits: UInt64[np.ndarray, "image row"], num_columns: int, device: torch.device | str = "cpu"
) -> UInt8[Tensor, "image 1 row {num_columns}"]:
    """The bits as bytes on the device: 255 where a bit is set, else 0."""
    num_images, num_rows = bits.shape
    pixels = torch.empty((num_images, 1, num_rows, num_columns), dtype=torch.uint8, device=device)
    # On the host NumPy copies: torch would wake all its threads for each block, which on a busy machine takes ten times as long.
    host = pixels.numpy() if pixels.device.type == "cpu" else None
    for start in range(0, num_images, _IMAGES_AT_ONCE):
        block = np.ascontiguousarray(bits[start : start + _IMAGES_AT_ONCE], dtype="<u8")[:, :, None].view(np.uint8)
        columns = np.unpackbits(block, axis=2, count=num_columns, bitorder="little")
        columns *= 255
        if host is not None:
            host[start : start + len(block), 0] = columns
        else:
            pixels[start : start + len(block), 0] = torch.from_numpy(columns).to(device)
    return pixels
