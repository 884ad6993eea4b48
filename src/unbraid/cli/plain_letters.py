"""ASCII replacements of characters that a terminal cannot encode, such as arrows and Greek letters."""

import codecs
import contextlib
import re
import sys
import unicodedata
from collections.abc import Iterator

_HANDLER = "unbraid.plain_letters"
_SIGNS = {"↑": "^", "↓": "v", "→": "->", "←": "<-", "×": "x", "·": "*", "≤": "<=", "≥": ">=", "‖": "||", "│": "|"}
_SIGNS |= dict.fromkeys("–—−━─╸╺", "-")  # dashes, and parts of progress bars
_RAW_BYTES = range(0xDC80, 0xDD00)  # surrogate escapes: bytes of a file name that is not valid Unicode


@contextlib.contextmanager
def plain_letters() -> Iterator[None]:
    """Replaces characters that standard output or standard error cannot encode by ASCII, inside the block."""
    streams = [stream for stream in (sys.stdout, sys.stderr) if hasattr(stream, "reconfigure")]
    before = [stream.errors for stream in streams]
    for stream in streams:
        stream.reconfigure(errors=_HANDLER)
    try:
        yield
    finally:
        for stream, errors in zip(streams, before, strict=True):
            with contextlib.suppress(OSError, ValueError):  # a closed stream or a broken pipe
                stream.reconfigure(errors=errors)


def plain(character: str) -> str:
    """Returns an ASCII replacement of a character: "beta" for "β", "a" for "ä", "?" for characters without one."""
    if greek := re.fullmatch(r"GREEK (SMALL|CAPITAL) LETTER (?:FINAL )?(\w+)", unicodedata.name(character, "")):
        return greek[2].lower() if greek[1] == "SMALL" else greek[2].capitalize()
    likeness = unicodedata.normalize("NFKD", character).encode("ascii", "ignore").decode()
    return _SIGNS.get(character) or likeness or "?"


def _replace(error: UnicodeError) -> tuple[str | bytes, int]:
    assert isinstance(error, UnicodeEncodeError)
    character = error.object[error.start]
    raw = ord(character)
    return (bytes([raw - 0xDC00]) if raw in _RAW_BYTES else plain(character)), error.start + 1


codecs.register_error(_HANDLER, _replace)
