"""A user's own pictures, with or without factors, from a data set of the Hugging Face library `datasets`."""

import hashlib
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, final

import numpy as np
from jaxtyping import UInt8

from unbraid._internal import files
from unbraid._internal.progress import Event, emit
from unbraid.codes import Labels
from unbraid.datasets import pictures
from unbraid.datasets.dataset import Factor, FactorDataset, FactorImages
from unbraid.datasets.formats.archives import MAX_MEMBER_BYTES
from unbraid.datasets.image_store import ImageStore, Plan
from unbraid.datasets.user import factor_columns, own_pictures
from unbraid.datasets.user.own_pictures import PictureShapes
from unbraid.errors import CodesError, DataError, SpecError

_IMAGES_PER_BLOCK = 256
_WHERE = "the data set"


@final
@dataclass(frozen=True)
class FromHuggingFace(FactorDataset):
    """Images that `from_dataset` took out of a `datasets.Dataset`. `path` is the folder in the cache that keeps them,
    `sha256` their checksum.

    The config alone cannot make them again: where the folder is gone, hand the data set to `of` once more, which gives
    an equal config.
    """

    origin: ClassVar = "read"

    path: str
    """The folder in the cache that `FromHuggingFace.from_dataset` filled."""
    sha256: str = ""
    """Checksum of what was read when the config was made; filled in."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.path:
            raise SpecError(
                "FromHuggingFace: path is empty; call FromHuggingFace.from_dataset, which gives the config."
            )
        if self.sha256 and not re.fullmatch("[0-9a-f]{64}", self.sha256):
            raise SpecError(
                f"FromHuggingFace: sha256 is {self.sha256!r}; give 64 lower-case hexadecimal digits, or leave it out."
            )
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
        """Returns the config for a `datasets.Dataset`: its column `image`, and these columns as factors. The images are
        converted and kept in the cache.

        A column of class labels is an unordered discrete factor; whole numbers, decimals and words become factors as in
        `FromFolder`, and `resolution` and `channels` mean what they mean there. Transforms that a data set applies when
        it is read (`set_transform`) are not applied.
        """
        own_pictures.check_settings("FromHuggingFace.from_dataset", resolution, channels)
        table = _Table.of(dataset, image, (factors,) if isinstance(factors, str) else factors)
        content = table.survey()
        image_shape = content.shapes.image_shape(_WHERE, resolution, channels)
        words = {labels.name: names for labels, names in content.columns if names}
        values, factor_table = factor_columns.table([labels for labels, _ in content.columns], words, len(table))
        labels = [
            [asdict(factor) for factor in factor_table],
            hashlib.sha256(np.ascontiguousarray(values).tobytes()).hexdigest(),
        ]
        store = own_pictures.store_for(
            "from-hugging-face", hashlib.sha256(b"".join(content.hashes)).hexdigest(), labels, resolution, channels
        )

        def blocks(start: int) -> Iterator[UInt8[np.ndarray, "block channel height width"]]:
            return table.images(start, content.hashes, image_shape, is_square=resolution is not None)

        plan = Plan(image_shape, factor_table, values, blocks, facts={"words": words})
        store.ensure(lambda: plan, "converting a data set of Hugging Face", verify=True)
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
        """Returns the values of each factor of class labels or words, in the order of their indices."""
        return {name: tuple(words) for name, words in self.store.facts.get("words", {}).items()}

    def open(self, *, verify: bool = False) -> FactorImages:
        self._checked_record()
        if (flaw := self.store.flaw(verify=verify)) is not None:
            raise DataError(f"{self.path} cannot be used: {flaw}. {_AGAIN}")
        return self.store.images()

    def _checked_record(self) -> dict[str, Any]:
        if (record := self.store.record) is None:
            raise DataError(f"{self.path} holds no converted images. {_AGAIN}")
        if self.sha256 and (found := _checksum(record)) != self.sha256:
            raise DataError(
                f"{self.path} holds images with SHA-256 {found}, but the config expects {self.sha256}. {_AGAIN}"
            )
        return record


_AGAIN = "Hand the data set to FromHuggingFace.from_dataset again: what it held is not kept elsewhere."


def _checksum(record: dict[str, Any]) -> str:
    """Returns the checksum of images, factors and their names: the record has the checksums of the files."""
    content = {name: record.get(name) for name in ("shape", "factors", "files")}
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


@final
@dataclass(frozen=True)
class _Content:
    """Holds what one look at every row shows: a hash and the shape of every picture, and the labels."""

    hashes: list[bytes]
    shapes: PictureShapes
    columns: list[tuple[Labels, tuple[str, ...]]]


@final
@dataclass(frozen=True)
class _Table:
    """Holds the rows of a data set as Arrow has them: pictures not decoded, labels as they are stored."""

    rows: Any
    image: str
    features: dict[str, Any]
    """Of the columns that are factors."""

    @classmethod
    def of(cls, dataset: Any, image: str, factors: Sequence[str]) -> "_Table":
        try:
            from datasets import Dataset, Image
        except ImportError as error:
            raise SpecError(
                f"FromHuggingFace.from_dataset needs the package datasets ({error}). Install it: pip install "
                "'unbraid[huggingface]'."
            ) from None
        if not isinstance(dataset, Dataset):
            raise DataError(
                f"FromHuggingFace.from_dataset expected a datasets.Dataset, got a {type(dataset).__name__}. Choose a "
                "split, as in dataset['train'], and load it without streaming."
            )
        columns = [image, *factors]
        if len(set(columns)) < len(columns) or (unknown := [name for name in columns if name not in dataset.features]):
            given = (
                f"has no column {unknown[0]!r}"
                if len(set(columns)) == len(columns)
                else f"was asked for {columns}, one of them twice"
            )
            raise DataError(
                f"The data set {given}; it has {', '.join(dataset.features)}. Name its columns with image=... and "
                "factors=(...)."
            )
        if not isinstance(dataset.features[image], Image):
            raise DataError(
                f"Column {image!r} of the data set holds {dataset.features[image]}; expected pictures. Name another "
                "with image=..., turn it into pictures "
                f"with dataset.cast_column({image!r}, datasets.Image()), or hand the arrays to FromArrays.from_arrays."
            )
        if len(dataset) == 0:
            raise DataError("The data set has no rows. Give one with at least one image.")
        return cls(
            dataset.with_format("arrow", columns=columns), image, {name: dataset.features[name] for name in factors}
        )

    def __len__(self) -> int:
        return len(self.rows)

    def survey(self) -> _Content:
        hashes: list[bytes] = []
        shapes: list[tuple[str, tuple[int, int, int]]] = []
        flaws: dict[str, DataError] = {}
        labels: dict[str, list[Any]] = {name: [] for name in self.features}
        for first in range(0, len(self), _IMAGES_PER_BLOCK):
            block = self.rows[first : first + _IMAGES_PER_BLOCK]
            for row, picture in enumerate(block.column(self.image).to_pylist(), start=first):
                name = _named(row)
                try:
                    content = _content(picture, name)
                    hashes.append(hashlib.sha256(content).digest())
                    shapes.append((name, pictures.shape_of(content, name)))
                except DataError as error:
                    flaws[name] = error
            for name, column in labels.items():
                column.extend(block.column(name).to_pylist())
            num_seen = min(first + _IMAGES_PER_BLOCK, len(self))
            emit(Event("looking through a data set of Hugging Face", num_seen, len(self), "pictures"))
        if flaws:
            raise own_pictures.unreadable(_WHERE, flaws, len(self))
        return _Content(
            hashes,
            PictureShapes.of(shapes),
            [_column(name, self.features[name], labels[name]) for name in self.features],
        )

    def images(
        self, start: int, hashes: Sequence[bytes], image_shape: tuple[int, int, int], *, is_square: bool
    ) -> Iterator[UInt8[np.ndarray, "block channel height width"]]:
        """Yields the pictures from number `start` on, decoded. They may be files elsewhere, so each is compared with
        what it was when it was surveyed.
        """
        for first in range(start, len(self), _IMAGES_PER_BLOCK):
            found = self.rows[first : first + _IMAGES_PER_BLOCK].column(self.image).to_pylist()
            block = np.empty((len(found), *image_shape), np.uint8)
            for row, picture in enumerate(found, start=first):
                name = _named(row)
                content = _content(picture, name)
                if hashlib.sha256(content).digest() != hashes[row]:
                    raise DataError(
                        f"The file of {name} was changed while it was read. Leave it alone until the pictures are "
                        "converted."
                    )
                if is_square:
                    block[row - first] = own_pictures.square_image(content, name, image_shape)
                else:
                    block[row - first] = pictures.framed(content, name, pictures.Framing(image_shape))
            yield block


def _named(row: int) -> str:
    return f"image {row}"


def _content(picture: dict[str, Any] | None, name: str) -> bytes:
    """Returns the file of a picture, which a data set holds, or has the path of."""
    if picture is None or (picture["bytes"] is None and picture["path"] is None):
        raise DataError(f"{name} is missing. Filter such rows out: dataset.filter(...).")
    if picture["bytes"] is not None:
        return bytes(picture["bytes"])
    path = picture["path"]
    if "://" in path:
        raise DataError(
            f"{name} lies at {path}, which is not fetched here. Load the data set so that it holds its pictures."
        )
    if not Path(path).is_file():  # a device could be read for ever
        raise DataError(f"{name} has no picture, and there is no file {path}. Bring it back, or filter such rows out.")
    try:
        with files.opened(path) as stream:
            content = stream.read(MAX_MEMBER_BYTES + 1)
    except OSError as error:
        raise DataError(
            f"{name}, the file {path}, cannot be read ({error.strerror}). Check that it is there and is yours to read."
        ) from None
    if len(content) > MAX_MEMBER_BYTES:
        raise DataError(f"{name}, the file {path}, has more than {MAX_MEMBER_BYTES:,} bytes. No picture needs as many.")
    return content


def _column(name: str, feature: Any, labels: list[Any]) -> tuple[Labels, tuple[str, ...]]:
    """Returns the labels of a column, and the words that they number where they are names."""
    from datasets import ClassLabel, Value

    is_class = isinstance(feature, ClassLabel)
    # -1 is what the library writes for a class that is not known.
    known = np.array([not (label is None or label != label or (is_class and label < 0)) for label in labels])
    given = [label for label, is_known in zip(labels, known, strict=True) if is_known]
    if is_class and given and max(given) >= feature.num_classes:
        raise DataError(
            f"Column {name!r} has the label {max(given)}; its classes are numbered 0 to {feature.num_classes - 1}."
        )
    dtype = "int64" if is_class else feature.dtype if isinstance(feature, Value) else ""
    words = tuple(feature.names) if is_class else tuple(sorted(set(given))) if dtype.endswith("string") else ()
    if dtype.endswith("string"):
        given = list(map({word: number for number, word in enumerate(words)}.__getitem__, given))
    elif not re.fullmatch(r"u?int\d+|bool|float\d+", dtype):
        raise DataError(
            f"Column {name!r} of the data set holds {feature}; expected a class label, a number or a word an image. "
            "Leave it out of factors."
        )
    column = np.ma.masked_all(len(labels), dtype=np.array(given).dtype)
    column[known] = given
    try:
        found = Labels.from_column(name, column)
    except CodesError as error:
        raise DataError(f"{error} Filter such rows out, or leave {name!r} out of factors.") from None
    return (replace(found, ordered=False), words) if words else (factor_columns.ranked(found), ())
