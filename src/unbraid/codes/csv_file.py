"""Codes as a table of comma-separated values."""

import csv
import io
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import count, islice
from pathlib import Path
from typing import Any, NoReturn, TextIO, final

import numpy as np

from unbraid._internal import files
from unbraid._internal.arrays import shown
from unbraid.codes.codes import Codes
from unbraid.codes.label_text import NUMBER, labels_of_text, quoted
from unbraid.codes.latent_prior import LatentPrior
from unbraid.codes.named_arrays import CATEGORY, FACTOR, LOG_VAR
from unbraid.errors import CodesError

MAX_LINE = 1_000_000  # characters
_ROWS_PER_BLOCK = 20_000
_CELLS_PER_BLOCK = 2_000_000  # of a table with many columns, fewer rows at a time
_KINDS = ("mean", "std", LOG_VAR, "sample")
_WEIGHT = "weight"
_FILE = "file"  # the picture of a row, which `unbraid encode` writes for people: not read here
_BLANK = re.compile(r"[^\S\n]")
_COLUMN = re.compile(rf"({'|'.join(_KINDS)})_(0|[1-9][0-9]{{0,8}})|{_WEIGHT}|{_FILE}|({FACTOR}|{CATEGORY}).+")


def write_csv(path: Path, codes: Codes, file_names: Sequence[str] = ()) -> None:
    """Writes columns that `read_csv` reads, numbers with all their digits. Raises if something has no column."""
    if lost := without_columns(codes):
        raise CodesError(f"{path} has no place for {', '.join(lost)}. Save the codes as .npz or .safetensors.")
    columns: dict[str, list[Any]] = {_FILE: list(file_names)} if file_names else {}
    draw = None if codes.samples is None else codes.samples[0]
    for kind, values in (("mean", codes.mean), ("std", codes.std), ("sample", draw)):
        if values is not None:
            columns |= {f"{kind}_{latent}": column for latent, column in enumerate(values.T.tolist())}
    if codes.weights is not None:
        columns[_WEIGHT] = codes.weights.tolist()
    for labels in codes.factors:
        known = labels.is_known.tolist()
        columns[f"{FACTOR if labels.ordered else CATEGORY}{labels.name}"] = [
            label if is_known else "" for label, is_known in zip(labels.values.tolist(), known, strict=True)
        ]
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(zip(*columns.values(), strict=True))
    files.write_text(path, text.getvalue())


def without_columns(codes: Codes) -> list[str]:
    """Returns the parts of these codes that a .csv has no columns for. A standard prior needs none: it is assumed."""
    has = {
        "the covariance": codes.covariance is not None,
        "several draws": codes.samples is not None and len(codes.samples) > 1,
        "the probabilities of discrete latents": bool(codes.probabilities),
        "groups of latents": bool(codes.groups),
        "the prior": codes.prior not in (None, LatentPrior.standard(codes.mean.shape[1])),
    }
    for labels in codes.factors:
        has[f"the soft labels of {labels.name!r}"] = labels.is_soft
        has[f"the unordered continuous labels of {labels.name!r}"] = labels.is_continuous and not labels.ordered
        has[f"the blanks at the end of {labels.name!r}"] = labels.name != labels.name.rstrip()
    return [name for name, is_there in has.items() if is_there]


