"""CelebA: faces of celebrities, with forty binary attributes."""

import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import ClassVar, Literal, final

import numpy as np

from unbraid.datasets.dataset import Factor, FactorImages
from unbraid.datasets.fetching.verification import Publication, published_files
from unbraid.datasets.formats.archives import ArchiveMember, Container, Folder, Zip, read_bounded
from unbraid.datasets.image_store import Plan
from unbraid.datasets.pictures import Framing, decode_many
from unbraid.datasets.published.converted import PartedDataset, check_crop
from unbraid.datasets.subsets import ChosenValues, RandomSplit
from unbraid.errors import DataError

log = logging.getLogger(__name__)

Split = Literal["all", "train", "validation", "test", "train90", "test10"]

_ATTRIBUTE_NAMES = """
5_o_Clock_Shadow Arched_Eyebrows Attractive Bags_Under_Eyes Bald Bangs Big_Lips Big_Nose Black_Hair Blond_Hair Blurry
Brown_Hair Bushy_Eyebrows Chubby Double_Chin Eyeglasses Goatee Gray_Hair Heavy_Makeup High_Cheekbones Male
Mouth_Slightly_Open Mustache Narrow_Eyes No_Beard Oval_Face Pale_Skin Pointy_Nose Receding_Hairline Rosy_Cheeks
Sideburns Smiling Straight_Hair Wavy_Hair Wearing_Earrings Wearing_Hat Wearing_Lipstick Wearing_Necklace Wearing_Necktie
Young
"""
ATTRIBUTES = tuple(_ATTRIBUTE_NAMES.split())
_ARCHIVE, _FOLDER = "img_align_celeba.zip", "img_align_celeba"
_LABELS, _PARTITION = "list_attr_celeba.txt", "list_eval_partition.txt"
_HEIGHT, _WIDTH = 218, 178
_NUM_IMAGES: dict[Split, int] = {
    "all": 202_599,
    "train": 162_770,
    "validation": 19_867,
    "test": 19_962,
    "train90": 182_339,
    "test10": 20_260,
}
# Official numbers of the splits. A face that is missing in the partition gets the next number.
_PARTS: dict[Split, int] = {"train": 0, "validation": 1, "test": 2}
_NO_PART = len(_PARTS)
# Cached next to the attributes, so that the splits remain available without the official files.
_PART_COLUMN = Factor("partition", len(_PARTS) + 1, ordered=False)
_FILES = {
    _ARCHIVE: (1_443_490_838, "sha256:46fb89443c578308acf364d7d379fe1b9efb793042c0af734b6112e4fd3a8c74"),
    _LABELS: (26_721_026, "sha256:f0e5da289d5ccf75ffe8811132694922b60f2af59256ed362afa03fefba324d0"),
    _PARTITION: (2_836_386, "sha256:fc955bcb3ef8fbdf7d5640d9a8693a8431b5f2ee291a5c1449a1549e7e073fe7"),
}
# Size limit: ten times the official list of attributes.
_MAX_BYTES = 2**28


