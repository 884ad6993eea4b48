"""Every byte that reaches a disk goes through here: written beside its place, flushed, then renamed into it.

A reader sees the old file or the new one, never a half. The rename is atomic within a file system, and the folder is flushed too, so that
the new name survives a power cut.
"""

import contextlib
import fcntl
import hashlib
import json
import os
import sys
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from unbraid.errors import RunError, SpecError

_MAX_SHOWN = 120  # characters of a path, in a message


@contextlib.contextmanager
def atomic_writer(path: Path) -> Iterator[IO[bytes]]:
    """A binary file that takes its name only when the block ends well; after an error nothing is left behind."""
    path.parent.mkdir(parents=True, exist_ok=True)
    # Not tempfile: its files are the owner's alone, and reading the umask means changing it for a moment, for every thread.
    temporary = _beside(path)
    try:
        with temporary.open("xb") as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    _flush_folder(path.parent)


def put_in_place(finished: Path, path: Path) -> None:
    """Give a file that grew beside its place its name: the bytes are flushed first, the folder after. For what must survive an interruption half-done."""
    with finished.open("rb+") as stream:
        os.fsync(stream.fileno())
    os.replace(finished, path)
    _flush_folder(path.parent)


def check_writable(path: Path) -> None:
    """Refuse a place that no file can be written to, for whoever wants to know before hours of work: a file beside it is made, and removed again."""
    try:
        if path.is_dir():
            raise SpecError(f"{path} is a folder; expected a file to write. Name a file in it.")
        # Too long a name is not found out by the file beside it, whose name is shorter.
        path.exists()
        folder = next(parent for parent in path.absolute().parents if parent.exists())
        probe = _beside(folder / path.name)
        probe.touch(exist_ok=False)
        probe.unlink()
    except (OSError, ValueError) as error:
        shown = str(path) if len(str(path)) <= _MAX_SHOWN else f"{str(path)[:_MAX_SHOWN]}..."
        reason = (error.strerror if isinstance(error, OSError) else None) or error
        raise SpecError(f"{shown} cannot be written ({reason}). Name a file in a folder that you may write to.") from None


def write_bytes(path: Path, content: bytes) -> None:
    with atomic_writer(path) as stream:
        stream.write(content)


def write_text(path: Path, content: str) -> None:
    write_bytes(path, content.encode())


def write_json(path: Path, content: Any) -> None:
    write_text(path, json.dumps(content, indent=2, allow_nan=False) + "\n")


def sha256(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def absolute(path: str) -> str:
    """The same place, named so that it is found from every folder: `~` is spelled out, and what is relative is taken from here."""
    try:
        return str(Path(path).expanduser().absolute())
    except RuntimeError:  # ~nobody: no such user, so it is the name of a file
        return str(Path(path).absolute())


def cache_folder() -> Path:
    """`UNBRAID_CACHE` if set, else the folder where this platform keeps what can be made again."""
    if chosen := os.environ.get("UNBRAID_CACHE"):
        return Path(chosen).expanduser()
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "unbraid"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "unbraid"


@contextlib.contextmanager
def locked(path: Path, *, wait: bool, purpose: str) -> Iterator[None]:
    """Hold the lock file `path`; the system lets go of it when the process ends, however it ends.

    With `wait` a second holder waits its turn; without, it is refused with a message that names the `purpose`.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as stream:
        try:
            fcntl.flock(stream, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        except BlockingIOError:
            raise RunError(f"Another process is {purpose} ({path} is locked). Wait until it ends, or stop it.") from None
        yield


def _beside(path: Path) -> Path:
    """A new name in the same folder; short, so that it fits wherever the name itself does."""
    return path.with_name(f".{path.name[:40]}.{uuid.uuid4().hex}.part")


def _flush_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
