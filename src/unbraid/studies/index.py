"""The records of the runs in a folder, through an index beside them: hundreds of thousands are read in seconds.

The index, an SQLite file, is a cache. A row copies the record of one run, is bound to its name, and carries the
checksum of that record and one of its own. Rows that are damaged, or whose files have changed since, are made again
from the records; so is a damaged file.
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
from typing import Any, Literal, NamedTuple, TypeVar, final

from unbraid._internal.progress import Event, emit
from unbraid.studies.run_records import KeptNumbers, RunRecord, read_run_record, stamp_of

STUDIES = ".studies"
"""The folder beside the runs that holds the index and the studies of these runs."""

Detail = Literal["questions", "values", "everything"]
"""How much of the scores is read: which there are, their values with intervals, or parts and factors too."""

_FORMAT = 4
_FILE = "index.sqlite"
# Numbers take longest to read, so they have tables of their own.
_TABLES = ("runs", "numbers", "parts")
_CREATE = "CREATE TABLE IF NOT EXISTS {} (name PRIMARY KEY, record, content, seal) WITHOUT ROWID;"
_NUM_TABLES: dict[Detail, int] = {"questions": 1, "values": 2, "everything": 3}
_AT_ONCE = 2_000
_SECONDS_TO_WAIT = 5.0  # for another process that writes the index
_SIZE_OF_SEAL = 8
_UNREAD = KeptNumbers(math.nan, math.nan, math.nan)
# Errors of SQLite that are no damage: another process, the disk, permissions, memory.
_OTHERS = ["BUSY", "CANTOPEN", "FULL", "IOERR", "LOCKED", "NOLFS", "NOMEM", "PERM", "PROTOCOL"]
_NO_DAMAGE = {getattr(sqlite3, f"SQLITE_{name}") for name in _OTHERS}

_T = TypeVar("_T")


@final
class RunRecords(NamedTuple):
    """Records by the names of the runs, and why some are damaged. Damaged runs count as unfinished."""

    records: dict[str, RunRecord]
    damaged: dict[str, str]


def read_records(folder: Path, names: Sequence[str], detail: Detail = "everything") -> RunRecords:
    """Returns the records of the runs with these names, each as its folder holds it now."""
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
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        damaged[name] = f"{type(error).__name__}: {error}"
        return RunRecord("unfinished", reason=damaged[name]), b""


@final
class _Database:
    """The file of the index. Where it cannot be used, there are no rows and none are kept."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / STUDIES / _FILE if folder.is_dir() else None
        self._connection: sqlite3.Connection | None = None

    def rows(self, names: Sequence[str], detail: Detail) -> Iterator[tuple[str, list[bytes] | None]]:
        """Yields the names in order, each with the contents of its row in the tables that have this much detail."""
        tables = _TABLES[: _NUM_TABLES[detail]]
        columns = ", ".join(f"{table}.record, {table}.content, {table}.seal" for table in tables)
        joined = tables[0] + "".join(f" JOIN {table} USING (name)" for table in tables[1:])
        # Where there are many, neighbors are read together, with whatever lies between them.
        chosen = f"IN ({','.join('?' * len(names))})" if len(names) <= _AT_ONCE else "BETWEEN ? AND ?"
        query = f"SELECT runs.name, {columns} FROM {joined} WHERE runs.name {chosen}"
        ordered = sorted(names)
        for start in range(0, len(ordered), _AT_ONCE):
            part = ordered[start : start + _AT_ONCE]
            given = ordered if len(ordered) <= _AT_ONCE else (part[0], part[-1])
            contents = {row[0]: row[1:] for row in self._attempt(functools.partial(_rows, query, given)) or []}
            yield from ((name, _intact(tables, name, contents.get(name.encode()))) for name in part)

    def write(self, rows: Sequence[tuple[str, list[bytes]]]) -> None:
        """Writes rows: a name, the checksum of its record and the contents for each table."""

        def insert(database: sqlite3.Connection) -> None:
            for place, table in enumerate(_TABLES):
                values = [
                    (name, record, contents[place], _seal(table, name, record, contents[place]))
                    for name, (record, *contents) in rows
                ]
                database.executemany(f"INSERT OR REPLACE INTO {table} VALUES (?, ?, ?, ?)", values)
            database.commit()

        if rows:
            self._attempt(insert)

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
        self._connection = None

    def _attempt(self, action: Callable[[sqlite3.Connection], _T]) -> _T | None:
        """Returns the result of the action; None if the file cannot be used. A damaged file is replaced first."""
        for _ in range(2):  # the second time with a new file
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
    """Returns whether the error is due to the content of the file."""
    code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_CORRUPT) & 0xFF
    if code == sqlite3.SQLITE_READONLY:  # also what a flipped bit in the header of the file looks like
        return os.access(path, os.W_OK)
    return code not in _NO_DAMAGE and not isinstance(error, OSError)


