"""What a folder of pictures holds: listed whenever it is asked for, looked through once."""

import hashlib
import json
import logging
import os
import stat
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import final

import numpy as np
from jaxtyping import Float64, Int64

from unbraid._internal import files
from unbraid._internal.progress import Event, emit
from unbraid.datasets import file_stamps, pictures
from unbraid.datasets.dataset import Factor
from unbraid.datasets.formats.archives import ArchiveMember, Folder
from unbraid.datasets.user import factor_columns
from unbraid.datasets.user.label_csv import read_label_csv
from unbraid.datasets.user.own_pictures import PictureShapes, unreadable
from unbraid.errors import DataError

log = logging.getLogger(__name__)

# Pillow knows these by name and has others read them: EPS files are programs, which it has run.
_NOT_READ = ("BUFR", "EPS", "GRIB", "HDF5", "MPEG", "WMF")


@final
@dataclass(frozen=True)
class PictureFolder:
    """Names a folder, and the file of labels for its pictures if there is one."""

    folder: Path
    csv: Path | None
    recursive: bool


@final
@dataclass(frozen=True)
class Listing:
    """Lists the pictures of a folder by name, each with its stamp."""

    entries: tuple[tuple[str, list[int]], ...]
    num_others: int
    stamp: str
    """Changes when a picture or the file of labels is added, removed or written. Costs no reading."""
    is_settled: bool
    """Whether nothing was written so recently that the stamp might miss another writing."""

    def used(self, indices: Iterable[int]) -> tuple[tuple[ArchiveMember, ...], tuple[list[int], ...]]:
        """Returns some of the pictures, and the stamp of each."""
        chosen = [self.entries[index] for index in indices]
        return tuple(ArchiveMember(name, stamp[0]) for name, stamp in chosen), tuple(stamp for _, stamp in chosen)


