"""Atomic writes, checksums, locks and paths of files. All files of unbraid are opened here.

A file is written under a temporary name in the same folder, flushed, then renamed. A reader gets the old file or the
new file, never a partial file. The rename is atomic within a file system. The folder is flushed too, so that the new
name survives a power cut. Opening a pipe or a device raises an error, because reading from it may never end.

On Windows, open files cannot be renamed or removed, and folders cannot be flushed.
"""

import contextlib
import errno
import gc
import hashlib
import json
import os
import re
import stat
import sys
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import IO, Any

from unbraid.errors import RunError, SpecError

_MAX_SHOWN = 120  # characters of a path, in a message
_OTHER_OPEN_FILES = 128  # reserve for files that a process opens besides the counted files
_LEFTOVER = re.compile(r"\..*\.[0-9a-f]{32}\.part", re.DOTALL)
# On Windows, a reader of the file, such as a virus scanner, delays a rename.
_SECONDS_BETWEEN_RENAMES = (0.0, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5)


def opened(
    path: Path | str, mode: str = "rb", buffering: int = -1, *, encoding: str | None = None, newline: str | None = None
) -> Any:
    """Opens a regular file like `open`. Raises an OSError for a pipe or a device instead of blocking."""
    try:
        return open(path, mode, buffering, encoding=encoding, newline=newline, opener=_opened_if_regular)
    except ValueError as error:  # NUL or a lone surrogate in the name
        raise FileNotFoundError(errno.ENOENT, f"no file can have this name: {error}", ascii(str(path))) from None


def regular(path: Path) -> Path:
    """Returns the path of a regular file, for libraries that open paths. Raises an OSError for a pipe or a device."""
    opened(path).close()
    return path


def read_bytes(path: Path) -> bytes:
    with opened(path) as stream:
        content: bytes = stream.read()
    return content


def no_folder(path: Path | str) -> str:
    """Returns the error message for a path that is missing or is a file instead of a folder."""
    return f"{path} is a file, not a folder." if os.path.lexists(path) else f"There is no folder {path}."


def folder_path(folder: Any) -> Path:
    """Converts a string or path to a `Path`. Raises a RunError for other types."""
    if not isinstance(folder, (str, os.PathLike)):
        raise RunError(f"Expected a folder path, got {folder!r}. Pass a string or a Path, e.g. 'runs'.")
    return Path(folder)


def read_json(path: Path) -> Any:
    """Returns the content of a JSON file. Raises a ValueError for a file that is not JSON."""
    try:
        return json.loads(read_bytes(path))
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def read_sealed(path: Path) -> dict[str, Any]:
    """Reads a record written by `write_sealed`. Raises a ValueError if the checksum does not match."""
    record = read_json(path)
    if not isinstance(record, dict) or record.pop("sha256", None) != seal(record):
        raise ValueError("its SHA-256 does not match")
    return record


def seal(record: Mapping[str, Any], of_content: "hashlib._Hash | None" = None) -> str:
    """Returns the SHA-256 of a record, excluding its field "sha256".

    `of_content` is a hash object of the content that the record describes; the record is added to this hash.
    """
    checksum = hashlib.sha256() if of_content is None else of_content
    checksum.update(
        json.dumps({name: value for name, value in record.items() if name != "sha256"}, sort_keys=True).encode()
    )
    return checksum.hexdigest()


