"""The job on a real disk that is too small for it, and then is not."""

import ctypes
import json
import os
import shutil
import sys
from pathlib import Path

from tests.crash import job
from tests.crash.processes import exit_code, forked

NOT_ALLOWED = 77
"""The exit code where no disk may be mounted."""
_NEW_MOUNTS, _NEW_USER = 0x00020000, 0x10000000
_REMOUNT, _PRIVATE = 0x20, 0x44000


def live(folder: Path, num_bytes: int) -> None:
    """Run the command on a disk of so many bytes, and again once it has room. What came of both is in `codes.json`, and
    the files are in the folder.
    """
    disk = folder / "disk"
    disk.mkdir()
    try:
        _unshare()
        _mount(disk, f"size={num_bytes}")
    except OSError:
        sys.exit(NOT_ALLOWED)
    codes = [exit_code(forked(lambda: job.command(disk), folder / "said.txt"))]
    _mount(disk, "size=64m", _REMOUNT)
    codes.append(exit_code(forked(lambda: job.command(disk), folder / "said.txt")))
    for name in ("runs", "cache"):
        shutil.copytree(disk / name, folder / name)
    (folder / "codes.json").write_text(json.dumps(codes))


def _unshare() -> None:
    """What is mounted from here on nobody else sees, and it is gone when the process ends."""
    user, group = os.geteuid(), os.getegid()
    _call("unshare", _NEW_MOUNTS if user == 0 else _NEW_MOUNTS | _NEW_USER)
    if user:
        Path("/proc/self/setgroups").write_text("deny")
        Path("/proc/self/uid_map").write_text(f"0 {user} 1")
        Path("/proc/self/gid_map").write_text(f"0 {group} 1")
    _call("mount", b"none", b"/", None, _PRIVATE, None)


def _mount(disk: Path, options: str, flags: int = 0) -> None:
    _call("mount", b"none", bytes(disk), b"tmpfs", flags, options.encode())


def _call(name: str, *arguments: object) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if getattr(libc, name)(*arguments):
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
