"""Runs that come home as bytes: packed with their checksums, checked, and put in place all of a fleet or none."""

import hashlib
import json
import shutil
from collections.abc import Iterable
from pathlib import Path, PurePosixPath

from unbraid import files
from unbraid.errors import RunError
from unbraid.runs.run_writer import move_aside
from unbraid.studies.index import STUDIES

_ARRIVING = "arriving"
_COMPLETE = "complete"
_ENDS = ("finished.json", "failed.json")
_WIDTH = 8


def packed(folder: Path) -> bytes:
    """Returns the files of a run as one parcel: a list of names, sizes and checksums, and then what is in them."""
    paths = sorted(path for path in folder.rglob("*") if path.is_file() and not path.name.startswith("."))
    contents = [files.read_bytes(path) for path in paths]
    listed = [
        [path.relative_to(folder).as_posix(), len(content), hashlib.sha256(content).hexdigest()]
        for path, content in zip(paths, contents, strict=True)
    ]
    head = json.dumps({"run": folder.name, "files": listed}).encode()
    return b"".join([len(head).to_bytes(_WIDTH, "big"), head, *contents])


def unpack(parcel: bytes, parent: Path) -> str:
    """Writes the run of a parcel under the folder and returns its name. A parcel that is not what was packed raises a
    RunError.
    """
    try:
        size = int.from_bytes(parcel[:_WIDTH], "big")
        head = json.loads(parcel[_WIDTH : _WIDTH + size])
        name, listed = str(head["run"]), [(str(path), int(count), str(told)) for path, count, told in head["files"]]
    except (ValueError, KeyError, TypeError) as error:
        raise RunError(f"A parcel of a run cannot be read ({error}); the run is trained again.") from None
    place = _WIDTH + size
    for path, count, told in listed:
        content = parcel[place : place + count]
        place += count
        if hashlib.sha256(content).hexdigest() != told:
            raise RunError(f"{path} of {name} came home with another SHA-256 than it left with; it is trained again.")
        files.write_bytes(_inside(parent, name, path), content)
    if place != len(parcel):
        raise RunError(f"The parcel of {name} has {len(parcel)} bytes; expected {place}. It is trained again.")
    return name


def receive(parcels: Iterable[bytes], folder: Path, fleet: str) -> None:
    """Puts the runs of a fleet in place. They are written beside first, and moved once all are there and right."""
    place = folder / STUDIES / _ARRIVING / fleet
    shutil.rmtree(place, ignore_errors=True)
    for parcel in parcels:
        unpack(parcel, place)
    files.write_text(place / _COMPLETE, "")
    _settle(place, folder)


def settle_arrivals(folder: Path) -> None:
    """Puts in place what had come home when a process died, and removes what had come in part."""
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
            continue  # it is there already
        if target.exists():
            move_aside(target)
        run.rename(target)
    shutil.rmtree(place)


def _inside(parent: Path, name: str, path: str) -> Path:
    """Returns where a file of a parcel goes. A name that would leave the folder is refused."""
    parts = PurePosixPath(name, path).parts
    if PurePosixPath(path).is_absolute() or ".." in parts or len(PurePosixPath(name).parts) != 1:
        raise RunError(f"A parcel of a run names {name}/{path}, which is outside of its folder. It is not unpacked.")
    return parent.joinpath(*parts)
