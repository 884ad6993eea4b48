"""Pictures of users: survey of sizes, conversion to images, and stores in the cache."""

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, final

from unbraid._internal import files
from unbraid._internal.progress import Event, emit
from unbraid.datasets import pictures
from unbraid.datasets.formats.archives import ArchiveMember, Container
from unbraid.datasets.image_store import Blocks, ImageStore
from unbraid.errors import DataError, SpecError

_MAX_RESOLUTION = 4096
_MAX_NAMED = 3
# Version in the name of a store. Increase it when a change here or in `pictures` changes a pixel.
_VERSION = 1


@final
@dataclass(frozen=True)
class PictureShapes:
    """Distinct shapes (channels, height, width) of pictures, with the count and the first picture of each shape."""

    counts: tuple[tuple[tuple[int, int, int], int, str], ...]

    @classmethod
    def from_shapes(cls, shapes: Iterable[tuple[str, tuple[int, int, int]]]) -> "PictureShapes":
        counts: dict[tuple[int, int, int], tuple[int, str]] = {}
        for name, shape in shapes:
            seen, first = counts.get(shape, (0, name))
            counts[shape] = (seen + 1, first)
        return cls(tuple((shape, count, first) for shape, (count, first) in counts.items()))

    def image_shape(self, where: str, resolution: int | None, channels: int | None) -> tuple[int, int, int]:
        """Returns the shape of the images. Raises an error for pictures of different sizes without a `resolution`."""
        channels = channels or max(shape[0] for shape, _, _ in self.counts)
        if resolution is not None:
            return channels, resolution, resolution
        sizes: dict[tuple[int, int], tuple[int, str]] = {}
        for (_, height, width), count, first in self.counts:
            seen, name = sizes.get((height, width), (0, first))
            sizes[height, width] = (seen + count, name)
        if len(sizes) > 1:
            common = sorted(sizes.items(), key=lambda item: -item[1][0])[:_MAX_NAMED]
            listed = ", ".join(
                f"{count:,} of {height} x {width} such as {name}" for (height, width), (count, name) in common
            )
            raise DataError(
                f"The pictures in {where} have {len(sizes)} sizes (height x width): {listed}; expected one size. Set a "
                "resolution, or resize the pictures."
            )
        ((height, width),) = sizes
        return channels, height, width


def check_settings(name: str, resolution: int | None, channels: int | None) -> None:
    """Checks the resolution and the number of channels."""
    if resolution is not None and not 1 <= resolution <= _MAX_RESOLUTION:
        raise SpecError(f"{name}: resolution is {resolution}. Give 1 to {_MAX_RESOLUTION} pixels, or omit resolution.")
    if channels not in (None, 1, 3):
        raise SpecError(f"{name}: channels is {channels}. Give 1 (gray) or 3 (color), or omit channels.")


def framing(image_shape: tuple[int, int, int], resolution: int | None) -> pictures.Framing:
    """Returns the options to convert pictures to images. With a `resolution`, the central square is resized."""
    return pictures.Framing(image_shape, crop=None if resolution is None else "largest")


def survey(
    source: Container, members: Sequence[ArchiveMember], where: str, doing: str
) -> tuple[list[bytes], PictureShapes]:
    """Computes the SHA-256 and the shape of each picture. Raises an error with the number of unreadable pictures."""
    hashes: list[bytes] = []
    shapes: list[tuple[str, tuple[int, int, int]]] = []
    flaws: dict[str, DataError] = {}
    contents = source.contents(members)
    for number, member in enumerate(members, start=1):
        try:
            content = next(contents)
            hashes.append(hashlib.sha256(content).digest())
            shapes.append((member.name, pictures.shape_of(content, source.named(member))))
        except DataError as error:
            flaws[member.name] = error
            contents = source.contents(members[number:])
        emit(Event(doing, number, len(members), "pictures"))
    if flaws:
        raise unreadable(where, flaws, len(members))
    return hashes, PictureShapes.from_shapes(shapes)


def images(
    source: Container, members: Sequence[ArchiveMember], frame: pictures.Framing, where: str, start: int
) -> Blocks:
    """Yields blocks of images converted from the pictures, from number `start` on.

    If a picture cannot be decoded, all remaining pictures are decoded too, and the error lists all unreadable pictures.
    """
    done = start
    try:
        for block in pictures.decode_many(source, members[start:], frame):
            yield block
            done += len(block)
    except DataError as error:
        flaws, rest = {}, members[done:]
        for number, (member, content) in enumerate(zip(rest, source.contents(rest), strict=True), start=1):
            try:
                pictures.decode(content, source.named(member))
            except DataError as flaw:
                flaws[member.name] = flaw
            emit(Event("searching for unreadable pictures", number, len(rest), "pictures"))
        raise (unreadable(where, flaws, len(members)) if flaws else error) from error


def unreadable(where: str, flaws: Mapping[str, DataError], num_pictures: int) -> DataError:
    """Creates the error for unreadable pictures from the error of each picture by name."""
    named = ", ".join(list(flaws)[:_MAX_NAMED]) + (
        f" and {len(flaws) - _MAX_NAMED:,} more" if len(flaws) > _MAX_NAMED else ""
    )
    return DataError(
        f"{len(flaws):,} of {num_pictures:,} pictures in {where} cannot be read: {named}. Save or remove these "
        f"pictures. The first error: {next(iter(flaws.values()))}"
    )


def store_for(kind: str, *content: Any) -> ImageStore:
    """Returns the store in the cache, named by a digest of the arguments."""
    digest = hashlib.sha256(json.dumps([_VERSION, *content]).encode()).hexdigest()[:16]
    return ImageStore(files.cache_folder() / "converted" / f"{kind}-{digest}")