@final
@dataclass(frozen=True)
class Survey:
    """Contents of a folder before its pictures are decoded.

    `sha256` is the digest of the names and the contents of the pictures that are used, and of the labels.
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
    """Holds the pictures that are used, with their labels."""

    members: tuple[ArchiveMember, ...]
    stamps: tuple[list[int], ...]
    factors: Int64[np.ndarray, "image factor"] | Float64[np.ndarray, "image factor"]
    factor_table: tuple[Factor, ...]
    words: dict[str, tuple[str, ...]]
    num_rows: int = 0
    """How many rows the file of labels has."""

    def check_unchanged(self, folder: Path, first: int = 0, until: int | None = None) -> None:
        """Refuses pictures, of all or of these, that were written since they were listed."""
        paths = [folder / member.name for member in self.members[first:until]]
        file_stamps.check_unchanged(paths, self.stamps[first:until])


def listing(place: PictureFolder) -> Listing:
    """Returns every file that Pillow might read, by its suffix. Hidden ones are passed over, and so is what lies behind
    links to folders.
    """
    suffixes = _suffixes()
    found, num_others = [], 0
    try:
        for name, about in _walk(place.folder, recursive=place.recursive):
            if name[name.rfind(".") :].lower() in suffixes:
                found.append((name, file_stamps.stamp_of(about)))
            else:
                num_others += 1
        labels = None if place.csv is None else file_stamps.stamp(place.csv)
    except (OSError, ValueError) as error:  # the latter of a name that no file can have
        where, reason = getattr(error, "filename", None), getattr(error, "strerror", None)
        raise DataError(
            f"{where or place.csv or place.folder} cannot be read ({reason or error}). Check that it is there and is "
            "yours to read."
        ) from None
    if not found:
        raise DataError(
            f"{place.folder} holds no pictures, by their suffixes, and {num_others} other files. Name the folder that "
            "holds them."
        )
    found.sort()
    digest = hashlib.sha256(json.dumps([found, labels]).encode()).hexdigest()
    stamps = [*(stamp for _, stamp in found), *([] if labels is None else [labels])]
    return Listing(tuple(found), num_others, digest, all(file_stamps.is_settled(stamp[1]) for stamp in stamps))


def survey(place: PictureFolder) -> Survey:
    """Returns the folder as it is now: remembered, if it has not changed since the last time; else every picture is
    read, and the head of each understood.
    """
    listed = listing(place)
    known = remembered(place)
    if known is not None and known.is_settled and known.stamp == listed.stamp:
        return known
    found = _look_through(place, listed)
    file_stamps.remember({"survey": asdict(found)}, *_key(place))
    return found


def remembered(place: PictureFolder) -> Survey | None:
    """Returns what the last survey of this folder found, whether or not it still holds."""
    try:
        survey = (file_stamps.recalled(*_key(place)) or {})["survey"]
        counts = tuple((tuple(shape), int(count), str(first)) for shape, count, first in survey.pop("shapes")["counts"])
        table = tuple(Factor(**factor) for factor in survey.pop("factor_table"))
        return Survey(**survey, shapes=PictureShapes(counts), factor_table=table)
    except (ValueError, KeyError, TypeError, AttributeError):
        return None


def labeled(place: PictureFolder, listed: Listing) -> Labeled:
    """Returns the pictures that are used: all of them, or those that have labels, where there is a file of labels."""
    if place.csv is None:
        return Labeled(
            *listed.used(range(len(listed.entries))), np.empty((len(listed.entries), 0), dtype=np.int64), (), {}
        )
    table = read_label_csv(place.csv)
    if any(name == table.name_column for name, _ in listed.entries):
        raise DataError(
            f"The first line of {place.csv} names the picture {table.name_column!r}; expected the names of the "
            "columns. Put them into a line before it, such as file,size."
        )
    members, stamps = listed.used(index for index, (name, _) in enumerate(listed.entries) if name in table.labels)
    if not members:
        raise DataError(
            f"No picture in {place.folder} has a row in {place.csv}. It names {next(iter(table.labels), 'none')!r} "
            f"first; the first picture is {listed.entries[0][0]!r}. Name the pictures as they lie below the folder."
        )
    cells = zip(*(table.labels[member.name] for member in members), strict=True)
    try:
        columns = [
            factor_columns.of_texts(name, column) for name, column in zip(table.factor_names, cells, strict=True)
        ]
    except DataError as error:
        raise DataError(f"{place.csv}: {error}") from None
    words = {labels.name: names for labels, names in columns if names}
    factors, factor_table = factor_columns.table([labels for labels, _ in columns], words, len(members))
    return Labeled(members, stamps, factors, factor_table, words, len(table.labels))


def _look_through(place: PictureFolder, listed: Listing) -> Survey:
    log.info(
        "%s holds %s pictures; %s files that are none are passed over.",
        place.folder,
        len(listed.entries),
        listed.num_others,
    )
    used = labeled(place, listed)
    _tell_unmatched(place, len(listed.entries), used)
    source, doing = Folder(place.folder), f"looking through {place.folder.name}"
    digest = hashlib.sha256()
    shapes, flaws = [], {}
    for number, (member, content) in enumerate(zip(used.members, source.contents(used.members), strict=True), start=1):
        name = member.name
        digest.update(os.fsencode(name) + b"\0" + hashlib.sha256(content).digest())
        try:
            shapes.append((name, pictures.shape_of(content, source.named(member))))
        except DataError as error:
            flaws[name] = error
        emit(Event(doing, number, len(used.members), "pictures"))
    if flaws:
        raise unreadable(str(place.folder), flaws, len(used.members))
    if place.csv is not None:
        digest.update(files.sha256(place.csv).encode())
    used.check_unchanged(place.folder)
    return Survey(listed.stamp, listed.is_settled, digest.hexdigest(), PictureShapes.of(shapes), used.factor_table)


def _tell_unmatched(place: PictureFolder, num_pictures: int, used: Labeled) -> None:
    num_used = len(used.members)
    if num_used < num_pictures:
        log.warning(
            "%s of %s pictures have no row in %s and are left out.", num_pictures - num_used, num_pictures, place.csv
        )
    if num_used < used.num_rows:
        log.warning(
            "%s of %s rows of %s name no picture and are passed over.",
            used.num_rows - num_used,
            used.num_rows,
            place.csv,
        )


def _walk(folder: Path, *, recursive: bool) -> Iterator[tuple[str, os.stat_result]]:
    """Yields the files that are not hidden, by their names below the folder."""
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
