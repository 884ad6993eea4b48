"""Lists of CelebA: the attributes and the split of each face."""

import itertools
import logging
from collections.abc import Iterator
from pathlib import Path

from unbraid._internal import files
from unbraid.errors import DataError

log = logging.getLogger(__name__)

ATTRIBUTES = (
    "5_o_Clock_Shadow",
    "Arched_Eyebrows",
    "Attractive",
    "Bags_Under_Eyes",
    "Bald",
    "Bangs",
    "Big_Lips",
    "Big_Nose",
    "Black_Hair",
    "Blond_Hair",
    "Blurry",
    "Brown_Hair",
    "Bushy_Eyebrows",
    "Chubby",
    "Double_Chin",
    "Eyeglasses",
    "Goatee",
    "Gray_Hair",
    "Heavy_Makeup",
    "High_Cheekbones",
    "Male",
    "Mouth_Slightly_Open",
    "Mustache",
    "Narrow_Eyes",
    "No_Beard",
    "Oval_Face",
    "Pale_Skin",
    "Pointy_Nose",
    "Receding_Hairline",
    "Rosy_Cheeks",
    "Sideburns",
    "Smiling",
    "Straight_Hair",
    "Wavy_Hair",
    "Wearing_Earrings",
    "Wearing_Hat",
    "Wearing_Lipstick",
    "Wearing_Necklace",
    "Wearing_Necktie",
    "Young",
)
# Ten times the official list of attributes.
_MAX_BYTES = 2**28
_MAX_LINE_BYTES = 2**12
_VALUES = {b"1": 1, b"-1": 0}


def read_attributes(path: Path) -> dict[str, bytes]:
    """Returns the attributes of each face, by its name: one byte an attribute, 1 for present and 0 for absent.

    The first line is the number of faces, the second the names of the attributes; each other is a name and then 1 or -1
    for each attribute.
    """
    lines = _lines(path)
    (_, count), (_, names) = next(lines, (1, [])), next(lines, (2, []))
    if names != [name.encode() for name in ATTRIBUTES]:
        raise DataError(
            f"{path}: line 2 has {len(names)} names of attributes; expected the {len(ATTRIBUTES)} official ones, "
            f"{ATTRIBUTES[0]} to {ATTRIBUTES[-1]}. Fetch the official file."
        )
    found: dict[str, bytes] = {}
    for number, (name, *values) in lines:
        if len(values) != len(ATTRIBUTES) or not _VALUES.keys() >= set(values):
            raise DataError(
                f"{path}: line {number} is not a name and {len(ATTRIBUTES)} values of 1 or -1. It is damaged or cut "
                "short: fetch it again."
            )
        _add(found, name, bytes(map(_VALUES.__getitem__, values)), path, number)
    if count != [str(len(found)).encode()]:
        log.warning(
            "%s states %s in its first line, and holds %s faces.",
            path,
            b" ".join(count).decode(errors="replace"),
            f"{len(found):,}",
        )
    return found


def read_partition(path: Path) -> dict[str, int]:
    """Returns the split of each face, by its name: 0 for train, 1 for validation, 2 for test."""
    found: dict[str, int] = {}
    for number, fields in _lines(path):
        if len(fields) != 2 or fields[1] not in (b"0", b"1", b"2"):
            raise DataError(
                f"{path}: line {number} is not a name and 0, 1 or 2. It is damaged or cut short: fetch it again."
            )
        _add(found, fields[0], int(fields[1]), path, number)
    return found


def _add(found: dict, name: bytes, value: object, path: Path, number: int) -> None:
    try:
        key = name.decode("ascii")
    except UnicodeDecodeError:
        raise DataError(
            f"{path}: the name in line {number} is {name!r}; expected one like 000001.jpg. Fetch the official file."
        ) from None
    if key in found:
        raise DataError(f"{path}: line {number} names {key} a second time. Fetch the official file.")
    found[key] = value


def _lines(path: Path) -> Iterator[tuple[int, list[bytes]]]:
    """Yields the number and the fields of each line that is not empty; spaces and line ends vary among mirrors."""
    try:
        if (num_bytes := path.stat().st_size) > _MAX_BYTES:
            raise DataError(
                f"{path} has {num_bytes:,} bytes; at most {_MAX_BYTES:,} are read. Fetch the official file."
            )
        with files.opened(path) as stream:
            for number in itertools.count(1):
                if not (line := stream.readline(_MAX_LINE_BYTES)):
                    return
                if len(line) == _MAX_LINE_BYTES:
                    raise DataError(
                        f"{path}: line {number} has {_MAX_LINE_BYTES} bytes or more. Fetch the official file."
                    )
                if fields := line.split():
                    yield number, fields
    except OSError as error:
        raise DataError(f"{path} cannot be read ({error.strerror}). Check that it is a file you may read.") from None
