"""CelebA: faces of celebrities, with forty attributes that are there or not."""

import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import ClassVar, Literal, final

import numpy as np
from jaxtyping import Int8, UInt8

from unbraid.datasets.conversion import celeb_a_lists
from unbraid.datasets.conversion.celeb_a_lists import ATTRIBUTES
from unbraid.datasets.conversion.parted import PartedDataset
from unbraid.datasets.dataset import Factor, FactorImages
from unbraid.datasets.formats.archives import ArchiveMember, Container, Folder, Zip
from unbraid.datasets.image_store import Plan
from unbraid.datasets.pictures.pictures import Framing, decode_many
from unbraid.datasets.publication import Publication, PublishedFile
from unbraid.datasets.selected import subset_of
from unbraid.datasets.subsets import ChosenValues, RandomSplit
from unbraid.errors import DataError, SpecError

log = logging.getLogger(__name__)

Split = Literal["all", "train", "validation", "test", "train90", "test10"]

_ARCHIVE, _FOLDER = "img_align_celeba.zip", "img_align_celeba"
_LABELS, _PARTITION = "list_attr_celeba.txt", "list_eval_partition.txt"
_HEIGHT, _WIDTH = 218, 178
_FEWEST_PIXELS = 8
_NUM_IMAGES: dict[Split, int] = {
    "all": 202_599,
    "train": 162_770,
    "validation": 19_867,
    "test": 19_962,
    "train90": 182_339,
    "test10": 20_260,
}
# The official number of a part; a face that the partition does not name has the number after them.
_PARTS: dict[Split, int] = {"train": 0, "validation": 1, "test": 2}
_NO_PART = len(_PARTS)
# The cache has one column more than the attributes, so that the parts are known when the files are gone.
_PART_COLUMN = Factor("partition", len(_PARTS) + 1, ordered=False)
_SOURCE = "TensorFlow Datasets"


