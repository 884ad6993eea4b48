"""What a benchmark says beside its numbers: what was run, when, on what; tables; claims that may be false; and files
that keep all of it.
"""

import argparse
import contextlib
import datetime
import fcntl
import json
import shlex
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, final

import torch

from unbraid import DSprites, files

SMALL_SPRITES = DSprites(resolution=32, num_orientations=2, num_positions=3)
"""324 images in which every factor varies: to see that a benchmark runs."""


@final
@dataclass(frozen=True)
class Claim:
    """A sentence that may be false, and whether it held."""

    holds: bool
    sentence: str

    def __str__(self) -> str:
        return f"- {'pass' if self.holds else 'FAIL'}: {self.sentence}"


@final
@dataclass(frozen=True)
class Circumstances:
    """Under which the numbers came about."""

    command: str
    date: str
    commit: str
    machine: str
    torch: str

    @classmethod
    def of(cls, module: str, arguments: Sequence[str] | None, device: str, commit: str) -> "Circumstances":
        """`arguments` are those of the command, unless they were given by hand."""
        return cls(
            command=shlex.join(["python", "-m", module, *(sys.argv[1:] if arguments is None else arguments)]),
            date=datetime.datetime.now(datetime.UTC).date().isoformat(),
            commit=commit or _commit(),
            machine=torch.cuda.get_device_name()
            if device.startswith("cuda")
            else f"CPU, {torch.get_num_threads()} threads",
            torch=torch.__version__,
        )

    def __str__(self) -> str:
        return f"`{self.command}`, {self.date}, commit {self.commit}, {self.machine}, torch {self.torch}."


@final
class Sheet:
    """A page of results, printed as it grows and, where a file is asked for, written as often: what is there when a run
    is cut short stays.

    `out` names two files, `out`.md and `out`.json.
    """

    def __init__(self, title: str, circumstances: Circumstances, out: Path | None) -> None:
        self._parts = [f"# {title}", str(circumstances)]
        self._content: dict[str, Any] = {"circumstances": asdict(circumstances)}
        self._out = out
        print("\n\n".join(self._parts), flush=True)

    def add(self, markdown: str) -> None:
        self._parts.append(markdown)
        print(f"\n{markdown}", flush=True)
        self._write()

    def begin_table(self, columns: Sequence[str]) -> None:
        """A table whose rows come later, by `add_row`."""
        self.add(table(columns, []))

    def add_row(self, *cells: object) -> None:
        row = f"| {' | '.join(map(str, cells))} |"
        self._parts[-1] += f"\n{row}"
        print(row, flush=True)
        self._write()

    def keep(self, **numbers: Any) -> None:
        """Numbers for the JSON, by name."""
        self._content |= numbers
        self._write()

    def _write(self) -> None:
        if self._out is not None:
            self._out.parent.mkdir(parents=True, exist_ok=True)
            files.write_text(self._out.with_name(f"{self._out.name}.md"), "\n\n".join(self._parts) + "\n")
            files.write_text(self._out.with_name(f"{self._out.name}.json"), json.dumps(self._content, indent=1) + "\n")


def flags(
    description: str | None, *, out: str = "write what is printed to OUT.md, and the numbers to OUT.json"
) -> argparse.ArgumentParser:
    """The flags that all of these benchmarks have."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--small", "--smoke", action="store_true", help="small settings, to see that it runs")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--out", type=Path, help=out)
    parser.add_argument("--commit", default="", help="what to call the code, where git cannot say")
    return parser


def table(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """In Markdown."""
    lines = [columns, ["---"] * len(columns), *([str(cell) for cell in row] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def claims(of: Sequence[Claim]) -> str:
    return "\n".join(map(str, of))


@contextlib.contextmanager
def one_at_a_time() -> Iterator[None]:
    """Lets one process at a time into the block, of all that a benchmark started: the one that is timed."""
    with (Path(tempfile.gettempdir()) / "unbraid-benchmark.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def now(device: str) -> float:
    """Seconds, once all work given to the device is done."""
    if device.startswith("cuda"):
        torch.cuda.synchronize()
    return time.perf_counter()


def complain(sentence: str) -> None:
    print(sentence, file=sys.stderr, flush=True)


def _commit() -> str:
    try:
        done = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return done.stdout.strip()
