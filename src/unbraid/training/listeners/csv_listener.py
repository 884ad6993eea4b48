"""Events in a CSV file."""

import csv
import io
import time
from collections.abc import Callable
from pathlib import Path
from typing import final

from unbraid._internal import files
from unbraid._internal.progress import Event
from unbraid.errors import RunError

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
