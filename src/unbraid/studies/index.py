"""An index of the runs in a folder, beside them, so that hundreds of thousands are looked through in seconds.

It holds nothing that the folders do not: a run whose files have another time or size than when they were read is read
again, and an index that is lost or damaged is made anew.
"""

import contextlib
import functools
import json
import math
import os
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, final

from unbraid.events import Event, tell
from unbraid.studies.run_records import KeptNumbers, RunRecord, read_run_record, stamp_of

STUDIES = ".studies"
"""The folder beside the runs that holds the index and the studies that ask for them."""

_FORMAT = 2
_FILE = "index.sqlite"
_COLUMNS = ("state", "reason", "seconds", "fleet_size", "has_arrays", "num_used", "questions", "refused", "numbers")
_SCHEMA = f"CREATE TABLE IF NOT EXISTS runs (name PRIMARY KEY, stamp, {', '.join(_COLUMNS)}) WITHOUT ROWID;"
_AT_ONCE = 2_000
_SECONDS_TO_WAIT = 5.0  # for another process that writes the index
_UNREAD = KeptNumbers(math.nan, math.nan, math.nan)

_Row = Sequence[Any]


@final
class Index:
    """The records of the runs under one folder. Use it as a context."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._connection: sqlite3.Connection | None = None
        self.damaged: dict[str, str] = {}

    def __enter__(self) -> "Index":
        place = self._folder / STUDIES / _FILE
        if not self._folder.is_dir():
            self._connection = _opened(None)
            return self
        try:
            self._connection = _opened(place)
        except sqlite3.DatabaseError as error:
            is_damaged = not isinstance(error, sqlite3.OperationalError)
            if is_damaged:
                place.unlink(missing_ok=True)
            # On a disk that may not be written, or that has no locks, it is made in memory.
            self._connection = _opened(place if is_damaged else None)
        except OSError:
            self._connection = _opened(None)
        return self

    def __exit__(self, *_: object) -> None:
        if self._connection is not None:
            with contextlib.suppress(sqlite3.Error):
                self._connection.commit()
            self._connection.close()
            self._connection = None

    def records(self, names: Sequence[str], *, with_numbers: bool = True) -> dict[str, RunRecord]:
        """Returns the record of each run by the name of its folder, brought up to date first. A run that cannot be
        read is told in `damaged`, and counts as unfinished. Without numbers, which take longest, it is known which
        there are.
        """
        found: dict[str, RunRecord] = {}
        changed: list[_Row] = []
        place = os.fspath(self._folder)
        for done, (name, known) in enumerate(self._known(names, with_numbers)):
            stamp = stamp_of(f"{place}/{name}")
            if known is not None and known[0] == stamp:
                found[name] = _record(*known[1:])
                continue
            found[name] = self._read(name)
            if stamp and name not in self.damaged:
                changed.append((name, stamp, *_columns(found[name])))
            if len(changed) >= _AT_ONCE:
                self._write(changed)
                changed.clear()
            if done % 500 == 0:
                tell(Event("reading runs", done, len(names), "runs"))
        self._write(changed)
        tell(Event("reading runs", len(names), len(names), "runs"))
        return found

    def _known(self, names: Sequence[str], with_numbers: bool) -> Iterator[tuple[str, _Row | None]]:
        """Yields each name with the stamp and the columns that the index has of it."""
        assert self._connection is not None
        for start in range(0, len(names), _AT_ONCE):
            part = names[start : start + _AT_ONCE]
            marks = ",".join("?" * len(part))
            columns = ", ".join(_COLUMNS if with_numbers else (*_COLUMNS[:-1], "''"))
            rows = self._connection.execute(f"SELECT name, stamp, {columns} FROM runs WHERE name IN ({marks})", part)
            by_name = {name: columns for name, *columns in rows}
            yield from ((name, by_name.get(name)) for name in part)

    def _read(self, name: str) -> RunRecord:
        try:
            return read_run_record(self._folder / name)
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            self.damaged[name] = f"{type(error).__name__}: {error}"
            return RunRecord("unfinished", reason=self.damaged[name])

    def _write(self, rows: Iterable[_Row]) -> None:
        assert self._connection is not None
        with contextlib.suppress(sqlite3.Error):  # another process holds it: what was read serves all the same
            marks = ", ".join("?" * (2 + len(_COLUMNS)))
            self._connection.executemany(f"INSERT OR REPLACE INTO runs VALUES ({marks})", rows)
            self._connection.commit()


def _opened(path: Path | None) -> sqlite3.Connection:
    if path is not None:
        path.parent.mkdir(parents=True, exist_ok=True)
    connection = sqlite3.connect(":memory:" if path is None else path, timeout=_SECONDS_TO_WAIT)
    try:
        version = connection.execute("PRAGMA user_version").fetchone()[0]
        if version not in (0, _FORMAT):
            connection.execute("DROP TABLE IF EXISTS runs")
        connection.executescript(_SCHEMA)
        connection.execute(f"PRAGMA user_version = {_FORMAT}")
        connection.commit()
    except sqlite3.Error:
        connection.close()
        raise
    return connection


def _columns(record: RunRecord) -> _Row:
    """Returns a record as the columns of the index."""
    numbers = {key: [n.value, n.low, n.high, n.parts, n.factors] for key, n in record.numbers.items()}
    plain = (record.state, record.reason, record.seconds, record.fleet_size, record.has_arrays, record.num_used)
    return (*plain, json.dumps(list(numbers)), json.dumps(dict(record.refused)), json.dumps(numbers))


def _record(
    state: Any,
    reason: str,
    seconds: float | None,
    fleet_size: int,
    has_arrays: int,
    num_used: int | None,
    questions: str,
    refused: str,
    numbers: str,
) -> RunRecord:
    """Returns the record of which these are the columns."""
    kept = {key: KeptNumbers(*each) for key, each in json.loads(numbers).items()} if numbers else _unread(questions)
    known = math.nan if seconds is None else seconds  # SQLite has no NaN
    return RunRecord(state, reason, known, fleet_size, bool(has_arrays), num_used, kept, _refusals(refused))


@functools.lru_cache(maxsize=1024)
def _unread(questions: str) -> dict[str, KeptNumbers]:
    """Returns for each question that has an answer that it has one. Most runs of a study share the same."""
    return dict.fromkeys(json.loads(questions), _UNREAD)


@functools.lru_cache(maxsize=1024)
def _refusals(text: str) -> dict[str, str]:
    refused: dict[str, str] = json.loads(text)
    return refused