def _connected(path: Path) -> sqlite3.Connection:
    """Returns a connection to the file, which is made if need be. Raises an sqlite3.Error if it is damaged."""
    path.parent.mkdir(parents=True, exist_ok=True)
    connection = sqlite3.connect(path, timeout=_SECONDS_TO_WAIT)
    connection.text_factory = bytes  # damaged text is no error
    try:
        version = connection.execute("PRAGMA user_version").fetchone()[0]
        if version == 0:
            connection.executescript(
                "BEGIN IMMEDIATE;"
                + "".join(_CREATE.format(table) for table in _TABLES)
                + f"PRAGMA user_version = {_FORMAT}; COMMIT;"
            )
        elif version != _FORMAT:
            raise sqlite3.DatabaseError(f"The index has format {version}; expected {_FORMAT}.")
    except BaseException:
        connection.close()
        raise
    return connection


def _intact(tables: Sequence[str], name: str, row: Sequence[Any] | None) -> list[bytes] | None:
    """Returns the contents of a row; None if it is missing, damaged or made of several records."""
    if row is None or any(not isinstance(value, bytes) for value in row) or len(set(row[::3])) > 1:
        return None
    contents = list(row[1::3])
    seals = [_seal(table, name, row[0], content) for table, content in zip(tables, contents, strict=True)]
    return contents if seals == list(row[2::3]) else None


def _seal(table: str, name: str, record: bytes, content: bytes) -> bytes:
    return hashlib.blake2b(
        b"\0".join((table.encode(), name.encode(), record, content)), digest_size=_SIZE_OF_SEAL
    ).digest()


def _contents(stamp: str, record: RunRecord) -> tuple[bytes, bytes, bytes]:
    """Returns a record as the contents of the tables."""
    kept = record.numbers.values()
    plain = (record.state, record.reason, record.seconds, record.fleet_size, record.has_arrays, record.num_used)
    lines = [stamp, *map(json.dumps, (plain, list(record.numbers), dict(record.refused)))]
    values = [number for each in kept for number in (each.value, each.low, each.high)]
    return (
        "\n".join(lines).encode(),
        json.dumps([each.over for each in kept]).encode() + b"\n" + struct.pack(f"<{len(values)}d", *values),
        json.dumps([[each.parts, each.factors] for each in kept]).encode(),
    )


def _record(run: bytes, numbers: bytes | None = None, parts: bytes | None = None) -> RunRecord:
    """Returns the record from the contents of the tables."""
    _, plain, questions, refused = run.split(b"\n")
    kept = _unread(questions) if numbers is None else _kept(questions, numbers, parts)
    state, reason, seconds, fleet_size, has_arrays, num_used = json.loads(plain)
    return RunRecord(state, reason, seconds, fleet_size, has_arrays, num_used, kept, _loaded(refused))


def _kept(questions: bytes, content: bytes, parts: bytes | None) -> dict[str, KeptNumbers]:
    """Returns the numbers of the questions that have an answer."""
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
