"""An index of the runs in a folder, beside them, so that hundreds of thousands are looked through in seconds.

It holds nothing that the folders do not: a run whose files have another time or size than when they were read is read
again, and an index that is lost or damaged is made anew.
"""

import contextlib
import json
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, final

from unbraid.events import Event, tell
from unbraid.studies.run_records import KeptNumbers, RunRecord, read_run_record, stamp_of

STUDIES = ".studies"
"""The folder beside the runs that holds the index and the studies that ask for them."""

_FORMAT = 1
_FILE = "index.sqlite"
_SCHEMA = """
CREATE TABLE IF NOT EXISTS runs (name TEXT PRIMARY KEY, stamp TEXT NOT NULL, record TEXT NOT NULL) WITHOUT ROWID;
"""
_AT_ONCE = 2_000


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

    def records(self, names: Sequence[str]) -> dict[str, RunRecord]:
        """Returns the record of each run by the name of its folder, brought up to date first. What cannot be read is
        told in `damaged`, and counts as unfinished.
        """
        found: dict[str, RunRecord] = {}
        changed: list[tuple[str, str, str]] = []
        for done, (name, known) in enumerate(self._known(names)):
            stamp = stamp_of(self._folder / name)
            if known is not None and known[0] == stamp:
                found[name] = _from_text(known[1])
                continue
            found[name] = self._read(name)
            if stamp and name not in self.damaged:
                changed.append((name, stamp, _to_text(found[name])))
            if len(changed) >= _AT_ONCE:
                self._write(changed)
                changed.clear()
            if done % 500 == 0:
                tell(Event("reading runs", done, len(names), "runs"))
        self._write(changed)
        tell(Event("reading runs", len(names), len(names), "runs"))
        return found

    def _known(self, names: Sequence[str]) -> Iterator[tuple[str, tuple[str, str] | None]]:
        """Yields each name with the stamp and the text that the index has of it."""
        assert self._connection is not None
        for start in range(0, len(names), _AT_ONCE):
            part = names[start : start + _AT_ONCE]
            marks = ",".join("?" * len(part))
            rows = self._connection.execute(f"SELECT name, stamp, record FROM runs WHERE name IN ({marks})", part)
            by_name = {name: (stamp, record) for name, stamp, record in rows}
            yield from ((name, by_name.get(name)) for name in part)

    def _read(self, name: str) -> RunRecord:
        try:
            return read_run_record(self._folder / name)
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            self.damaged[name] = f"{type(error).__name__}: {error}"
            return RunRecord("unfinished", reason=self.damaged[name])

    def _write(self, rows: Iterable[tuple[str, str, str]]) -> None:
        assert self._connection is not None
        with contextlib.suppress(sqlite3.Error):  # another process holds it: what was read serves all the same
            self._connection.executemany("INSERT OR REPLACE INTO runs VALUES (?, ?, ?)", rows)
            self._connection.commit()


def _opened(path: Path | None) -> sqlite3.Connection:
    if path is not None:
        path.parent.mkdir(parents=True, exist_ok=True)
    connection = sqlite3.connect(":memory:" if path is None else path, timeout=5)
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


def _to_text(record: RunRecord) -> str:
    content = {name: value for name, value in vars(record).items() if name != "numbers"}
    numbers = {key: [n.value, n.low, n.high, n.parts, n.factors] for key, n in record.numbers.items()}
    return json.dumps({**content, "numbers": numbers})


def _from_text(text: str) -> RunRecord:
    content: dict[str, Any] = json.loads(text)
    content["numbers"] = {key: KeptNumbers(*each) for key, each in content["numbers"].items()}
    return RunRecord(**content)
