"""Codes from a table of comma-separated values."""

import csv
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import count, islice
from pathlib import Path
from typing import Any, NoReturn, TextIO, final

import numpy as np
import torch

from unbraid.codes import Codes, Labels
from unbraid.errors import CodesError

MAX_LINE = 1_000_000  # characters
_ROWS_PER_BLOCK = 20_000
_KINDS = ("mean", "std", "log_var", "sample")
_FACTOR = "factor:"
_FILE = "file"  # which picture a row is of, as `unbraid encode` writes it: read by people, not here
_MISSING = frozenset({"", "nan", "NaN"})


def read_csv(path: Path) -> Codes:
    """Codes from columns `mean_0`, `mean_1`, ..., `std_0` (or `log_var_0`) ..., or `sample_0` ..., with `factor:NAME`, `weight` and `file` if there are any.

    A factor whose labels are all whole numbers is discrete; numbers make a continuous one; words make a categorical one. An empty label, or nan, is
    missing. The first line names the columns; a row is an image. UTF-8, read a block of rows at a time.
    """
    try:
        with path.open(encoding="utf-8-sig") as stream:
            lines = _lines(path, stream)
            columns = _Columns(path, _names(path, next(csv.reader(lines), [])))
            while block := list(islice(lines, _ROWS_PER_BLOCK)):
                columns.add([line for line in block if not line.isspace()])
    except UnicodeDecodeError as error:
        raise CodesError(f"{path} is not UTF-8 text ({error.reason} at byte {error.start}). Save the table as UTF-8.") from None
    except csv.Error as error:
        raise CodesError(f"{path} cannot be read as comma-separated values ({error}). Check its quotation marks.") from None
    return columns.codes()


def _lines(path: Path, stream: TextIO) -> Iterator[str]:
    """One line after the other, never more of it in memory than a line may be long."""
    for number in count(1):
        line = stream.readline(MAX_LINE + 1)
        if not line:
            return
        if len(line) > MAX_LINE:
            raise CodesError(f"Line {number} of {path} is longer than {MAX_LINE:,} characters. Write one row a line, a row an image.")
        yield line


def _names(path: Path, header: list[str]) -> list[str]:
    """The names of the columns, if they are what codes have."""
    names = [name.strip() for name in header]
    unknown = [name for name in names if not re.fullmatch(rf"({'|'.join(_KINDS)})_\d+|weight|{_FILE}|{_FACTOR}.+", name)]
    if unknown or not names:
        raise CodesError(
            f"{path} has columns that are not understood ({', '.join(map(repr, unknown[:3])) or 'none at all'}). Expected mean_0, ..., std_0 or "
            "log_var_0, ..., sample_0, ..., weight and factor:NAME, separated by commas, in the first line. Rename or drop the others."
        )
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise CodesError(f"{path} has more than one column {twice[0]!r}. Give each column its own name.")
    for kind in _KINDS:
        numbers = sorted(int(name.rpartition("_")[2]) for name in names if name.rpartition("_")[0] == kind)
        if numbers != list(range(len(numbers))):
            raise CodesError(f"The columns {kind}_* of {path} are numbered {numbers}. Number them from 0, without gaps.")
    return names


@final
@dataclass
class _Columns:
    """What was read so far: numbers as numbers, labels as the places of their words in a list of distinct words."""

    path: Path
    names: Sequence[str]
    numbers: list[np.ndarray] = field(default_factory=list)
    labels: list[np.ndarray] = field(default_factory=list)
    words: list[defaultdict[str, int]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.words = [defaultdict(count().__next__) for name in self.names if name.startswith(_FACTOR)]

    def add(self, lines: list[str]) -> None:
        if not lines:
            return
        # A word is as long as it is: an object, where numbers are numbers.
        kinds = [(f"column_{i}", object if name.startswith(_FACTOR) or name == _FILE else np.float64) for i, name in enumerate(self.names)]
        try:
            # ndmin: a single row is a table too.
            table = np.loadtxt(lines, dtype=kinds, delimiter=",", comments=None, quotechar='"', ndmin=1)
        except ValueError as error:
            self._refuse(str(error))
        numbers = [table[place] for place, kind in kinds if kind is np.float64]
        words = [table[f"column_{i}"].tolist() for i, name in enumerate(self.names) if name.startswith(_FACTOR)]
        self.numbers.append(np.stack(numbers) if numbers else np.zeros((0, len(table))))
        places = [list(map(index.__getitem__, column)) for index, column in zip(self.words, words, strict=True)]
        self.labels.append(np.array(places, dtype=np.int64).reshape(len(places), len(table)))

    def codes(self) -> Codes:
        if not self.numbers:
            raise CodesError(f"{self.path} names columns and has no rows. Write a row an image.")
        measured = [name for name in self.names if not name.startswith(_FACTOR) and name != _FILE]
        table = np.concatenate(self.numbers, axis=1)
        of_kind = {kind: [f"{kind}_{i}" for i in range(sum(name.rpartition("_")[0] == kind for name in measured))] for kind in _KINDS}
        arrays: dict[str, Any] = {
            kind: table[[measured.index(name) for name in names]].T.copy() for kind, names in of_kind.items() if names
        }
        if "sample" in arrays:
            arrays["samples"] = arrays.pop("sample")
        if "weight" in measured:
            arrays["weights"] = table[measured.index("weight")]
        codes = Codes.from_arrays(**arrays)
        places = np.concatenate(self.labels, axis=1)
        names = [name.removeprefix(_FACTOR) for name in self.names if name.startswith(_FACTOR)]
        factors = tuple(_labels(name, list(index), column) for name, index, column in zip(names, self.words, places, strict=True))
        return replace(codes, factors=factors)

    def _refuse(self, complaint: str) -> NoReturn:
        """Read again, row by row, for the line that is at fault."""
        with self.path.open(encoding="utf-8-sig") as stream:
            reader = csv.reader(_lines(self.path, stream))
            next(reader)
            for row in reader:
                if row and len(row) != len(self.names):
                    raise CodesError(
                        f"Line {reader.line_num} of {self.path} has {len(row)} fields and the first line names {len(self.names)} columns. "
                        "Give every row a value for each."
                    )
                for name, text in zip(self.names, row, strict=False):
                    if not name.startswith(_FACTOR) and not _is_number(text):
                        raise CodesError(
                            f"Line {reader.line_num} of {self.path} has {text[:40]!r} in column {name!r}; expected a number. "
                            "Correct it, or drop the row."
                        )
        raise CodesError(f"{self.path} cannot be read as comma-separated values ({complaint}). Check its quotation marks.")


def _labels(name: str, words: list[str], places: np.ndarray) -> Labels:
    """The column of a factor, in the narrowest form that takes all its words."""
    missing = np.array([word.strip() in _MISSING for word in words])
    known = None if not missing.any() else torch.from_numpy(~missing[places])
    for kind, dtype in ((int, np.int64), (float, np.float64)):
        try:
            values = np.array([0 if gone else kind(word) for word, gone in zip(words, missing, strict=True)], dtype=dtype)
        except (ValueError, OverflowError):
            continue
        return Labels(name, torch.from_numpy(values[places]), known)
    # In alphabetical order, whatever the order of the rows.
    numbers = np.unique(words, return_inverse=True)[1]
    return Labels(name, torch.from_numpy(numbers[places]), known, ordered=False)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return "_" not in text  # Python takes 1_000 for a number; nobody else does