@final
@dataclass(frozen=True)
class CelebA(PartedDataset):
    """CelebA: 202,599 aligned and cropped face photographs with 40 binary attributes (Liu, Luo, Wang & Tang).

    The photographs are 178 pixels wide and 218 high. Faces and attributes are matched by file name. Faces without
    attributes and attributes without a face are skipped, and their number is logged. In a folder of unpacked faces, the
    lists of attributes and splits may differ from the published lists.

    `train`, `validation` and `test` are the official splits. `train90` is a random 90 % of all faces, and `test10` the
    rest. All splits share one cache.
    """

    publication: ClassVar = Publication(
        title="Large-scale CelebFaces Attributes (CelebA)",
        homepage="http://mmlab.ie.cuhk.edu.hk/projects/CelebA.html",
        license="non-commercial research only",
        license_note="For non-commercial research. The owners of the dataset do not own the photographs, which are "
        "from the internet, and allow no copy, sale or publication.",
        files=published_files(None, "TensorFlow Datasets", _FILES),
        subfolders=("celeba", "CelebA"),
        how_to_get="Download the files from a shared drive linked on http://mmlab.ie.cuhk.edu.hk/projects/CelebA.html "
        "(Align&Cropped Images; either the zip or the unpacked folder img_align_celeba)",
    )

    factors: ClassVar = tuple(Factor(name, 2) for name in ATTRIBUTES)

    split: Split = "all"
    """All faces, an official split, a random 90 % of all faces (train90), or the rest (test10)."""
    crop: int | None = 128
    """Height and width of the central crop in pixels, or None to resize the whole photograph to a square."""
    resolution: int = 64
    """Height and width of the images, in pixels."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_crop("CelebA", self.crop, self.resolution, _WIDTH)

    @property
    def published_num_images(self) -> int:
        return _NUM_IMAGES[self.split]

    @property
    def image_shape(self) -> tuple[int, int, int]:
        return (3, self.resolution, self.resolution)

    def sources(self, folder: Path) -> tuple[Path, ...] | None:
        """Returns the paths of the faces (the zip, else the folder), the attributes and, if present, the partition."""
        images = _first(folder, (f"Img/{_ARCHIVE}", _ARCHIVE, f"Img/{_FOLDER}", f"{_FOLDER}/{_FOLDER}", _FOLDER))
        labels = _first(folder, (f"Anno/{_LABELS}", _LABELS))
        partition = _first(folder, (f"Eval/{_PARTITION}", _PARTITION))
        if images is None or labels is None:
            return None
        return (images, labels) if partition is None else (images, labels, partition)

    def verified(self, source: Path, sources: Sequence[Path]) -> str:
        try:
            return super().verified(source, sources)
        except DataError as error:
            if not sources[0].is_dir():
                raise
            # No checksum is published for a folder. A user with fewer faces may have shortened the lists.
            log.warning("CelebA: a list next to a folder of faces differs from the published list: %s", error)
            return "not the published file"

    def plan(self, sources: tuple[Path, ...]) -> Plan:
        images, labels, *partition = sources
        if self.split in _PARTS and not partition:
            raise DataError(self._no_partition())
        source = Folder(images) if images.is_dir() else Zip(images)
        attributes = read_attributes(labels)
        faces = _faces(source, attributes, labels)
        parts = read_partition(partition[0]) if partition else {}
        framing = Framing(
            self.image_shape,
            crop=self.crop,
            picture_size=(_HEIGHT, _WIDTH),
            formats=("JPEG",),
            follow_exif=False,
            shrink=1 if self.crop is None or self.crop % self.resolution else self.crop // self.resolution,
        )
        present = np.frombuffer(b"".join(attributes[name] for name in faces), np.int8).reshape(-1, len(ATTRIBUTES))
        numbers = np.frombuffer(b"".join(parts.get(name, bytes([_NO_PART])) for name in faces), np.int8)
        factors = np.column_stack([present, numbers])
        members, factor_table = list(faces.values()), (*self.factors, _PART_COLUMN)
        return Plan(
            self.image_shape, factor_table, factors, lambda start: decode_many(source, members[start:], framing)
        )

    def part(self, images: FactorImages) -> FactorImages:
        if self.split in _PARTS:
            if int(images.factors[-1].values.min()) == _NO_PART:
                raise DataError(self._no_partition())
            images = ChosenValues(_PART_COLUMN.name, (_PARTS[self.split],)).select(images)
        elif self.split != "all":
            images = RandomSplit(0.9, seed=0, part="train" if self.split == "train90" else "test").select(images)
        return replace(images, factors=images.factors[:-1], factor_table=images.factor_table[:-1])

    def _no_partition(self) -> str:
        return (
            f"CelebA: the split {self.split!r} needs {_PARTITION}, which is missing. Save it next to {_LABELS}, or "
            "choose the split 'all', 'train90' or 'test10'."
        )


def _first(folder: Path, names: Sequence[str]) -> Path | None:
    return next((folder / name for name in names if (folder / name).exists()), None)


def _faces(source: Container, attributes: Mapping[str, bytes], labels: Path) -> dict[str, ArchiveMember]:
    """Returns the faces with attributes by file name. Logs the number of skipped faces and attributes."""
    found: dict[str, ArchiveMember] = {}
    for member in source.members():
        name = PurePosixPath(member.name).name
        if not name.endswith(".jpg") or name.startswith("."):
            continue
        if name in found:
            raise DataError(f"{source.path} has two faces {name} in different folders; expected one. Remove the other.")
        found[name] = member
    faces = {name: found[name] for name in sorted(found) if name in attributes}
    if not faces:
        raise DataError(
            f"{source.path} has {len(found):,} .jpg files and none is listed in {labels}; expected 000001.jpg etc. "
            "Fetch the official files."
        )
    for number, what in (
        (len(found) - len(faces), "faces without attributes"),
        (len(attributes) - len(faces), "attributes without a face"),
    ):
        if number:
            log.warning("CelebA: skipped %s %s (faces: %s; attributes: %s).", f"{number:,}", what, source.path, labels)
    return faces


def read_attributes(path: Path) -> dict[str, bytes]:
    """Reads the attributes of each face by file name: one byte per attribute, 1 for present and 0 for absent.

    The first line of the file is the number of faces, and the second line the names of the attributes. Each other line
    is a file name followed by 1 or -1 for each attribute.
    """
    lines = _lines(path)
    next(lines, None)
    _, names = next(lines, (2, []))
    if names != [name.encode() for name in ATTRIBUTES]:
        raise DataError(
            f"{path}: line 2 has {len(names)} attribute names; expected the {len(ATTRIBUTES)} official names. Fetch "
            "the official file."
        )
    return _by_face(path, lines, {b"-1": 0, b"1": 1}, len(ATTRIBUTES))


def read_partition(path: Path) -> dict[str, bytes]:
    """Reads the split of each face by file name, as one byte: 0 for train, 1 for validation, 2 for test."""
    return _by_face(path, _lines(path), {b"0": 0, b"1": 1, b"2": 2}, 1)


def _by_face(
    path: Path, lines: Iterable[tuple[int, list[bytes]]], codes: Mapping[bytes, int], num_values: int
) -> dict[str, bytes]:
    """Parses lines with a file name followed by values. Returns the values by file name."""
    found: dict[str, bytes] = {}
    for number, (name, *values) in lines:
        if len(values) != num_values or not codes.keys() >= set(values) or not name.isascii():
            raise DataError(
                f"{path}: line {number} is invalid; expected a name like 000001.jpg and {num_values} of the values "
                f"{', '.join(value.decode() for value in codes)}. Fetch the damaged or truncated file again."
            )
        if name.decode() in found:
            raise DataError(f"{path}: line {number} lists {name.decode()} a second time. Fetch the official file.")
        found[name.decode()] = bytes(map(codes.__getitem__, values))
    return found


def _lines(path: Path) -> Iterator[tuple[int, list[bytes]]]:
    """Yields the line number and the fields of each nonempty line, for any spaces and line ends."""
    lines = enumerate(read_bounded(path, _MAX_BYTES).splitlines(), start=1)
    return ((number, fields) for number, line in lines if (fields := line.split()))