@contextlib.contextmanager
def atomic_writer(path: Path) -> Iterator[IO[bytes]]:
    """Opens a binary file that is renamed to `path` when the block ends, and removed after an error.

    The first write of a process into a folder removes temporary files of killed processes there.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    if (first := (os.getpid(), path.parent)) not in _swept:
        sweep(path.parent)
        _swept.add(first)
    with _naming(path), _held_beside(path) as (stream, temporary):
        yield stream
        stream.flush()
        os.fsync(stream.fileno())
        _with_retries(lambda: os.replace(temporary, path), stream)
    _flush_folder(path.parent)


_swept: set[tuple[int, Path]] = set()
"""Folders swept by each process: sweeping before every write would be slow for folders with many files."""


def sweep(folder: Path) -> None:
    """Removes temporary files of ended processes (files without a lock) from the folder."""
    for path in folder.iterdir():
        if _LEFTOVER.fullmatch(path.name):
            # The file may be deleted already, belong to another user, or be on a file system without locks.
            with contextlib.suppress(OSError), opened(path, "rb+") as stream:
                if lock_descriptor(stream.fileno(), blocking=False):
                    path.unlink()  # Windows keeps the file


def lock_descriptor(descriptor: int, *, blocking: bool = True) -> bool:
    """Locks an open file. Returns whether this process has the lock now."""
    from filelock import lock_descriptor

    return lock_descriptor(descriptor, blocking=blocking)


def put_in_place(finished: Path, path: Path) -> None:
    """Renames a finished file to `path`. Flushes the file before and the folder after.

    Intended for files that several processes write in turn, such as resumed downloads.
    """
    with opened(finished, "rb+") as stream:
        os.fsync(stream.fileno())
    _with_retries(lambda: os.replace(finished, path))
    _flush_folder(path.parent)


def move_folder(folder: Path, path: Path) -> None:
    """Renames a folder to an unused name in the same file system. On Windows, none of its files may be open."""
    _with_retries(lambda: folder.rename(path))


def remove(path: Path) -> bool:
    """Removes a file, if it exists. Returns whether this was possible: Windows keeps a file that is in use."""
    try:
        _with_retries(lambda: path.unlink(missing_ok=True))
    except PermissionError:
        return False
    return True


def check_writable(path: Path) -> None:
    """Raises an error if no file can be written at this path. Intended for use before long computations.

    Creates and removes a temporary file in the same folder.
    """
    try:
        if path.is_dir():
            raise SpecError(f"{path} is a folder; expected the path of a file to write. Append a file name.")
        # Raises an error for a name that is too long; the name of the temporary file is shorter.
        path.exists()
        folder = next(parent for parent in path.absolute().parents if parent.exists())
        probe = _beside(folder / path.name)
        probe.touch(exist_ok=False)
        probe.unlink(missing_ok=True)  # another process may have swept the folder
    except (OSError, ValueError) as error:
        shown = str(path) if len(str(path)) <= _MAX_SHOWN else f"{str(path)[:_MAX_SHOWN]}..."
        reason = (error.strerror if isinstance(error, OSError) else None) or error
        raise SpecError(
            f"{shown} cannot be written ({reason}). Choose a file in a folder with write permission."
        ) from None


def write_bytes(path: Path, content: bytes) -> None:
    with atomic_writer(path) as stream:
        stream.write(content)


def write_text(path: Path, content: str) -> None:
    write_bytes(path, content.encode())


def write_json(path: Path, content: Any) -> None:
    write_text(path, json.dumps(content, indent=2, allow_nan=False) + "\n")


def write_sealed(path: Path, record: Mapping[str, Any]) -> None:
    """Writes a record as JSON with its checksum in the field "sha256", which `read_sealed` verifies."""
    write_json(path, {**record, "sha256": seal(record)})


def append_line(path: Path, line: str) -> None:
    """Appends a line to a text file in one write. Ends an incomplete last line first."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with _naming(path), opened(path, "ab+", buffering=0) as stream:
        end = stream.seek(0, os.SEEK_END)
        stream.seek(max(0, end - 1))
        is_torn = stream.read(1) not in (b"", b"\n")
        stream.write((b"\n" if is_torn else b"") + line.encode() + b"\n")
        os.fsync(stream.fileno())


def sha256(path: Path) -> str:
    with opened(path) as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def absolute(path: str) -> str:
    """Returns the absolute path, with `~` expanded."""
    try:
        return str(Path(path).expanduser().absolute())
    except RuntimeError:  # an unknown user after `~`: the name of a file
        return str(Path(path).absolute())


def cache_folder() -> Path:
    """Returns `UNBRAID_CACHE` if set, else the cache folder of this platform."""
    chosen = os.environ.get("UNBRAID_CACHE")
    try:
        if chosen:
            return Path(chosen).expanduser()
        if sys.platform == "darwin":
            return Path.home() / "Library" / "Caches" / "unbraid"
        if sys.platform == "win32":
            return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local") / "unbraid"
        return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "unbraid"
    except RuntimeError:
        given = f"UNBRAID_CACHE is {chosen!r}" if chosen else "UNBRAID_CACHE is not set"
        raise SpecError(f"{given}, and there is no such home folder. Set it to a writable folder.") from None