@final
@dataclass(frozen=True)
class CelebA(PartedDataset):
    """The faces of Liu, Luo, Wang & Tang, aligned and cropped: 202,599 in color, 178 wide and 218 high, with 40
    attributes each.

    The middle `crop` by `crop` pixels are made `resolution` by `resolution`; without a crop, the whole photograph is
    squeezed into that square. Faces and attributes are matched by name:
    a face without attributes, or attributes without a face, are left out, and the log counts them. Beside a folder of
    faces, the lists need not be the published ones.

    `train`, `validation` and `test` are the official parts; `train90` and `test10` are nine tenths of all, drawn at
    random, and the rest. All of them share one cache.
    """

    publication: ClassVar = Publication(
        title="Large-scale CelebFaces Attributes (CelebA)",
        homepage="http://mmlab.ie.cuhk.edu.hk/projects/CelebA.html",
        license="non-commercial research only",
        license_note="For non-commercial research. The images come from the internet and are not the owners': "
        "these allow no copy, sale or publication.",
        files=(
            PublishedFile(
                _ARCHIVE,
                None,
                1_443_490_838,
                "sha256:46fb89443c578308acf364d7d379fe1b9efb793042c0af734b6112e4fd3a8c74",
                _SOURCE,
            ),
            PublishedFile(
                _LABELS,
                None,
                26_721_026,
                "sha256:f0e5da289d5ccf75ffe8811132694922b60f2af59256ed362afa03fefba324d0",
                _SOURCE,
            ),
            PublishedFile(
                _PARTITION,
                None,
                2_836_386,
                "sha256:fc955bcb3ef8fbdf7d5640d9a8693a8431b5f2ee291a5c1449a1549e7e073fe7",
                _SOURCE,
            ),
        ),
        subfolders=("celeba", "CelebA"),
        how_to_get="Get them from the shared drive that http://mmlab.ie.cuhk.edu.hk/projects/CelebA.html leads to "
        "(Align&Cropped Images; the unpacked folder "
        "img_align_celeba does as well as its zip)",
    )

    split: Split = "all"
    """The official parts, or nine tenths of all faces at random and the rest."""
    crop: int | None = 128
    """Height and width of the middle that is cut out, in pixels; with none, the whole photograph is squeezed."""
    resolution: int = 64
    """Height and width of the images, in pixels."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if not _FEWEST_PIXELS <= self.resolution <= (_WIDTH if self.crop is None else self.crop) <= _WIDTH:
            raise SpecError(
                f"CelebA: crop is {self.crop} and resolution {self.resolution}; "
                f"expected {_FEWEST_PIXELS} <= resolution <= crop <= {_WIDTH}, "
                "the width of a face, or no crop."
            )

    @property
    def factors(self) -> tuple[Factor, ...]:
        return tuple(Factor(name, 2) for name in ATTRIBUTES)

    @property
    def published_num_images(self) -> int:
        return _NUM_IMAGES[self.split]

    @property
    def image_shape(self) -> tuple[int, int, int]:
        return (3, self.resolution, self.resolution)

    def sources(self, folder: Path) -> tuple[Path, ...] | None:
        """Returns faces, attributes and, where it is there, the partition; also in the subfolders of the owners' drive.
        The zip is preferred: it can be verified.
        """
        images = _first(folder, (f"Img/{_ARCHIVE}", _ARCHIVE, f"Img/{_FOLDER}", f"{_FOLDER}/{_FOLDER}", _FOLDER))
        labels, partition = (
            _first(folder, (f"Anno/{_LABELS}", _LABELS)),
            _first(folder, (f"Eval/{_PARTITION}", _PARTITION)),
        )
        if images is None or labels is None:
            return None
        return (images, labels) if partition is None else (images, labels, partition)

    def verified(self, source: Path, sources: Sequence[Path]) -> str:
        try:
            return super().verified(source, sources)
        except DataError as error:
            if not sources[0].is_dir():
                raise
            # Nothing is published for a folder: the owner of some of the faces may have cut the lists to match.
            log.warning("CelebA: read all the same, for beside a folder of faces a list may be one's own: %s", error)
            return "not the published file"

    def plan(self, sources: tuple[Path, ...]) -> Plan:
        images, labels, *partition = sources
        if self.split in _PARTS and not partition:
            raise DataError(self._no_partition())
        source = Folder(images) if images.is_dir() else Zip(images)
        attributes = celeb_a_lists.read_attributes(labels)
        faces = _faces(source, attributes, labels)
        parts = celeb_a_lists.read_partition(partition[0]) if partition else {}
        framing = Framing(
            self.image_shape,
            crop=None if self.crop is None else (self.crop, self.crop),
            picture_size=(_HEIGHT, _WIDTH),
            formats=("JPEG",),
            follow_exif=False,
            shrink=1 if self.crop is None or self.crop % self.resolution else self.crop // self.resolution,
        )

        def blocks(start: int) -> Iterator[UInt8[np.ndarray, "block channel height width"]]:
            return decode_many(source, list(faces.values())[start:], framing)

        return Plan(self.image_shape, (*self.factors, _PART_COLUMN), _factors(list(faces), attributes, parts), blocks)

    def part(self, images: FactorImages) -> FactorImages:
        if self.split in _PARTS:
            if int(images.factors[-1].values.min()) == _NO_PART:
                raise DataError(self._no_partition())
            images = subset_of(images, ChosenValues(_PART_COLUMN.name, (_PARTS[self.split],)))
        elif self.split != "all":
            images = subset_of(images, RandomSplit(0.9, seed=0, part="train" if self.split == "train90" else "test"))
        return replace(images, factors=images.factors[:-1], factor_table=images.factor_table[:-1])

    def _no_partition(self) -> str:
        return (
            f"CelebA: the split {self.split!r} needs {_PARTITION}, which is missing. "
            f"Put it beside {_LABELS}, or take the split 'all', "
            "'train90' or 'test10'."
        )


def _first(folder: Path, names: Sequence[str]) -> Path | None:
    return next((folder / name for name in names if (folder / name).exists()), None)


def _faces(source: Container, attributes: Mapping[str, bytes], labels: Path) -> dict[str, ArchiveMember]:
    """Returns the faces that have attributes, by name. The others are logged."""
    found: dict[str, ArchiveMember] = {}
    for member in source.members():
        name = PurePosixPath(member.name).name
        if not name.endswith(".jpg") or name.startswith("."):
            continue
        if name in found:
            raise DataError(f"{source.path} has two faces called {name}, in different folders. Keep one of them.")
        found[name] = member
    faces = {name: found[name] for name in sorted(found) if name in attributes}
    if not faces:
        raise DataError(
            f"{source.path} has {len(found):,} .jpg files, none of which {labels} names. "
            "Expected 000001.jpg and so on: fetch the official files."
        )
    for number, what in (
        (len(found) - len(faces), "faces without attributes"),
        (len(attributes) - len(faces), "attributes without a face"),
    ):
        if number:
            log.warning("CelebA: left out %s %s (faces: %s; attributes: %s).", f"{number:,}", what, source.path, labels)
    return faces


def _factors(
    names: Sequence[str], attributes: Mapping[str, bytes], parts: Mapping[str, int]
) -> Int8[np.ndarray, "image factor"]:
    values = np.frombuffer(b"".join(attributes[name] for name in names), np.int8).reshape(len(names), len(ATTRIBUTES))
    column = np.array([parts.get(name, _NO_PART) for name in names], np.int8)
    return np.concatenate([values, column[:, None]], axis=1)
