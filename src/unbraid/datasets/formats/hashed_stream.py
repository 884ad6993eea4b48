"""A checksum taken while the bytes go by."""

import hashlib
import io
from typing import IO, final


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
