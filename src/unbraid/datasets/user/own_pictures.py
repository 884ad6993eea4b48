"""A user's own pictures, from wherever they come: what sizes they have, how they become images, and where these are
kept.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, final

import numpy as np
from jaxtyping import UInt8

from unbraid._internal import files
from unbraid.datasets import pictures
from unbraid.datasets.image_store import ImageStore
from unbraid.errors import DataError, SpecError

_MAX_RESOLUTION = 4096
_MAX_NAMED = 3
# Part of the name of a store. Raise it when a change here or in `pictures` changes a pixel.
_VERSION = 1


@final
@dataclass(frozen=True)
class PictureShapes:
    """Says which shapes occur among pictures: (channels, height, width), how often, and the first that has it."""

    counts: tuple[tuple[tuple[int, int, int], int, str], ...]

    @classmethod
    def of(cls, shapes: Iterable[tuple[str, tuple[int, int, int]]]) -> "PictureShapes":
        counts: dict[tuple[int, int, int], tuple[int, str]] = {}
        for name, shape in shapes:
            seen, first = counts.get(shape, (0, name))
            counts[shape] = (seen + 1, first)
        return cls(tuple((shape, count, first) for shape, (count, first) in counts.items()))

    def image_shape(self, where: str, resolution: int | None, channels: int | None) -> tuple[int, int, int]:
        """Returns the shape of the images that these pictures become. They are in color if any picture is. Refuses
        sizes that differ, unless a resolution is given.
        """
        channels = channels or max(shape[0] for shape, _, _ in self.counts)
        if resolution is not None:
            return channels, resolution, resolution
        sizes: dict[tuple[int, int], tuple[int, str]] = {}
        for (_, height, width), count, first in self.counts:
            seen, name = sizes.get((height, width), (0, first))
            sizes[height, width] = (seen + count, name)
        if len(sizes) > 1:
            common = sorted(sizes.items(), key=lambda item: -item[1][0])[:_MAX_NAMED]
            shown = ", ".join(
                f"{count:,} of {height} x {width} such as {name}" for (height, width), (count, name) in common
            )
            raise DataError(
                f"The pictures in {where} have {len(sizes)} sizes (height x width): {shown}. Make them alike, or give "
                "a resolution: then each is cut to its central square and resized."
            )
        ((height, width),) = sizes
        return channels, height, width

    @property
    def squares(self) -> set[int]:
        """Returns the sides of the central squares that are cut out."""
        return {min(height, width) for (_, height, width), _, _ in self.counts}


def check_settings(name: str, resolution: int | None, channels: int | None) -> None:
    if resolution is not None and not 1 <= resolution <= _MAX_RESOLUTION:
        raise SpecError(
            f"{name}: resolution is {resolution}; give 1 to {_MAX_RESOLUTION} pixels, or leave it out to keep the "
            "pictures' size."
        )
    if channels not in (None, 1, 3):
        raise SpecError(
            f"{name}: channels is {channels}; give 1 (gray) or 3 (color), or leave it out to take what the pictures "
            "have."
        )


def square_image(
    content: bytes, name: str, image_shape: tuple[int, int, int]
) -> UInt8[np.ndarray, "channel height width"]:
    """Returns the central square of the picture, as large as it can be, resized."""
    side = min(pictures.shape_of(content, name)[1:])
    return pictures.framed(content, name, pictures.Framing(image_shape, crop=(side, side)))


def unreadable(where: str, flaws: Mapping[str, DataError], num_pictures: int) -> DataError:
    """Returns the error for pictures that cannot be read, given what is wrong with each by its name: a few are named,
    all are counted.
    """
    named = ", ".join(list(flaws)[:_MAX_NAMED]) + (
        f" and {len(flaws) - _MAX_NAMED:,} more" if len(flaws) > _MAX_NAMED else ""
    )
    return DataError(
        f"{len(flaws):,} of {num_pictures:,} pictures in {where} cannot be read: {named}. Save them again, or take "
        f"them out. The first: {next(iter(flaws.values()))}"
    )


def store_for(kind: str, *content: Any) -> ImageStore:
    """Returns the place in the cache that belongs to this content."""
    digest = hashlib.sha256(json.dumps([_VERSION, *content]).encode()).hexdigest()[:16]
    return ImageStore(files.cache_folder() / "converted" / f"{kind}-{digest}")
