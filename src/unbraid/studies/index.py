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
import struct
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Literal, final

from unbraid.events import Event, tell
from unbraid.studies.run_records import KeptNumbers, RunRecord, read_run_record, stamp_of

STUDIES = ".studies"
"""The folder beside the runs that holds the index and the studies that ask for them."""

Detail = Literal["questions", "values", "everything"]
"""How much of the scores of a run is wanted: which there are, their values with intervals, or parts and factors too."""

_FORMAT = 3
_FILE = "index.sqlite"
_COLUMNS = ("state", "reason", "seconds", "fleet_size", "has_arrays", "num_used", "questions", "refused")
_OF_DETAIL: dict[Detail, tuple[str, ...]] = {
    "questions": ("NULL", "NULL", "NULL"),
    "values": ("numbers", "factors", "NULL"),
    "everything": ("numbers", "factors", "parts"),
}
# What a table needs is apart from what a plan needs, and what few commands need from both: fewer pages are read.
_SCHEMA = f"""
CREATE TABLE IF NOT EXISTS runs (name PRIMARY KEY, stamp, {", ".join(_COLUMNS)}) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS numbers (name PRIMARY KEY, numbers, factors) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS parts (name PRIMARY KEY, parts) WITHOUT ROWID;
"""
_TABLES = ("runs", "numbers", "parts")
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

    def records(self, names: Sequence[str], detail: Detail = "everything") -> dict[str, RunRecord]:
        """Returns the record of each run by the name of its folder, brought up to date first. A run that cannot be
        read is told in `damaged`, and counts as unfinished. Numbers take longest to read: a smaller `detail` leaves
        those out that are not wanted.
        """
        found: dict[str, RunRecord] = {}
        changed: list[tuple[str, str, RunRecord]] = []
        place = os.fspath(self._folder)
        for done, (name, known) in enumerate(self._known(names, detail)):
            stamp = stamp_of(f"{place}/{name}")
            if known is not None and known[1] == stamp:
                found[name] = _record(*known[2:])
                continue
            found[name] = self._read(name)
            if stamp and name not in self.damaged:
                changed.append((name, stamp, found[name]))
            if len(changed) >= _AT_ONCE:
                self._write(changed)
                changed.clear()
            if done % 500 == 0:
                tell(Event("reading runs", done, len(names), "runs"))
        self._write(changed)
        tell(Event("reading runs", len(names), len(names), "runs"))
        return found

    def _known(self, names: Sequence[str], detail: Detail) -> Iterator[tuple[str, _Row | None]]:
        """Yields the names in order, each with what the index has of it: name, stamp and columns."""
        assert self._connection is not None
        wanted = ", ".join(("runs.name", "stamp", *_COLUMNS, *_OF_DETAIL[detail]))
        joined = "runs"
        if detail != "questions":
            joined += " JOIN numbers USING (name)"
        if detail == "everything":
            joined += " JOIN parts USING (name)"
        # Neighbours are read together, with what lies between them, where there are many.
        chosen = f"IN ({','.join('?' * len(names))})" if len(names) <= _AT_ONCE else "BETWEEN ? AND ?"
        ordered = sorted(names)
        for start in range(0, len(ordered), _AT_ONCE):
            part = ordered[start : start + _AT_ONCE]
            given = ordered if len(ordered) <= _AT_ONCE else (part[0], part[-1])
            rows = self._connection.execute(f"SELECT {wanted} FROM {joined} WHERE runs.name {chosen}", given)
            by_name = {row[0]: row for row in rows}
            yield from ((name, by_name.get(name)) for name in part)

    def _read(self, name: str) -> RunRecord:
        try:
            return read_run_record(self._folder / name)
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            self.damaged[name] = f"{type(error).__name__}: {error}"
            return RunRecord("unfinished", reason=self.damaged[name])

    def _write(self, changed: Iterable[tuple[str, str, RunRecord]]) -> None:
        assert self._connection is not None
        rows: dict[str, list[_Row]] = {table: [] for table in _TABLES}
        for name, stamp, record in changed:
            for table, row in zip(_TABLES, _columns(record), strict=True):
                rows[table].append((name, *((stamp,) if table == "runs" else ()), *row))
        with contextlib.suppress(sqlite3.Error):  # another process holds it: what was read serves all the same
            for table, of_table in rows.items():
                if of_table:
                    marks = ", ".join("?" * len(of_table[0]))
                    self._connection.executemany(f"INSERT OR REPLACE INTO {table} VALUES ({marks})", of_table)
            self._connection.commit()


