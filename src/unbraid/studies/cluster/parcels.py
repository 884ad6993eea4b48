"""Parcels: runs as bytes with checksums, from machines that do not share the folder of the study."""

import hashlib
import json
import shutil
from collections.abc import Iterable
from pathlib import Path, PurePosixPath

from unbraid._internal import files
from unbraid.errors import RunError
from unbraid.studies.index import STUDIES
from unbraid.training.runs.run_writer import archive_folder

_ARRIVING = "arriving"
_COMPLETE = "complete"
_ENDS = ("finished.json", "failed.json")
_CHECKSUM = 32  # bytes


def packed(folder: Path) -> bytes:
    """Returns the files of a run as one parcel: a checksum, the names and sizes, and the contents."""
    paths = sorted(path for path in folder.rglob("*") if path.is_file() and not path.name.startswith("."))
    contents = [files.read_bytes(path) for path in paths]
    names = [path.relative_to(folder).as_posix() for path in paths]
    head = {"run": folder.name, "files": list(zip(names, map(len, contents), strict=True))}
    body = b"".join([json.dumps(head).encode(), b"\n", *contents])
    return hashlib.sha256(body).digest() + body


def unpack(parcel: bytes, parent: Path) -> str:
    """Writes the run of a parcel under the folder and returns its name. Raises a RunError if the parcel is damaged."""
    checksum, body = parcel[:_CHECKSUM], parcel[_CHECKSUM:]
    if hashlib.sha256(body).digest() != checksum:
        raise RunError("A run was damaged on its way (its SHA-256 does not match). It is trained again.")
    start = body.index(b"\n") + 1
    head = json.loads(body[:start])
    for path, size in head["files"]:
        files.write_bytes(_inside(parent, head["run"], path), body[start : start + size])
        start += size
    return str(head["run"])


def receive(parcels: Iterable[bytes], folder: Path, fleet: str) -> None:
    """Puts all runs of a fleet in place, or none: all are written and checked before the first is moved."""
    place = folder / STUDIES / _ARRIVING / fleet
    shutil.rmtree(place, ignore_errors=True)
    for parcel in parcels:
        unpack(parcel, place)
    files.write_text(place / _COMPLETE, "")
    _settle(place, folder)


def settle_arrivals(folder: Path) -> None:
    """Puts fleets in place that had arrived when a process died, and removes incomplete ones."""
    arriving = folder / STUDIES / _ARRIVING
    for place in sorted(arriving.iterdir()) if arriving.is_dir() else []:
        if (place / _COMPLETE).exists():
            _settle(place, folder)
        else:
            shutil.rmtree(place)


def _settle(place: Path, folder: Path) -> None:
    for run in sorted(path for path in place.iterdir() if path.is_dir()):
        target = folder / run.name
        if any((target / end).exists() for end in _ENDS):
            continue  # it has arrived before
        if target.exists():
            archive_folder(target)
        run.rename(target)
    shutil.rmtree(place)


def _inside(parent: Path, name: str, path: str) -> Path:
    """Returns the path of a file of a parcel. Raises if it is outside of the folder."""
    parts = PurePosixPath(name, path).parts
    if PurePosixPath(path).is_absolute() or ".." in parts or len(PurePosixPath(name).parts) != 1:
        raise RunError(f"A parcel of a run names {name}/{path}, which is outside of its folder. It is not unpacked.")
    return parent.joinpath(*parts)
