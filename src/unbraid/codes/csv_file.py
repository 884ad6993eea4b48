"""Codes as comma-separated values: the columns of `columns.number_columns`, and factors as text."""

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
_CELLS_PER_BLOCK = 2_000_000  # of a table with many columns, fewer rows at a time
_FILE = "file"  # the picture of a row, which `unbraid encode` writes for people: not read here
_COLUMN = re.compile(
    rf"({'|'.join(KINDS)}|probability_[0-9]{{1,9}})_(0|[1-9][0-9]{{0,8}})|{WEIGHT}|{_FILE}|({FACTOR}|{CATEGORY}).+"
)


def write_csv(path: Path, codes: Codes, file_names: Sequence[str] = ()) -> None:
    """Writes the columns that `read_csv` reads, with all digits. Raises if a part of the codes has no column."""
    if lost := without_columns(codes):
        raise CodesError(f"{path} has no place for {', '.join(lost)}. Save the codes as .npz or .safetensors.")
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
    """Lists the parts of the codes without a .csv column. A standard prior needs no column, as it is the default."""
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
        has[f"the blanks at the end of {labels.name!r}"] = labels.name != labels.name.rstrip()
    return [name for name, is_there in has.items() if is_there]


def read_csv(path: Path) -> Codes:
    """Reads codes from columns `mean_0`, ..., with `std_0` or `log_var_0`, or from `sample_0`, ...

    Optional columns: `probability_3_0`, ... of discrete latents, `factor:NAME`, `category:NAME`, `weight` and `file`.
    A factor is discrete if all labels are whole numbers, continuous if all are numbers, else categorical. The labels of
    `category:NAME` are always categorical. An empty label, or nan (with or without a sign), is missing. Blanks around a
    number raise an error. The first line names the columns, and every other line is an image. Quoted fields may hold
    commas and doubled quotation marks, but no line breaks. The file is UTF-8, read in blocks of rows.
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
            f"{path} is not UTF-8 text ({error.reason} at byte {error.start}). Save the table as UTF-8."
        ) from None
    except csv.Error as error:
        raise CodesError(
            f"{path} cannot be read as comma-separated values ({error}). Check its quotation marks."
        ) from None
    blocks = [block for block in blocks if block]
    if not blocks:
        raise CodesError(f"{path} names columns and has no rows. Write one row per image.")
    columns = {name: np.concatenate([block[name] for block in blocks]) for name in blocks[0]}
    factors = tuple(
        Labels.from_text(name.partition(":")[2], list(index), columns[name], ordered=name.startswith(FACTOR))
        for name, index in words.items()
    )
    return replace(codes_of_columns(columns, None), factors=factors)


def _lines(path: Path, stream: TextIO) -> Iterator[str]:
    """Yields each line. Raises an error for a line above the maximum length before reading all of it."""
    for number in count(1):
        line = stream.readline(MAX_LINE + 1)
        if not line:
            return
        if len(line) > MAX_LINE:
            raise CodesError(
                f"Line {number} of {path} is longer than {MAX_LINE:,} characters. Write one line per image."
            )
        if line.count('"') % 2:
            raise CodesError(
                f"Line {number} of {path} has an odd number of quotation marks. Close each on its line (fields hold no "
                "line breaks), and double one that is part of a word."
            )
        yield line


def _names(path: Path, header: list[str]) -> list[str]:
    """Returns the names of the columns. Raises an error for unknown or repeated names."""
    names = [name.strip() for name in header]
    unknown = [name for name in names if not _COLUMN.fullmatch(name)]
    if unknown or not names:
        raise CodesError(
            f"{path} has columns that are not understood ({', '.join(map(quoted, unknown[:3])) or 'none at all'}). "
            "Expected mean_0, ..., std_0 or log_var_0, ..., sample_0, ..., weight, factor:NAME and category:NAME, "
            "separated by commas, in the first line. Rename or drop the others."
        )
    if twice := sorted(name for name, times in Counter(names).items() if times > 1):
        raise CodesError(f"{path} has more than one column {quoted(twice[0])}. Give each column its own name.")
    return names


def _block(
    path: Path, names: list[str], rows: list[list[str]], first_line: int, words: dict[str, defaultdict[str, int]]
) -> dict[str, np.ndarray]:
    """Returns the columns of a block of rows: numbers, and labels as indices into the lists of distinct words."""
    lines: Sequence[int] = range(first_line, first_line + len(rows))
    if any(len(row) != len(names) for row in rows):
        lines = [line for line, row in zip(lines, rows, strict=True) if "".join(row).strip()]
        rows = [row for row in rows if "".join(row).strip()]
        for line, row in zip(lines, rows, strict=True):
            if len(row) != len(names):
                raise CodesError(
                    f"Line {line} of {path} has {len(row)} fields and the first line names {len(names)} columns. Give "
                    "every row a value for each."
                )
    found = {}
    for name, column in zip(names, zip(*rows, strict=True), strict=False):
        if is_number_column(name):
            found[name] = _numbers(path, name, column, lines)
        elif name != _FILE:
            found[name] = np.fromiter(map(words[name].__getitem__, column), dtype=np.int64, count=len(column))
    return found


def _numbers(path: Path, name: str, texts: Sequence[str], lines: Sequence[int]) -> np.ndarray:
    # Python also converts 1_000, blanks and the digits of every script.
    together = "".join(texts)
    if together.isascii() and "_" not in together and "".join(together.split()) == together:
        try:
            return np.fromiter(map(float, texts), dtype=np.float64, count=len(texts))
        except ValueError:
            pass
    line, text = next((line, text) for line, text in zip(lines, texts, strict=True) if not NUMBER.fullmatch(text))
    raise CodesError(
        f"Line {line} of {path} has {quoted(text)} in column {name!r}; expected a number, without blanks. Correct it, "
        "or drop the row."
    )
