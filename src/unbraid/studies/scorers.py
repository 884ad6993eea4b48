"""Scores runs in parallel processes, each with one thread, or in this one."""

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import final

from unbraid.studies.line_workers import LineWorkers, line_workers
from unbraid.studies.questions import Question
from unbraid.studies.scorer import order, told

_PROGRAM = "from unbraid.studies.scorer import main; main()"


@final
@dataclass(frozen=True)
class Scored:
    """What came of scoring one run: nothing to say, or the error, or the metrics that failed with their tracebacks."""

    folder: Path
    error: str = ""
    failed: dict[str, str] = field(default_factory=dict)


@final
@dataclass(frozen=True)
class Scorers:
    """A pool of processes that score runs. Orders are given by `give`; `next` waits for an answer."""

    workers: LineWorkers
    device: str
    packages: list[str]

    @property
    def num_waiting(self) -> int:
        """Returns how many orders have no answer yet."""
        return self.workers.num_waiting

    def give(self, folder: Path, questions: list[Question]) -> None:
        """Orders the scores that these questions ask of the run in this folder."""
        self.workers.give(str(folder), order(folder, questions, self.device, self.packages))

    def next(self, *, wait: bool) -> Scored | None:
        """Returns an answer; None if there is none yet, or none to wait for."""
        if (answered := self.workers.next(wait=wait)) is None:
            return None
        folder, content = answered
        return Scored(Path(folder), content.get("error", ""), content.get("failed", {}))


@contextlib.contextmanager
def scorers(num_processes: int, device: str, packages: list[str]) -> Iterator[Scorers]:
    """Gives a pool that is closed at the end of the block."""
    with line_workers(num_processes, _PROGRAM, told) as workers:
        yield Scorers(workers, device, packages)
