"""The rules of Windows on this machine, as far as Python can impose them.

The project has no POSIX modules, signals and system calls, and no `/proc`; other packages have code for each system. A
file that is open is not renamed, replaced or removed, and neither is its folder. Folders are not opened. Reserved
names, forbidden characters and long paths are refused. Text without a named encoding is an error.

`python -m tests.windows_rules -m unbraid ...` runs a module by these rules.
"""

import builtins
import contextlib
import errno
import os
import re
import runpy
import shutil
import signal
import socket
import sys
import tempfile
import threading
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any
from unittest import mock

_POSIX_MODULES = {"fcntl", "grp", "posix", "pty", "pwd", "resource", "syslog", "termios", "tty"}
_POSIX_NAMES = {
    os: """O_CLOEXEC O_DIRECTORY O_NOCTTY O_NOFOLLOW O_NONBLOCK chown confstr fork forkpty getegid geteuid getgid
        getloadavg getpgid getpriority getsid getuid killpg mkfifo mknod nice pathconf sched_getaffinity
        sched_setaffinity setpgid setsid statvfs sysconf uname wait3 wait4 waitid""",
    signal: "SIGALRM SIGHUP SIGKILL SIGQUIT SIGUSR1 SIGUSR2 alarm pause pthread_kill pthread_sigmask setitimer sigwait",
    time: "clock_gettime thread_time tzset",
    socket: "AF_UNIX",
}
_RESERVED = re.compile(r"(CON|PRN|AUX|NUL|COM[1-9¹²³]|LPT[1-9¹²³])(\..*)?", re.IGNORECASE)
_FORBIDDEN = re.compile(r'[<>:"|?*\\\x00-\x1f]|[. ]$')
_LONGEST = 259  # characters of a path; from 248 on, a folder is refused too
_ROOM = 60  # of which so many are the user's, before the folder that a test writes to

_is_on = threading.Event()
_within = threading.local()


@contextlib.contextmanager
def windows_rules() -> Iterator[None]:
    """Imposes the rules on this process, unless it runs on Windows."""
    if sys.platform == "win32":
        yield
        return
    _hook_once()
    importing, usage = builtins.__import__, shutil.disk_usage("/")

    def imported(name: str, globals: Any = None, locals: Any = None, fromlist: Any = (), level: int = 0) -> Any:
        module = importing(name, globals, locals, fromlist, level)
        if str((globals or {}).get("__name__", "")).partition(".")[0] != "unbraid":
            return module
        if name in _POSIX_MODULES:
            raise ModuleNotFoundError(f"No module named {name!r} (Windows has none)", name=name)
        return _poorer(module)

    def renamed(source: Any, target: Any, **options: Any) -> None:
        if os.path.lexists(target):
            raise FileExistsError(errno.EEXIST, "the name is taken (Windows)", str(source), None, str(target))
        renaming(source, target, **options)

    renaming = os.rename
    with contextlib.ExitStack() as stack:
        for module in [module for name, module in sys.modules.items() if name.partition(".")[0] == "unbraid"]:
            changes = {key: _poorer(value) for key, value in vars(module).items() if value is not _poorer(value)}
            stack.enter_context(mock.patch.dict(vars(module), changes))
        stack.enter_context(mock.patch.object(builtins, "__import__", imported))
        stack.enter_context(mock.patch.object(os, "rename", renamed))
        stack.enter_context(mock.patch.object(shutil, "disk_usage", return_value=usage))
        stack.enter_context(mock.patch.object(shutil, "_use_fd_functions", new=False))  # it opens no folders
        stack.enter_context(warnings.catch_warnings())
        warnings.filterwarnings("ignore", category=EncodingWarning)
        warnings.filterwarnings("error", category=EncodingWarning, module=r"unbraid(\.|$)")
        _is_on.set()
        try:
            yield
        finally:
            _is_on.clear()


class _Poorer(ModuleType):
    """A module without the names that only POSIX has."""

    def __init__(self, module: ModuleType, without: str) -> None:
        super().__init__(module.__name__)
        self._module, self._without = module, without.split()

    def __getattr__(self, name: str) -> Any:
        if name in self._without:
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r} (Windows)")
        return getattr(self._module, name)


