"""Codes as comma-separated values, with the columns of `columns.number_columns` and a column for each factor."""

import csv
import io
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import count, islice
from pathlib import Path
from typing import Any, TextIO

import numpy as np

from unbraid._internal import files
from unbraid.codes.codes import Codes
from unbraid.codes.columns import KINDS, WEIGHT, codes_of_columns, is_number_column, number_columns
from unbraid.codes.labels import NUMBER, Labels, quoted
from unbraid.codes.latent_prior import LatentPrior
from unbraid.codes.named_arrays import CATEGORY, FACTOR
from unbraid.errors import CodesError

MAX_LINE = 1_000_000  # characters
_ROWS_PER_BLOCK = 20_000
_CELLS_PER_BLOCK = 2_000_000  # blocks of tables with many columns have fewer rows
_FILE = "file"  # file name of the image, written by `unbraid encode` and ignored by `read_csv`
_COLUMN = re.compile(
    rf"({'|'.join(KINDS)}|probability_[0-9]{{1,9}})_(0|[1-9][0-9]{{0,8}})|{WEIGHT}|{_FILE}|({FACTOR}|{CATEGORY}).+"
)


def write_csv(path: Path, codes: Codes, file_names: Sequence[str] = ()) -> None:
    """Writes codes in the format of `read_csv`, with all digits. Raises if a part of the codes has no column."""
    if lost := without_columns(codes):
        raise CodesError(f"{path} cannot contain {', '.join(lost)}. Save the codes as .npz or .safetensors.")
    columns: dict[str, list[Any]] = {_FILE: list(file_names)} if file_names else {}
    columns |= {name: column.tolist() for name, column in number_columns(codes).items()}
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
    """Returns the parts of the codes that have no .csv column. A standard prior is the default and needs no column."""
    sizes = [table.shape[1] for table in codes.probabilities]
    has = {
        "the covariance": codes.covariance is not None,
        "several draws": codes.samples is not None and len(codes.samples) > 1,
        "groups of latents": bool(codes.groups),
        "the prior": codes.prior not in (None, LatentPrior.standard(codes.mean.shape[1], sizes)),
    }
    for labels in codes.factors:
        has[f"the soft labels of {labels.name!r}"] = labels.is_soft
        has[f"the unordered continuous labels of {labels.name!r}"] = labels.is_continuous and not labels.ordered
        has[f"the trailing whitespace of {labels.name!r}"] = labels.name != labels.name.rstrip()
    return [name for name, is_there in has.items() if is_there]


