"""Cached reading of the records of all runs in a folder: seconds for hundreds of thousands of runs.

The cache is an SQLite file beside the runs. Each row has a copy of the record of one run and a checksum of the files of
the run. Each column has a seal: a checksum that includes the name of the run. Damaged and outdated rows are read again
from the files of the run. A damaged cache is replaced.
"""

import contextlib
import functools
import hashlib
import json
import math
import os
import sqlite3
import struct
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple, final

from unbraid._internal.progress import Event, emit
from unbraid.studies.run_records import KeptNumbers, RunRecord, read_run_record, stamp_of

STUDIES = ".studies"
"""The name of the folder, beside the runs, of the index and of the studies of these runs."""

Detail = Literal["questions", "values", "everything"]
"""Level of detail: only the keys of scores, also values with intervals, or also parts and factors."""

_FORMAT = 6
_FILE = f"index-{_FORMAT}.sqlite"  # different versions of the package have different files
# Parsing takes most of the time, so rarely read contents have their own columns.
_CONTENTS = ("state", "numbers", "parts")
_NUM_CONTENTS: dict[Detail, int] = {"questions": 1, "values": 2, "everything": 3}
_COLUMNS = ", ".join(f"{name}, {name}_seal" for name in _CONTENTS)
_CREATE = f"CREATE TABLE IF NOT EXISTS runs (name PRIMARY KEY, record, {_COLUMNS}) WITHOUT ROWID;"
_AT_ONCE = 2_000
_SECONDS_TO_WAIT = 5.0  # for another process that writes the index
_SIZE_OF_SEAL = 8
_UNREAD = KeptNumbers(math.nan, math.nan, math.nan)
# Errors of SQLite with other causes than a damaged file: other processes, the disk, permissions, memory.
_OTHERS = ["BUSY", "CANTOPEN", "FULL", "IOERR", "LOCKED", "NOLFS", "NOMEM", "PERM", "PROTOCOL"]
_NO_DAMAGE = {getattr(sqlite3, f"SQLITE_{name}") for name in _OTHERS}


@final
class RunRecords(NamedTuple):
    """Records of runs by name, and the error of each damaged record. Damaged runs have the state "unfinished"."""

    records: dict[str, RunRecord]
    damaged: dict[str, str]


def read_records(folder: Path, names: Sequence[str], detail: Detail = "everything") -> RunRecords:
    """Returns the current records of these runs in the folder. Unchanged runs are read from the index."""
    found = RunRecords({}, {})
    with contextlib.closing(_Database(folder)) as database:
        changed: list[tuple[str, list[bytes]]] = []
        for done, (name, row) in enumerate(database.rows(names, detail)):
            stamp = stamp_of(f"{os.fspath(folder)}/{name}")
            if row is not None and row[0].startswith(f"{stamp}\n".encode()):
                found.records[name] = _record(*row)
                continue
            found.records[name], checksum = _read(folder, name, found.damaged)
            if stamp and name not in found.damaged:
                changed.append((name, [checksum, *_contents(stamp, found.records[name])]))
            if len(changed) >= _AT_ONCE:
                database.write(changed)
                changed.clear()
            if done % 500 == 0:
                emit(Event("reading runs", done, len(names), "runs"))
        database.write(changed)
    emit(Event("reading runs", len(names), len(names), "runs"))
    return found


def _read(folder: Path, name: str, damaged: dict[str, str]) -> tuple[RunRecord, bytes]:
    try:
        return read_run_record(folder / name)
    except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        damaged[name] = f"{type(error).__name__}: {error}"
        return RunRecord("unfinished", reason=damaged[name]), b""