def _poorer(value: Any) -> Any:
    """Returns what code of this project gets for a module."""
    return _POORER.get(id(value), value)


_POORER = {id(module): _Poorer(module, names) for module, names in _POSIX_NAMES.items()}
_hooked: list[None] = []


def _hook_once() -> None:
    """Adds the hook, which cannot be removed, and does nothing outside of `windows_rules`."""
    if not _hooked:
        sys.addaudithook(_hook)
        _hooked.append(None)


def _hook(event: str, args: tuple[Any, ...]) -> None:
    if not _is_on.is_set() or getattr(_within, "is_busy", False) or event not in _RULES:
        return
    _within.is_busy = True
    try:
        _RULES[event](*args)
    finally:
        _within.is_busy = False


def _on_open(path: Any, mode: Any, flags: int) -> None:
    if not isinstance(path, (str, bytes, os.PathLike)):
        return
    name = os.fsdecode(path)
    if name.startswith(("/proc/", "/sys/")) and _is_ours():
        raise FileNotFoundError(errno.ENOENT, "Windows has no such file", name)
    if mode is None and Path(name).is_dir():  # by `os.open`
        raise PermissionError(errno.EACCES, "Windows opens no folders", name)
    if flags & (os.O_CREAT | os.O_WRONLY | os.O_RDWR):
        _check_name(name)


def _on_rename(source: Any, target: Any, *_: Any) -> None:
    _check_name(os.fsdecode(target))
    _check_closed(source)
    _check_closed(target)


def _on_link(source: Any, *_: Any) -> None:
    if _is_ours():
        raise OSError(errno.EPERM, "A required privilege is not held by the client (Windows 1314)", os.fsdecode(source))


_RULES = {
    "open": _on_open,
    "os.mkdir": lambda path, *_: _check_name(os.fsdecode(path)),
    "os.rename": _on_rename,
    "os.remove": lambda path, *_: _check_closed(path),
    "os.rmdir": lambda path, *_: _check_closed(path),
    "os.symlink": _on_link,
}


def _is_ours() -> bool:
    """Returns whether the innermost frame outside of Python's own library belongs to this project."""
    library, frame = str(Path(os.__file__).parent), sys._getframe(1)
    while frame is not None and frame.f_back is not None:
        name = frame.f_code.co_filename
        if name != __file__ and ("site-packages" in name or not name.startswith((library, "<frozen"))):
            return f"{os.sep}unbraid{os.sep}" in name
        frame = frame.f_back
    return False


def _check_name(path: str) -> None:
    parts = Path(path).parts
    beyond = path.removeprefix(str(Path(tempfile.gettempdir())))
    for part in parts:
        if part != "/" and (_RESERVED.fullmatch(part) or _FORBIDDEN.search(part)):
            raise OSError(errno.EINVAL, "The filename, directory name, or volume label syntax is incorrect", path)
    if beyond != path and len(beyond) + _ROOM > _LONGEST:
        raise FileNotFoundError(errno.ENOENT, "The path is longer than 259 characters (Windows)", path)


def _check_closed(path: Any) -> None:
    """Raises if this process has opened or mapped the file, or a file in the folder."""
    if not isinstance(path, (str, bytes, os.PathLike)) or not os.path.lexists(path):
        return
    place = os.path.realpath(os.fsdecode(path))
    is_folder = Path(place).is_dir()
    for other in _open_paths():
        if other == place or (is_folder and other.startswith(place + os.sep)):
            raise PermissionError(errno.EACCES, f"another handle is open to {other} (Windows 32)", os.fsdecode(path))


def _open_paths() -> Iterator[str]:
    for link in Path("/proc/self/fd").iterdir():
        with contextlib.suppress(OSError):
            yield str(link.readlink())
    with Path("/proc/self/maps").open(encoding="utf-8", errors="surrogateescape") as stream:
        for line in stream:
            if len(columns := line.rstrip("\n").split(maxsplit=5)) == 6:
                yield columns[5]


if __name__ == "__main__":
    assert sys.argv[1] == "-m"
    with windows_rules():
        sys.argv = sys.argv[2:]
        runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
