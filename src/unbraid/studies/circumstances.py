"""Circumstances: the command, the date, the versions and the machine that numbers come from."""

import datetime
import shlex
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, final

import torch

from unbraid._internal.version import __version__


@final
@dataclass(frozen=True)
class Circumstances:
    """Says under which circumstances numbers came about."""

    command: str
    date: str
    commit: str
    machine: str
    torch: str
    unbraid: str

    @classmethod
    def now(cls, command: Sequence[str] | None = None, *, device: str = "", commit: str = "") -> "Circumstances":
        """Returns those of this process. Without a command it is that of `unbraid` as it was typed; without a device
        the GPU, where there is one; without a commit that of the checkout.
        """
        is_gpu = device.startswith("cuda") if device else torch.cuda.is_available()
        return cls(
            command=shlex.join(["unbraid", *sys.argv[1:]] if command is None else command),
            date=datetime.datetime.now(datetime.UTC).date().isoformat(),
            commit=commit or commit_of_checkout(),
            machine=torch.cuda.get_device_name() if is_gpu else f"CPU, {torch.get_num_threads()} threads",
            torch=torch.__version__,
            unbraid=__version__,
        )

    def to_json(self) -> dict[str, Any]:
        """Returns every circumstance by name."""
        return asdict(self)

    def __str__(self) -> str:
        return f"`{self.command}`, {self.date}, commit {self.commit}, {self.machine}, torch {self.torch}."


def commit_of_checkout(file: Path | str = __file__) -> str:
    """Returns the commit of the checkout that this file belongs to, with "+changes" if tracked files have uncommitted
    changes, or "unknown".

    A package that is installed inside of another repository is not tracked there, and has no commit.
    """
    path = Path(file).resolve()
    try:
        _git(path.parent, "ls-files", "--error-unmatch", path.name)
        commit = _git(path.parent, "rev-parse", "--short", "HEAD")
        is_changed = _git(path.parent, "status", "--porcelain", "--untracked-files=no")
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return f"{commit}+changes" if is_changed else commit


def _git(folder: Path, *arguments: str) -> str:
    command = ["git", "-C", str(folder), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
