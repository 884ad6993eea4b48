"""Contents of a folder of pictures: the listing at each access, and a cached survey of all files."""

import csv
import hashlib
import json
import logging
import os
import stat
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path, PurePosixPath
from typing import final

from unbraid._internal import files
from unbraid.codes.labels import quoted
from unbraid.datasets import file_stamps
from unbraid.datasets.dataset import Factor
from unbraid.datasets.formats.archives import ArchiveMember, Container, Folder
from unbraid.datasets.user import own_pictures
from unbraid.datasets.user.labels import LabelTable, from_text
from unbraid.datasets.user.own_pictures import PictureShapes
from unbraid.errors import DataError

log = logging.getLogger(__name__)

# Formats that Pillow reads with external programs. EPS files are programs, which Pillow would execute.
_NOT_READ = ("BUFR", "EPS", "GRIB", "HDF5", "MPEG", "WMF")
_FILE = "file"  # the column of picture names


@final
@dataclass(frozen=True)
class PictureFolder:
    """Paths of a folder of pictures and of an optional file of labels."""

    folder: Path
    csv: Path | None
    recursive: bool


@final
@dataclass(frozen=True)
class Listing(Container):
    """Pictures listed in a folder. Reading a picture that was modified after the listing raises an error."""

    path: Path
    stamps: dict[str, list[int]]
    """Stamp of each picture by name."""
    num_others: int
    stamp: str
    """Digest of all stamps. The digest changes if a picture or the file of labels is added, removed or written."""
    is_settled: bool
    """Whether the last write is old enough for the stamp to detect any later write."""

    def members(self) -> tuple[ArchiveMember, ...]:
        return tuple(ArchiveMember(name, stamp[0]) for name, stamp in self.stamps.items())

    def named(self, member: ArchiveMember) -> str:
        return str(self.path / member.name)

    def contents(self, members: Iterable[ArchiveMember]) -> Iterator[bytes]:
        for member in members:
            (content,) = Folder(self.path).contents([member])
            file_stamps.check_unchanged([self.path / member.name], [self.stamps[member.name]])
            yield content


@final
@dataclass(frozen=True)
class Survey:
    """Contents of a folder before its pictures are decoded.

    `sha256` is the digest of the names and contents of the used pictures, and of the labels.
    """

    stamp: str
    is_settled: bool
    sha256: str
    shapes: PictureShapes
    factor_table: tuple[Factor, ...]

    @property
    def num_images(self) -> int:
        return sum(count for _, count, _ in self.shapes.counts)


@final
@dataclass(frozen=True)
class Labeled:
    """Pictures of the dataset, with their labels."""

    members: tuple[ArchiveMember, ...]
    table: LabelTable
    num_rows: int = 0
    """Number of rows in the file of labels."""


def listing(place: PictureFolder) -> Listing:
    """Lists the files with a suffix of a Pillow format, without hidden files and links to folders."""
    suffixes = _suffixes()
    found, num_others = [], 0
    try:
        for name, about in _walk(place.folder, recursive=place.recursive):
            if name[name.rfind(".") :].lower() in suffixes:
                found.append((name, file_stamps.stamp_of(about)))
            else:
                num_others += 1
        of_labels = None if place.csv is None else file_stamps.stamp(place.csv)
    except (OSError, ValueError) as error:  # ValueError for an invalid file name
        where, reason = getattr(error, "filename", None), getattr(error, "strerror", None)
        raise DataError(
            f"{where or place.csv or place.folder} cannot be read ({reason or error}). Check the path."
        ) from None
    if not found:
        raise DataError(
            f"{place.folder} has {num_others} files without the suffix of a picture format; expected pictures. Choose "
            "another folder."
        )
    found.sort()
    digest = hashlib.sha256(json.dumps([found, of_labels]).encode()).hexdigest()
    stamps = [*(stamp for _, stamp in found), *([] if of_labels is None else [of_labels])]
    is_settled = all(file_stamps.is_settled(stamp[1]) for stamp in stamps)
    return Listing(place.folder, dict(found), num_others, digest, is_settled)


def survey(place: PictureFolder) -> Survey:
    """Surveys the folder, or returns the cached survey if no stamp has changed."""
    listed = listing(place)
    known = remembered(place)
    if known is not None and known.is_settled and known.stamp == listed.stamp:
        return known
    found = _new_survey(place, listed)
    file_stamps.remember({"survey": asdict(found)}, *_key(place))
    return found


def remembered(place: PictureFolder) -> Survey | None:
    """Returns the cached survey of the folder, even if it is outdated, or None."""
    try:
        survey = (file_stamps.recalled(*_key(place)) or {})["survey"]
        counts = tuple((tuple(shape), int(count), str(first)) for shape, count, first in survey.pop("shapes")["counts"])
        table = tuple(Factor(**factor) for factor in survey.pop("factor_table"))
        return Survey(**survey, shapes=PictureShapes(counts), factor_table=table)
    except (ValueError, KeyError, TypeError, AttributeError):
        return None


