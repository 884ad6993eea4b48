"""Conversion from and to datasets of the Hugging Face library `datasets`."""

import hashlib
import io
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, final

import numpy as np

from unbraid._internal import files
from unbraid.codes import Labels
from unbraid.codes.columns import column_of, datasets_library, feature_of, masked_labels
from unbraid.datasets import file_stamps
from unbraid.datasets.dataset import Factor, FactorDataset, FactorImages
from unbraid.datasets.formats.archives import ArchiveMember, Container, read_bounded
from unbraid.datasets.image_store import ImageStore, Plan
from unbraid.datasets.user import own_pictures
from unbraid.datasets.user.labels import LabelTable, ranked
from unbraid.errors import CodesError, DataError, SpecError

_IMAGES_PER_BLOCK = 256
_WHERE = "the dataset"


@final
@dataclass(frozen=True)
class FromHuggingFace(FactorDataset):
    """Images of a Hugging Face `datasets.Dataset`, converted by `from_dataset` to a folder in the cache.

    If the folder was deleted, pass the dataset to `from_dataset` again, which returns an equal config.
    """

    origin: ClassVar = "read"

    path: str
    """Path of the cache folder written by `FromHuggingFace.from_dataset`."""
    sha256: str = ""
    """SHA-256 of the converted images and factors; computed on construction if empty."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.path:
            raise SpecError(
                "FromHuggingFace: path is ''; expected a folder of converted images. Call FromHuggingFace.from_dataset."
            )
        file_stamps.check_sha256(self.sha256, "FromHuggingFace")
        object.__setattr__(self, "path", files.absolute(self.path))
        if not self.sha256 and (record := self.store.record) is not None:
            object.__setattr__(self, "sha256", _checksum(record))

    @classmethod
    def from_dataset(
        cls,
        dataset: Any,
        image: str = "image",
        factors: str | Sequence[str] = ("label",),
        *,
        resolution: int | None = None,
        channels: int | None = None,
    ) -> "FromHuggingFace":
        """Converts the images and factors of a `datasets.Dataset`, and saves them in the cache.

        A column of class labels becomes a categorical factor. Integers, decimals and strings become factors as in
        `FromFolder`. On-access transforms of the dataset (`set_transform`) are not applied.

        Args:
            dataset: One split of a dataset, not streamed.
            image: The name of the column of images.
            factors: The names of the columns of factors.
            resolution: The height and width of the images, as in `FromFolder`.
            channels: 1 for gray, 3 for color, as in `FromFolder`.
        """
        own_pictures.check_settings("FromHuggingFace.from_dataset", resolution, channels)
        names = [factors] if isinstance(factors, str) else list(factors)
        _check_columns(dataset, image, names)
        pictures = _Pictures(dataset.with_format("arrow", columns=[image]), image)
        members = pictures.members()
        hashes, shapes = own_pictures.survey(pictures, members, _WHERE, "surveying a dataset of Hugging Face")
        framing = own_pictures.framing(shapes.image_shape(_WHERE, resolution, channels), resolution)
        columns = [_column(name, dataset.features[name], dataset.with_format(None)[name][:]) for name in names]
        table = LabelTable.from_columns(columns, len(members))
        content = [
            [asdict(factor) for factor in table.factors],
            hashlib.sha256(np.ascontiguousarray(table.values).tobytes()).hexdigest(),
        ]
        store = own_pictures.store_for(
            "from-hugging-face", hashlib.sha256(b"".join(hashes)).hexdigest(), content, resolution, channels
        )
        unchanged = replace(pictures, hashes=hashes)
        plan = Plan(
            framing.image_shape,
            table.factors,
            table.values,
            lambda start: own_pictures.images(unchanged, members, framing, _WHERE, start),
            facts={"words": table.words},
        )
        store.ensure(lambda: plan, "converting a dataset of Hugging Face", verify=True)
        return cls(str(store.folder))

    @property
    def factors(self) -> tuple[Factor, ...]:
        self._checked_record()
        return self.store.factor_table

    @property
    def num_images(self) -> int:
        return int(self._checked_record()["shape"][0])

    @property
    def image_shape(self) -> tuple[int, int, int]:
        _, channels, height, width = self._checked_record()["shape"]
        return channels, height, width

    @property
    def store(self) -> ImageStore:
        return ImageStore(Path(self.path))

    @property
    def words(self) -> dict[str, tuple[str, ...]]:
        """Category names of each categorical factor, in the order of value indices."""
        return {name: tuple(words) for name, words in self.store.facts.get("words", {}).items()}

    def open(self, *, verify: bool = False) -> FactorImages:
        self._checked_record()
        if (flaw := self.store.flaw(verify=verify)) is not None:
            raise DataError(f"{self.path} cannot be used: {flaw}. {_AGAIN}")
        return self.store.images()

    def _checked_record(self) -> dict[str, Any]:
        if (record := self.store.record) is None:
            raise DataError(f"{self.path} has no converted images. {_AGAIN}")
        if self.sha256 and (found := _checksum(record)) != self.sha256:
            raise DataError(f"{self.path} has images with SHA-256 {found}; the config expects {self.sha256}. {_AGAIN}")
        return record


_AGAIN = "Pass the dataset to FromHuggingFace.from_dataset again."


def _checksum(record: dict[str, Any]) -> str:
    """Computes a checksum of images, factors and category names from the checksums of the files."""
    content = {name: record.get(name) for name in ("shape", "factors", "files")}
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def _check_columns(dataset: Any, image: str, factors: Sequence[str]) -> None:
    library = datasets_library()
    if not isinstance(dataset, library.Dataset):
        raise DataError(
            f"FromHuggingFace.from_dataset expected a datasets.Dataset, got a {type(dataset).__name__}. Select a "
            "split, e.g. dataset['train'], and load the dataset without streaming."
        )
    columns = [image, *factors]
    if wrong := [name for name in columns if name not in dataset.features or columns.count(name) > 1]:
        raise DataError(
            f"Got the columns {', '.join(columns)}, where {wrong[0]!r} is missing or duplicate; expected names from "
            f"{', '.join(dataset.features)}. Set image=... and factors=(...)."
        )
    if not isinstance(dataset.features[image], library.Image):
        raise DataError(
            f"Column {image!r} of the dataset has {dataset.features[image]}; expected images. Set image=... to another "
            f"column, or convert the column with dataset.cast_column({image!r}, datasets.Image())."
        )
    if len(dataset) == 0:
        raise DataError("The dataset has 0 rows; expected at least one image. Pass another dataset.")


@final
@dataclass(frozen=True)
class _Pictures(Container):
    """Container of the encoded pictures in a column of a dataset."""

    rows: Any
    column: str
    hashes: Sequence[bytes] = ()
    """SHA-256 of each picture at the survey, to detect changes of external files."""

    def members(self) -> tuple[ArchiveMember, ...]:
        return tuple(ArchiveMember(f"image {row}", 0, row) for row in range(len(self.rows)))

    def named(self, member: ArchiveMember) -> str:
        return member.name

    def contents(self, members: Iterable[ArchiveMember]) -> Iterator[bytes]:
        first, block = 0, list[Any]()
        for member in members:
            row = member.offset
            if not first <= row < first + len(block):
                first = row
                block = self.rows[row : row + _IMAGES_PER_BLOCK].column(self.column).to_pylist()
            content = _content(block[row - first], member.name)
            if self.hashes and hashlib.sha256(content).digest() != self.hashes[row]:
                raise DataError(
                    f"The file of {member.name} was changed during the conversion. Leave it unchanged, and start again."
                )
            yield content


def _content(picture: dict[str, Any] | None, name: str) -> bytes:
    """Returns the encoded bytes of a picture, which a dataset stores directly or as the path of a file."""
    if picture is None or (picture["bytes"] is None and picture["path"] is None):
        raise DataError(f"{name} is missing. Remove rows without an image with dataset.filter(...).")
    if picture["bytes"] is not None:
        return bytes(picture["bytes"])
    path = picture["path"]
    if "://" in path:
        raise DataError(
            f"{name} has the location {path}; expected a local file. Load the dataset with its images included."
        )
    try:
        return read_bounded(Path(path))
    except DataError as error:
        raise DataError(f"{name}: {error}") from None


def _column(name: str, feature: Any, rows: list[Any]) -> tuple[Labels, tuple[str, ...]]:
    """Converts a column to labels. Also returns the category names of a categorical factor."""
    library = datasets_library()
    is_class = isinstance(feature, library.ClassLabel)
    dtype = feature.dtype if isinstance(feature, library.Value | library.ClassLabel) else ""
    if not re.fullmatch(r"u?int\d+|bool|float\d+|(large_)?string", dtype):
        raise DataError(
            f"Column {name!r} has {feature}; expected a class label, a number or a string per image. Omit the column."
        )
    column = masked_labels(rows, is_class=is_class)
    try:
        labels = Labels.from_column(name, column)
    except CodesError as error:
        raise DataError(f"{error} Remove these rows, or omit {name!r} from factors.") from None
    if not is_class:
        return ranked(labels), () if labels.ordered else tuple(sorted(set(column.compressed().tolist())))
    if (most := int(labels.values.max())) >= feature.num_classes:
        raise DataError(
            f"Column {name!r} has the label {most}; expected 0 to {feature.num_classes - 1}. Correct the labels."
        )
    return replace(labels, ordered=False), tuple(feature.names)


def to_hugging_face(dataset: FactorDataset | FactorImages) -> Any:
    """Converts a dataset to a Hugging Face `datasets.Dataset` in memory, with one row per image.

    The column `image` has PNG pictures; for vectors the column is `vector`. Each factor is a column: class labels with
    category names for a categorical factor, else value indices or floats. Missing labels are None. The inverse function
    is `FromHuggingFace.from_dataset`.
    """
    library = datasets_library()
    if not isinstance(dataset, FactorDataset | FactorImages):
        raise DataError(f"to_hugging_face got {type(dataset).__name__}. Pass a dataset, such as DSprites().")
    images = dataset.open() if isinstance(dataset, FactorDataset) else dataset
    words = getattr(dataset, "words", {})
    is_vector = isinstance(dataset, FactorDataset) and dataset.holds_vectors
    name = "vector" if is_vector else "image"
    if taken := [labels.name for labels in images.factors if labels.name == name]:
        raise DataError(f"A factor is named {taken[0]!r}, like the column of images. Rename the factor.")
    columns: dict[str, Any] = {name: list(_rows(images, is_vector=is_vector))}
    number = library.Sequence(library.Value("float32"), length=images.image_shape[2])
    features: dict[str, Any] = {name: number if is_vector else library.Image()}
    for labels in images.factors:
        columns[labels.name] = column_of(labels)
        features[labels.name] = feature_of(labels, words.get(labels.name, ()))
    return library.Dataset.from_dict(columns, features=library.Features(features))


def _rows(images: FactorImages, *, is_vector: bool) -> Iterator[Any]:
    """Yields the rows of the image column: vectors as lists, or images as PNG files in the format of `datasets`."""
    from PIL import Image

    for first in range(0, len(images), _IMAGES_PER_BLOCK):
        block = images.bytes_of(slice(first, first + _IMAGES_PER_BLOCK)).cpu()
        if is_vector:
            yield from block.flatten(start_dim=1).tolist()
            continue
        for pixels in block.permute(0, 2, 3, 1).numpy():
            stream = io.BytesIO()
            Image.fromarray(pixels[..., 0] if pixels.shape[2] == 1 else pixels).save(stream, format="PNG")
            yield {"bytes": stream.getvalue(), "path": None}
