"""A nursery a process of pytest, and what becomes of the job when nothing happens to it."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.crash.job import results
from tests.discovery import ROOT


@dataclass
class Ended:
    """How a life ended: its exit code, or minus the signal that ended it; and all that was printed in its folder so
    far.
    """

    code: int
    said: str


@dataclass
class Nursery:
    """Speaks to `tests/crash/nursery.py`."""

    process: subprocess.Popen[str]

    def begin(self, folder: Path, **disturbed_by: dict[str, Any]) -> int:
        folder.mkdir(parents=True, exist_ok=True)
        return self._ask(["begin", str(folder), disturbed_by])

    def end(self, pid: int, folder: Path) -> Ended:
        return Ended(self._ask(["end", pid]), (folder / "said.txt").read_text())

    def live(self, folder: Path, **disturbed_by: dict[str, Any]) -> Ended:
        (folder / "said.txt").unlink(missing_ok=True)
        return self.end(self.begin(folder, **disturbed_by), folder)

    def _ask(self, request: list[Any]) -> int:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        assert answer, f"the nursery ended with {self.process.wait()}"
        return int(answer)


@dataclass
class Undisturbed:
    """What the job comes to, in its folder and file by file, and how many moments of each phase and kind it has on the
    way.
    """

    folder: Path
    results: dict[str, bytes]
    counts: dict[tuple[str, str], int]

    def assert_finished_by(self, nursery: Nursery, folder: Path) -> None:
        """The same command, in a life to which nothing happens, comes to the same."""
        ended = nursery.live(folder)
        assert ended.code == 0, ended.said
        assert results(folder) == self.results


@pytest.fixture(scope="session")
def nursery() -> Iterator[Nursery]:
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-m", "tests.crash.nursery"]
    with subprocess.Popen(
        command, cwd=ROOT, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        yield Nursery(process)


@pytest.fixture(scope="session")
def undisturbed(nursery: Nursery, tmp_path_factory: pytest.TempPathFactory) -> Undisturbed:
    folder = tmp_path_factory.mktemp("undisturbed")
    ended = nursery.live(folder, measured={})
    assert ended.code == 0, ended.said
    counts = json.loads((folder / "moments.json").read_text())
    return Undisturbed(folder, results(folder), {(phase, kind): count for phase, kind, count in counts})