def _opened(path: Path | None) -> sqlite3.Connection:
    if path is not None:
        path.parent.mkdir(parents=True, exist_ok=True)
    connection = sqlite3.connect(":memory:" if path is None else path, timeout=_SECONDS_TO_WAIT)
    try:
        version = connection.execute("PRAGMA user_version").fetchone()[0]
        if version not in (0, _FORMAT):
            connection.executescript("".join(f"DROP TABLE IF EXISTS {table};" for table in _TABLES))
        connection.executescript(_SCHEMA)
        connection.execute(f"PRAGMA user_version = {_FORMAT}")
        connection.commit()
    except sqlite3.Error:
        connection.close()
        raise
    return connection


def _columns(record: RunRecord) -> tuple[_Row, _Row, _Row]:
    """Returns a record as the columns of the tables of the index."""
    kept = record.numbers.values()
    plain = (record.state, record.reason, record.seconds, record.fleet_size, record.has_arrays, record.num_used)
    values = [number for each in kept for number in (each.value, each.low, each.high)]
    return (
        (*plain, json.dumps(list(record.numbers)), json.dumps(dict(record.refused))),
        (struct.pack(f"<{len(values)}d", *values), json.dumps([each.over for each in kept])),
        (json.dumps([[each.parts, each.factors] for each in kept]),),
    )


def _record(
    state: Any,
    reason: str,
    seconds: float | None,
    fleet_size: int,
    has_arrays: int,
    num_used: int | None,
    questions: str,
    refused: str,
    numbers: bytes | None,
    factors: str | None,
    parts: str | None,
) -> RunRecord:
    """Returns the record of which these are the columns."""
    kept = _unread(questions) if numbers is None else _kept(_asked(questions, factors or "[]"), numbers, parts)
    known = math.nan if seconds is None else seconds  # SQLite has no NaN
    return RunRecord(state, reason, known, fleet_size, bool(has_arrays), num_used, kept, _refusals(refused))


def _kept(asked: Sequence[tuple[str, tuple[str, ...]]], numbers: bytes, parts: str | None) -> dict[str, KeptNumbers]:
    """Returns the numbers of the questions that have an answer."""
    intervals: Iterable[tuple[Any, Any, Any]] = struct.iter_unpack("<ddd", numbers)  # value, low, high
    if parts is None:
        return {key: KeptNumbers(*ends, over) for (key, over), ends in zip(asked, intervals, strict=True)}
    every = zip(asked, intervals, json.loads(parts), strict=True)
    return {key: KeptNumbers(*ends, over, *more) for (key, over), ends, more in every}


@functools.lru_cache(maxsize=1024)
def _unread(questions: str) -> dict[str, KeptNumbers]:
    """Returns for each question that has an answer that it has one. Most runs of a study share the same."""
    return dict.fromkeys(json.loads(questions), _UNREAD)


@functools.lru_cache(maxsize=1024)
def _asked(questions: str, factors: str) -> list[tuple[str, tuple[str, ...]]]:
    """Returns the questions that have an answer, each with the factors that it is over."""
    return [(key, tuple(over)) for key, over in zip(json.loads(questions), json.loads(factors), strict=True)]


@functools.lru_cache(maxsize=1024)
def _refusals(text: str) -> dict[str, str]:
    refused: dict[str, str] = json.loads(text)
    return refused