def labeled(place: PictureFolder, listed: Listing) -> Labeled:
    """Returns the pictures with labels if there is a file of labels, else all pictures."""
    everything = listed.members()
    if place.csv is None:
        return Labeled(everything, LabelTable.from_columns((), len(everything)))
    header, rows = read_label_csv(place.csv)
    if header[0] in listed.stamps:
        raise DataError(
            f"The first line of {place.csv} has the picture {header[0]!r}; expected column names such as file,size. "
            "Add a header line."
        )
    members = tuple(member for member in everything if member.name in rows)
    if not members:
        raise DataError(
            f"No picture in {place.folder} has a row in {place.csv}. The first row has {next(iter(rows), 'none')!r}, "
            f"and the first picture is {everything[0].name!r}. Use paths relative to the folder."
        )
    cells = zip(*(rows[member.name] for member in members), strict=True)
    try:
        columns = [from_text(name, column) for name, column in zip(header[1:], cells, strict=True)]
    except DataError as error:
        raise DataError(f"{place.csv}: {error}") from None
    return Labeled(members, LabelTable.from_columns(columns, len(members)), len(rows))


def read_label_csv(path: Path) -> tuple[list[str], dict[str, list[str]]]:
    """Reads a UTF-8 CSV of labels. Returns the header, and the cells of each picture by relative path.

    The column `file`, or else the first column, contains the paths. The header starts with this column, and the cells
    do not include it.
    """
    try:
        with files.opened(path, "r", encoding="utf-8-sig", newline="") as stream:
            reader = csv.reader(stream, strict=True, skipinitialspace=True)
            header = [name.strip() for name in next(reader, [])]
            file_at = header.index(_FILE) if _FILE in header else 0
            if len(header) < 2:
                raise DataError(
                    f"The first line of {path} has {len(header)} columns; expected file and one or more factors. Use "
                    "commas between columns."
                )
            rows: dict[str, list[str]] = {}
            for row in filter(None, reader):
                if len(row) != len(header):
                    raise DataError(
                        f"Line {reader.line_num} of {path} has {len(row)} fields; expected {len(header)}. Give each "
                        "column a value."
                    )
                cells = [cell.strip() for cell in row]
                name = PurePosixPath(cells.pop(file_at)).as_posix()
                if name in rows:
                    raise DataError(
                        f"Line {reader.line_num} of {path} is a second row for {quoted(name)}. Remove one row."
                    )
                rows[name] = cells
    except UnicodeDecodeError as error:
        raise DataError(
            f"{path} is not UTF-8 text ({error.reason} at byte {error.start}). Save the table as UTF-8."
        ) from None
    except (csv.Error, OSError) as error:
        raise DataError(
            f"{path} cannot be read as comma-separated values ({getattr(error, 'strerror', None) or error}). Give a "
            "readable file with matching quotation marks, or omit csv."
        ) from None
    header.insert(0, header.pop(file_at))
    if bad := [name for name, times in Counter(header[1:]).items() if times > 1 or not name or not name.isprintable()]:
        raise DataError(f"{path} has a column named {quoted(bad[0])}. Use unique, printable column names.")
    return header, rows


def _new_survey(place: PictureFolder, listed: Listing) -> Survey:
    log.info("%s holds %s pictures; %s other files are skipped.", place.folder, len(listed.stamps), listed.num_others)
    used = labeled(place, listed)
    if place.csv is not None:
        for total, what in ((len(listed.stamps), "pictures have no row"), (used.num_rows, "rows have no picture")):
            if total > len(used.members):
                log.warning("%s: %s of %s %s.", place.csv, total - len(used.members), total, what)
    doing = f"surveying {place.folder.name}"
    hashes, shapes = own_pictures.survey(listed, used.members, str(place.folder), doing)
    digest = hashlib.sha256()
    for member, of_content in zip(used.members, hashes, strict=True):
        digest.update(os.fsencode(member.name) + b"\0" + of_content)
    if place.csv is not None:
        digest.update(files.sha256(place.csv).encode())
    return Survey(listed.stamp, listed.is_settled, digest.hexdigest(), shapes, used.table.factors)


def _walk(folder: Path, *, recursive: bool) -> Iterator[tuple[str, os.stat_result]]:
    """Yields the relative path and status of each file that is not hidden."""
    waiting = [""]
    while waiting:
        prefix = waiting.pop()
        with os.scandir(folder / prefix) as entries:
            for entry in entries:
                if entry.name.startswith("."):
                    continue
                if entry.is_dir(follow_symlinks=False):
                    if recursive:
                        waiting.append(f"{prefix}{entry.name}/")
                elif not entry.is_dir() and stat.S_ISREG((about := entry.stat()).st_mode):
                    yield f"{prefix}{entry.name}", about


def _suffixes() -> frozenset[str]:
    from PIL import Image

    known = Image.registered_extensions()
    return frozenset(suffix for suffix, name in known.items() if name in Image.OPEN and name not in _NOT_READ)


def _key(place: PictureFolder) -> tuple[object, ...]:
    return "folder", str(place.folder), None if place.csv is None else str(place.csv), place.recursive