def read_csv(path: Path) -> Codes:
    """Reads codes from columns `mean_0`, ..., with `std_0` or `log_var_0`, or from `sample_0`, ...

    There may be `factor:NAME`, `category:NAME`, `weight` and `file` too. A factor whose labels are all whole numbers is
    discrete; numbers make a continuous one; words make a categorical one, and so does `category:NAME` of any of them.
    An empty label, or nan (with or without a sign), is missing. Blanks around a number are refused. The first line
    names the columns; a row is an image, and a line: quoted fields may hold commas and doubled quotation marks, but no
    line breaks. The file is UTF-8, read a block of rows at a time.
    """
    try:
        with files.opened(path, "r", encoding="utf-8-sig") as stream:
            lines = _lines(path, stream)
            columns = _Columns(path, _names(path, next(csv.reader(lines), [])))
            num_rows = min(_ROWS_PER_BLOCK, max(1, _CELLS_PER_BLOCK // len(columns.names)))
            while block := list(islice(lines, num_rows)):
                columns.add([line for line in block if not line.isspace()])
    except UnicodeDecodeError as error:
        raise CodesError(
            f"{path} is not UTF-8 text ({error.reason} at byte {error.start}). Save the table as UTF-8."
        ) from None
    except csv.Error as error:
        raise CodesError(
            f"{path} cannot be read as comma-separated values ({error}). Check its quotation marks."
        ) from None
    return columns.codes()


def _lines(path: Path, stream: TextIO) -> Iterator[str]:
    """Yields each line, and refuses one that is too long before it is all in memory."""
    for number in count(1):
        line = stream.readline(MAX_LINE + 1)
        if not line:
            return
        if len(line) > MAX_LINE:
            raise CodesError(
                f"Line {number} of {path} is longer than {MAX_LINE:,} characters. Write one row a line, a row an image."
            )
        if line.count('"') % 2:
            raise CodesError(
                f"Line {number} of {path} has an odd number of quotation marks. Close each on its line (fields hold no "
                "line breaks), and double one that is part of a word."
            )
        yield line


def _names(path: Path, header: list[str]) -> list[str]:
    """Returns the names of the columns, or raises if codes have no such columns."""
    names = [name.strip() for name in header]
    unknown = [name for name in names if not _COLUMN.fullmatch(name)]
    if unknown or not names:
        raise CodesError(
            f"{path} has columns that are not understood ({', '.join(map(quoted, unknown[:3])) or 'none at all'}). "
            "Expected mean_0, ..., std_0 or log_var_0, ..., sample_0, ..., weight, factor:NAME and category:NAME, "
            "separated by commas, in the first line. Rename or drop the others."
        )
    twice = sorted(name for name, times in Counter(names).items() if times > 1)
    if twice:
        raise CodesError(f"{path} has more than one column {quoted(twice[0])}. Give each column its own name.")
    for kind in _KINDS:
        numbers = sorted(int(name.rpartition("_")[2]) for name in names if name.rpartition("_")[0] == kind)
        if numbers != list(range(len(numbers))):
            raise CodesError(
                f"The columns {kind}_* of {path} are numbered [{shown(numbers, most=10)}]. Number them from 0, "
                "without gaps."
            )
    return names


@final
@dataclass
class _Columns:
    """The rows read so far: numbers, and labels as places in a list of distinct words."""

    path: Path
    names: Sequence[str]
    numbers: list[np.ndarray] = field(default_factory=list)
    labels: list[np.ndarray] = field(default_factory=list)
    words: list[defaultdict[str, int]] = field(default_factory=list)
    row: np.dtype[Any] = field(init=False)

    def __post_init__(self) -> None:
        # Words differ in length, so they are objects.
        self.row = np.dtype([(str(i), np.float64 if _is_number(name) else object) for i, name in enumerate(self.names)])
        self.words = [defaultdict(count().__next__) for name in self.names if _is_label(name)]

    def add(self, lines: list[str]) -> None:
        if not lines:
            return
        self._check_blanks(lines)
        try:
            # ndmin: a single row is a table too.
            table = np.loadtxt(lines, dtype=self.row, delimiter=",", comments=None, quotechar='"', ndmin=1)
        except ValueError as error:
            self._refuse(str(error))
        numbers = [table[str(i)] for i, name in enumerate(self.names) if _is_number(name)]
        words = [table[str(i)].tolist() for i, name in enumerate(self.names) if _is_label(name)]
        self.numbers.append(np.stack(numbers) if numbers else np.zeros((0, len(table))))
        places = [list(map(index.__getitem__, column)) for index, column in zip(self.words, words, strict=True)]
        self.labels.append(np.array(places, dtype=np.int64).reshape(len(places), len(table)))

    def codes(self) -> Codes:
        if not self.numbers:
            raise CodesError(f"{self.path} names columns and has no rows. Write a row an image.")
        place = {name: i for i, name in enumerate(filter(_is_number, self.names))}
        table = np.concatenate(self.numbers, axis=1)
        of_kind = {
            kind: [f"{kind}_{i}" for i in range(sum(name.rpartition("_")[0] == kind for name in place))]
            for kind in _KINDS
        }
        arrays: dict[str, Any] = {
            kind: table[[place[name] for name in names]].T.copy() for kind, names in of_kind.items() if names
        }
        if "sample" in arrays:
            arrays["samples"] = arrays.pop("sample")
        if _WEIGHT in place:
            arrays["weights"] = table[place[_WEIGHT]]
        codes = Codes.from_arrays(**arrays)
        places = np.concatenate(self.labels, axis=1)
        names = filter(_is_label, self.names)
        factors = tuple(
            labels_of_text(name.partition(":")[2], list(index), column, ordered=name.startswith(FACTOR))
            for name, index, column in zip(names, self.words, places, strict=True)
        )
        return replace(codes, factors=factors)

    def _check_blanks(self, lines: list[str]) -> None:
        """Raises if a number has blanks around it, which NumPy would ignore."""
        for row in csv.reader(line for line in lines if _BLANK.search(line)):
            if any(_is_number(name) and text != text.strip() for name, text in zip(self.names, row, strict=False)):
                self._refuse("blanks around a number")

    def _refuse(self, complaint: str) -> NoReturn:
        """Reads the file again, row by row, and raises an error with the wrong line."""
        with files.opened(self.path, "r", encoding="utf-8-sig") as stream:
            reader = csv.reader(_lines(self.path, stream))
            next(reader)
            for row in reader:
                if row and len(row) != len(self.names):
                    raise CodesError(
                        f"Line {reader.line_num} of {self.path} has {len(row)} fields and the first line names "
                        f"{len(self.names)} columns. Give every row a value for each."
                    )
                for name, text in zip(self.names, row, strict=False):
                    if _is_number(name) and not NUMBER.fullmatch(text):
                        raise CodesError(
                            f"Line {reader.line_num} of {self.path} has {quoted(text)} in column {name!r}; expected "
                            "a number, without blanks. Correct it, or drop the row."
                        )
        raise CodesError(
            f"{self.path} cannot be read as comma-separated values ({complaint}). Check its quotation marks."
        )


def _is_number(name: str) -> bool:
    return not _is_label(name) and name != _FILE


def _is_label(name: str) -> bool:
    return name.startswith((FACTOR, CATEGORY))