@contextlib.contextmanager
def locked(path: Path, *, wait: bool, purpose: str) -> Iterator[None]:
    """Locks the file `path` during the block. The system releases the lock when the process ends.

    With `wait` a second process waits for the lock. Otherwise the second process gets an error with the `purpose`. A
    child process forked within the block does not hold the lock. The process with the lock may remove the file or move
    its folder.
    """
    from filelock import FileLock, Timeout  # late: importing filelock takes 30 ms

    lock = FileLock(path, timeout=-1 if wait else 0, poll_interval=0.02, thread_local=False)
    while True:
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            opened(path, "ab").close()  # raises an error for a pipe or a device
            lock.acquire()
        except FileNotFoundError:
            if path.parent.exists():  # else the last holder removed the folder
                raise
            continue
        except Timeout:
            raise RunError(
                f"Another process is {purpose} ({path} is locked). Wait for that process, or stop it."
            ) from None
        if path.exists():
            break
        lock.release()  # the previous holder moved the file after it was opened here
    try:
        yield
    finally:
        lock.release()


def room_for_open_files(wanted: int) -> int:
    """Raises the limit on open files to allow `wanted` more files if possible. Returns the number of files allowed."""
    try:
        import resource
    except ModuleNotFoundError:  # Windows, which has a high limit
        return wanted
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = wanted + _OTHER_OPEN_FILES
    if soft != resource.RLIM_INFINITY and soft < needed:
        soft_now = needed if hard == resource.RLIM_INFINITY else min(needed, hard)
        with contextlib.suppress(ValueError, OSError):  # the limit stays
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft_now, hard))
            soft = soft_now
    return wanted if soft == resource.RLIM_INFINITY else max(1, soft // 2, soft - _OTHER_OPEN_FILES)


def _opened_if_regular(path: str, flags: int) -> int:
    refusal = OSError(errno.EINVAL, "it is a pipe or a device, not a regular file", str(path))
    try:
        # O_NONBLOCK: opening a pipe would wait for its other end. It changes nothing for regular files.
        descriptor = os.open(path, flags | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0), 0o666)
    except OSError as error:
        if isinstance(error, PermissionError) and Path(path).is_dir():  # Windows, which opens no folders
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path)) from None
        # A socket, or a pipe to write to without a reader.
        raise (refusal if error.errno == errno.ENXIO else error) from None
    kind = os.fstat(descriptor).st_mode
    if stat.S_ISREG(kind) or stat.S_ISDIR(kind):  # `open` raises the error for folders
        return descriptor
    os.close(descriptor)
    raise refusal


@contextlib.contextmanager
def _held_beside(path: Path) -> Iterator[tuple[IO[bytes], Path]]:
    """Yields a new locked temporary file next to `path`, and its path. Removes the file after an error."""
    while True:
        # Not tempfile: its files are readable only by the owner, and reading the umask requires changing the umask.
        temporary = _beside(path)
        with temporary.open("xb") as stream:
            with contextlib.suppress(OSError):  # a file system without locks, where `sweep` removes nothing
                lock_descriptor(stream.fileno())
            # Another process may have swept the folder before the file was locked.
            if temporary.exists():
                try:
                    yield stream, temporary
                except BaseException:
                    for action in (stream.close, temporary.unlink):
                        with contextlib.suppress(OSError):  # raise the first error instead
                            action()
                    raise
                return


@contextlib.contextmanager
def _naming(path: Path) -> Iterator[None]:
    """Adds the path to an OSError without one, such as the error of a full disk."""
    try:
        yield
    except OSError as error:
        if error.errno is not None and error.filename is None:
            error.filename = str(path)
        raise


def _beside(path: Path) -> Path:
    """Returns a temporary path in the same folder, with a name short enough for any file system."""
    return path.with_name(f".{path.name[:40]}.{uuid.uuid4().hex}.part")


def _with_retries(action: Callable[[], Any], stream: IO[bytes] | None = None) -> None:
    """Renames or removes a file. After a PermissionError, closes files of this process and tries again for a second."""
    for seconds in _SECONDS_BETWEEN_RENAMES:
        try:
            action()
            return
        except PermissionError:
            if stream is not None:
                stream.close()
            gc.collect()  # arrays in reference cycles may map a file
            time.sleep(seconds)
    action()


def _flush_folder(folder: Path) -> None:
    try:
        descriptor = os.open(folder, os.O_RDONLY)
    except PermissionError:  # Windows, which opens no folders
        return
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
