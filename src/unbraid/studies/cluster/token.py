"""Whether a process sees the folder of a study: by a file that the study put there and that nothing else holds."""

import contextlib
import secrets
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, final

from unbraid import files
from unbraid.studies.index import STUDIES


@final
@dataclass(frozen=True)
class Token:
    """A file with a text that cannot be guessed: a process that reads the same text sees the same folder."""

    file: str
    text: str

    @property
    def is_seen(self) -> bool:
        try:
            return files.read_bytes(Path(self.file)).decode() == self.text
        except (OSError, ValueError):
            return False

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


@contextlib.contextmanager
def token_in(folder: Path) -> Iterator[Token]:
    """Puts a token into the folder, and removes it at the end of the block."""
    text = secrets.token_hex(16)
    path = folder.absolute() / STUDIES / f"token-{text[:8]}"
    files.write_text(path, text)
    try:
        yield Token(str(path), text)
    finally:
        with contextlib.suppress(OSError):
            path.unlink(missing_ok=True)
