"""Labels of pictures, in comma-separated values: a row a picture, a column a factor."""

import csv
from collections import Counter
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import final

from unbraid._internal import files
from unbraid.errors import DataError

_FILE = "file"
_MAX_SHOWN = 40  # characters of what a file holds, in a message


@final
@dataclass(frozen=True)
class LabelCsv:
    """Holds what a file of labels says: the names of the factors, and the labels of each picture by its name."""

    path: Path
    name_column: str
    factor_names: tuple[str, ...]
    labels: dict[str, tuple[str, ...]]


def read_label_csv(path: Path) -> LabelCsv:
    """Returns the labels in a UTF-8 file. The first line names the columns. The column `file`, or else the first, names
    the pictures as they lie below their folder.
    """
    try:
        with files.opened(path, "r", encoding="utf-8-sig", newline="") as stream:
            reader = csv.reader(stream, strict=True, skipinitialspace=True)
            header = [name.strip() for name in next(reader, [])]
            names_at = header.index(_FILE) if _FILE in header else 0
            factor_names = _checked(path, header, names_at)
            labels: dict[str, tuple[str, ...]] = {}
            for row in reader:
                if not row:
                    continue
                if len(row) != len(header):
                    raise DataError(
                        f"Line {reader.line_num} of {path} has {len(row)} fields and the first line names "
                        f"{len(header)} columns. Give every row a value for each."
                    )
                cells = [cell.strip() for cell in row]
                name = PurePosixPath(cells.pop(names_at)).as_posix()
                if name in labels:
                    raise DataError(
                        f"Line {reader.line_num} of {path} names {_quoted(name)} again. Give each picture one row."
                    )
                labels[name] = tuple(cells)
    except UnicodeDecodeError as error:
        raise DataError(
            f"{path} is not UTF-8 text ({error.reason} at byte {error.start}). Save the table as UTF-8."
        ) from None
    except csv.Error as error:
        raise DataError(
            f"{path} cannot be read as comma-separated values ({error}). Check its quotation marks."
        ) from None
    except OSError as error:
        raise DataError(
            f"{path} cannot be read ({error.strerror or error}). Name a file of comma-separated values, or leave it "
            "out."
        ) from None
    return LabelCsv(path, header[names_at], factor_names, labels)


def _checked(path: Path, header: list[str], names_at: int) -> tuple[str, ...]:
    """Returns the names of the factors, each once."""
    names = header[:names_at] + header[names_at + 1 :]
    if not names:
        raise DataError(
            f"{path} names {len(header)} columns in its first line; expected one for the names of the pictures and one "
            "or more for factors, separated by commas."
        )
    if bad := [name for name in names if not name or not name.isprintable()]:
        raise DataError(
            f"{path} has a column named {_quoted(bad[0])} in its first line. Give each factor a name that can be "
            "printed."
        )
    if twice := [name for name, times in Counter(names).items() if times > 1]:
        raise DataError(f"{path} has more than one column {_quoted(twice[0])}. Give each factor a different name.")
    return tuple(names)


def _quoted(text: str) -> str:
    return repr(text if len(text) <= _MAX_SHOWN else text[:_MAX_SHOWN] + "...")
