"""Events in a CSV file."""

import csv
import io
import math
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, final

from unbraid._internal import files
from unbraid._internal.progress import Event
from unbraid.errors import RunError, SpecError

_COLUMNS = ("seconds", "about", "done", "total", "unit", "text", "run", "name", "value")


@final
class CSVListener:
    """Writes events to a CSV file: a row for each number of each run, such as its loss.

    An event without numbers has one row.

    `seconds` count from the making of the listener. Rows are added to a file that an earlier one wrote; another file in
    its place is refused.
    """

    def __init__(self, path: Path | str, clock: Callable[[], float] = time.monotonic) -> None:
        self._path, self._clock, self._began = Path(path), clock, clock()
        header = ",".join(_COLUMNS)
        if not self._path.exists():
            files.append_line(self._path, header)
        elif files.read_bytes(self._path).partition(b"\n")[0].decode(errors="replace").strip() != header:
            raise RunError(f"{path} exists, and is not a file that CSVListener wrote. Name another file.")

    def __call__(self, event: Event) -> None:
        about = (round(self._clock() - self._began, 3), event.about, event.done, event.total, event.unit, event.text)
        numbers: list[tuple[str, str, float | str]] = [
            (run, name, value)
            for name, values in event.values.items()
            for run, value in zip(event.runs, values, strict=True)
        ]
        lines = io.StringIO()
        csv.writer(lines, lineterminator="\n").writerows((*about, *number) for number in numbers or [("", "", "")])
        files.append_line(self._path, lines.getvalue().removesuffix("\n"))


@final
class TensorBoardListener:
    """Writes the loss and its parts to a folder that TensorBoard reads: `tensorboard --logdir FOLDER`.

    Each run has a folder of its own in there, so that their curves lie over each other.

    tensorboard must be installed; unbraid does not bring it.
    """

    def __init__(self, folder: Path | str) -> None:
        try:
            from torch.utils.tensorboard import SummaryWriter
        except ImportError:
            raise SpecError(
                "TensorBoardListener needs tensorboard, which is not installed. Install it with `pip install "
                "tensorboard`, or write a table with CSVListener."
            ) from None
        self._folder, self._new_writer = Path(folder), SummaryWriter
        self._writers: dict[str, Any] = {}

    def __call__(self, event: Event) -> None:
        for place, run in enumerate(event.runs if event.values else ()):
            if run not in self._writers:
                self._writers[run] = self._new_writer(str(self._folder / run))
            for name, values in event.values.items():
                if math.isfinite(values[place]):  # a run that has failed has no more of them
                    self._writers[run].add_scalar(name, values[place], event.done)
            if event.is_over:
                self._writers.pop(run).close()

    def close(self) -> None:
        """Writes what is not written yet, as when training was stopped."""
        while self._writers:
            self._writers.popitem()[1].close()