def read_csv(path: Path) -> Codes:
    """Reads codes from a .csv file with columns `mean_0`, ... and `std_0`, ... or `log_var_0`, ..., or `sample_0`, ...

    Optional columns are `probability_3_0`, ... of discrete latents, `factor:NAME`, `category:NAME`, `weight` and
    `file`. A factor is discrete if all labels are integers, continuous if all labels are numbers, and otherwise
    categorical. The labels of `category:NAME` are always categorical. Empty labels and nan are missing labels.
    Whitespace around a number raises an error. The first line contains the column names, and every other line is an
    image. Quoted fields may contain commas and doubled quotation marks, but no line breaks. The encoding is UTF-8.
    """
    blocks: list[dict[str, np.ndarray]] = []
    words: defaultdict[str, defaultdict[str, int]] = defaultdict(lambda: defaultdict(count().__next__))
    try:
        with files.opened(path, "r", encoding="utf-8-sig") as stream:
            reader = csv.reader(_lines(path, stream))
            names = _names(path, next(reader, []))
            num_rows = min(_ROWS_PER_BLOCK, max(1, _CELLS_PER_BLOCK // len(names)))
            while rows := list(islice(reader, num_rows)):
                blocks.append(_block(path, names, rows, reader.line_num - len(rows) + 1, words))
    except UnicodeDecodeError as error:
        raise CodesError(
            f"{path} is not UTF-8 text ({error.reason} at byte {error.start}). Save the file as UTF-8."
        ) from None
    except csv.Error as error:
        raise CodesError(f"{path} is not valid comma-separated text ({error}). Check the quotation marks.") from None
    blocks = [block for block in blocks if block]
    if not blocks:
        raise CodesError(f"{path} has column names and no rows; expected at least one row. Write one row per image.")
    columns = {name: np.concatenate([block[name] for block in blocks]) for name in blocks[0]}
    factors = tuple(
        Labels.from_text(name.partition(":")[2], list(index), columns[name], ordered=name.startswith(FACTOR))
        for name, index in words.items()
    )
    return replace(codes_of_columns(columns, None), factors=factors)


def _lines(path: Path, stream: TextIO) -> Iterator[str]:
    """Yields lines. Raises an error if a line is too long, before reading all of the line."""
    for number in count(1):
        line = stream.readline(MAX_LINE + 1)
        if not line:
            return
        if len(line) > MAX_LINE:
            raise CodesError(
                f"Line {number} of {path} has more than {MAX_LINE:,} characters. Write one line per image."
            )
        if line.count('"') % 2:
            raise CodesError(
                f"Line {number} of {path} has an odd number of quotation marks. Close every quoted field on the same "
                "line, and double quotation marks inside a field."
            )
        yield line


def _names(path: Path, header: list[str]) -> list[str]:
    """Returns the column names. Raises an error for unknown or repeated names."""
    names = [name.strip() for name in header]
    unknown = [name for name in names if not _COLUMN.fullmatch(name)]
    if unknown or not names:
        raise CodesError(
            f"{path} has unknown columns ({', '.join(map(quoted, unknown[:3])) or 'an empty first line'}); expected "
            "the comma-separated names mean_0, ..., std_0 or log_var_0, ..., sample_0, ..., weight, factor:NAME and "
            "category:NAME in the first line. Rename or drop the unknown columns."
        )
    if twice := sorted(name for name, times in Counter(names).items() if times > 1):
        raise CodesError(f"{path} has several columns {quoted(twice[0])}; expected different names. Rename them.")
    return names


def _block(
    path: Path, names: list[str], rows: list[list[str]], first_line: int, words: dict[str, defaultdict[str, int]]
) -> dict[str, np.ndarray]:
    """Returns the columns of a block of rows: numbers, and labels as indices into the distinct strings in `words`."""
    lines: Sequence[int] = range(first_line, first_line + len(rows))
    if any(len(row) != len(names) for row in rows):
        lines = [line for line, row in zip(lines, rows, strict=True) if "".join(row).strip()]
        rows = [row for row in rows if "".join(row).strip()]
        for line, row in zip(lines, rows, strict=True):
            if len(row) != len(names):
                raise CodesError(
                    f"Line {line} of {path} has {len(row)} fields; expected {len(names)}, the number of columns in the "
                    "first line. Write one value for each column."
                )
    found = {}
    for name, column in zip(names, zip(*rows, strict=True), strict=False):
        if is_number_column(name):
            found[name] = _numbers(path, name, column, lines)
        elif name != _FILE:
            found[name] = np.fromiter(map(words[name].__getitem__, column), dtype=np.int64, count=len(column))
    return found


def _numbers(path: Path, name: str, texts: Sequence[str], lines: Sequence[int]) -> np.ndarray:
    # `float` also accepts 1_000, whitespace and the digits of every script.
    together = "".join(texts)
    if together.isascii() and "_" not in together and "".join(together.split()) == together:
        try:
            return np.fromiter(map(float, texts), dtype=np.float64, count=len(texts))
        except ValueError:
            pass
    line, text = next((line, text) for line, text in zip(lines, texts, strict=True) if not NUMBER.fullmatch(text))
    raise CodesError(
        f"Line {line} of {path} has {quoted(text)} in column {name!r}; expected a number without whitespace. Correct "
        "the number, or drop the row."
    )