@final
class _Database:
    """Connection to the index file. If the file is unusable, reads return no rows and writes do nothing."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / STUDIES / _FILE if folder.is_dir() else None
        self._connection: sqlite3.Connection | None = None

    def rows(self, names: Sequence[str], detail: Detail) -> Iterator[tuple[str, list[bytes] | None]]:
        """Yields the names in sorted order, each with the contents of its row, or None for a missing or damaged row."""
        contents = _CONTENTS[: _NUM_CONTENTS[detail]]
        columns = ", ".join(f"{name}, {name}_seal" for name in contents)
        # For many names, all rows between the first and the last name are read.
        chosen = f"IN ({','.join('?' * len(names))})" if len(names) <= _AT_ONCE else "BETWEEN ? AND ?"
        query = f"SELECT name, record, {columns} FROM runs WHERE name {chosen}"
        ordered = sorted(names)
        for start in range(0, len(ordered), _AT_ONCE):
            part = ordered[start : start + _AT_ONCE]
            given = ordered if len(ordered) <= _AT_ONCE else (part[0], part[-1])
            rows = self._attempt(functools.partial(_rows, query, given))
            found = {row[0]: row[1:] for row in rows or []}
            yield from ((name, _intact(contents, name, found.get(name.encode()))) for name in part)

    def write(self, rows: Sequence[tuple[str, list[bytes]]]) -> None:
        """Writes rows. A row has the name of a run, and a list of the checksum of its files and the contents."""

        def insert(database: sqlite3.Connection) -> None:
            for name, (record, *contents) in rows:
                values = [name, record]
                for column, content in zip(_CONTENTS, contents, strict=True):
                    values += [content, _seal(column, name, record, content)]
                database.execute("INSERT OR REPLACE INTO runs VALUES (?, ?, ?, ?, ?, ?, ?, ?)", values)
            database.commit()

        if rows:
            self._attempt(insert)

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
        self._connection = None

    def _attempt(self, action: Callable[[sqlite3.Connection], Any]) -> Any:
        """Returns the result of `action`, or None if the file is unusable. Replaces a damaged file and tries again."""
        for _ in range(2):  # the second attempt has a new file
            if self._path is None:
                break
            try:
                self._connection = self._connection or _connected(self._path)
                return action(self._connection)
            except (sqlite3.Error, UnicodeDecodeError, OSError) as error:
                self.close()
                try:
                    if not _is_damage(error, self._path):
                        raise
                    self._path.unlink()
                except (sqlite3.Error, OSError):
                    self._path = None
        return None


def _rows(query: str, given: Sequence[str], database: sqlite3.Connection) -> list[Any]:
    return database.execute(query, given).fetchall()


def _is_damage(error: Exception, path: Path) -> bool:
    """Returns whether the cause of the error is a damaged file."""
    code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_CORRUPT) & 0xFF
    if code == sqlite3.SQLITE_READONLY:  # also the code of a damaged file header
        return os.access(path, os.W_OK)
    return code not in _NO_DAMAGE and not isinstance(error, OSError)


def _connected(path: Path) -> sqlite3.Connection:
    """Opens the file, or creates a missing file. Raises sqlite3.Error if the file is damaged."""
    path.parent.mkdir(parents=True, exist_ok=True)
    connection = sqlite3.connect(path, timeout=_SECONDS_TO_WAIT)
    connection.text_factory = bytes  # damaged text raises no error
    try:
        connection.execute(_CREATE)
    except BaseException:
        connection.close()
        raise
    return connection


def _intact(columns: Sequence[str], name: str, row: Sequence[Any] | None) -> list[bytes] | None:
    """Returns the contents of a row, or None if the row is missing or damaged."""
    if row is None or any(not isinstance(value, bytes) for value in row):
        return None
    record, contents = row[0], list(row[1::2])
    seals = [_seal(column, name, record, content) for column, content in zip(columns, contents, strict=True)]
    return contents if seals == list(row[2::2]) else None


def _seal(column: str, name: str, record: bytes, content: bytes) -> bytes:
    sealed = b"\0".join((column.encode(), name.encode(), record, content))
    return hashlib.blake2b(sealed, digest_size=_SIZE_OF_SEAL).digest()


def _contents(stamp: str, record: RunRecord) -> tuple[bytes, bytes, bytes]:
    """Converts a record to the contents of a row: state, numbers, and parts."""
    kept = record.numbers.values()
    *plain, numbers, refused = record
    lines = [stamp, *map(json.dumps, (plain, list(numbers), dict(refused)))]
    values = [number for each in kept for number in (each.value, each.low, each.high)]
    return (
        "\n".join(lines).encode(),
        json.dumps([each.over for each in kept]).encode() + b"\n" + struct.pack(f"<{len(values)}d", *values),
        json.dumps([[each.parts, each.factors] for each in kept]).encode(),
    )


def _record(state: bytes, numbers: bytes | None = None, parts: bytes | None = None) -> RunRecord:
    """Converts the contents of a row to a record."""
    _, plain, questions, refused = state.split(b"\n")
    kept = _unread(questions) if numbers is None else _kept(questions, numbers, parts)
    return RunRecord._make([*json.loads(plain), kept, _loaded(refused)])


def _kept(questions: bytes, content: bytes, parts: bytes | None) -> dict[str, KeptNumbers]:
    """Parses the numbers of all scores, by the key of the score. `parts` is None if it was not read."""
    factors, _, numbers = content.partition(b"\n")
    asked = _asked(questions, factors)
    intervals: Iterable[tuple[Any, Any, Any]] = struct.iter_unpack("<ddd", numbers)  # value, low, high
    if parts is None:
        return {key: KeptNumbers(*ends, over) for (key, over), ends in zip(asked, intervals, strict=True)}
    every = zip(asked, intervals, json.loads(parts), strict=True)
    return {key: KeptNumbers(*ends, over, *more) for (key, over), ends, more in every}


# Most runs of a study have the same questions, factors and refusals.
@functools.lru_cache(maxsize=1024)
def _unread(questions: bytes) -> dict[str, KeptNumbers]:
    return dict.fromkeys(json.loads(questions), _UNREAD)


@functools.lru_cache(maxsize=1024)
def _asked(questions: bytes, factors: bytes) -> list[tuple[str, tuple[str, ...]]]:
    return [(key, tuple(over)) for key, over in zip(json.loads(questions), json.loads(factors), strict=True)]


@functools.lru_cache(maxsize=1024)
def _loaded(text: bytes) -> dict[str, str]:
    refused: dict[str, str] = json.loads(text)
    return refused
