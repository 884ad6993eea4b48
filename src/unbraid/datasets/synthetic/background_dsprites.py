"""Background dSprites: sprites that invert a patch of a picture."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import cast, final

import numpy as np
import torch
from jaxtyping import Int64, UInt8
from torch import Tensor

from unbraid._internal import draws, files
from unbraid.datasets import file_stamps, pictures
from unbraid.datasets.formats.archives import read_bounded
from unbraid.datasets.synthetic.dsprites_variants import DSpritesVariant, Masks, Painted, Picture, random_bytes
from unbraid.errors import DataError, SpecError

# The size to which the original shrinks its picture.
_MAX_HEIGHT, _MAX_WIDTH = 274, 350
_OCTAVES = (64, 32, 16, 8)


@final
@dataclass(frozen=True)
class BackgroundDSprites(DSpritesVariant):
    """dSprites, each on a random patch of a picture, tinted with a random color, which the sprite inverts (Locatello et
    al., arXiv:1811.12359v4).

    The original uses Munch's The Scream. `background` is the path of a picture; without it the patches are of a smooth
    random texture. `background_sha256` is filled in when the config is made, and opening a picture that has changed
    since raises an error.
    """

    background: str | None = None
    """The picture of the patches; without it they are of a random texture."""
    background_sha256: str = ""
    """Checksum of that picture; filled in."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.background == "":
            raise SpecError("BackgroundDSprites: background is empty; name a picture, or leave it out.")
        if self.background is None and self.background_sha256:
            raise SpecError("BackgroundDSprites: background_sha256 is given without background; give both, or neither.")
        if self.background is not None:
            object.__setattr__(self, "background", files.absolute(self.background))
            sha256 = file_stamps.sha256_or_empty(self.background_sha256, Path(self.background), "BackgroundDSprites")
            object.__setattr__(self, "background_sha256", sha256)

    def picture(self) -> UInt8[np.ndarray, "3 height width"]:
        """Returns the picture of the patches, at most 350 pixels wide and 274 high."""
        if self.background is None:
            return texture(self.seed, "background-dsprites/texture", _MAX_HEIGHT, _MAX_WIDTH, _OCTAVES)
        from PIL import Image

        path = Path(self.background)
        content = read_bounded(path)
        file_stamps.check_expected(path, files.sha256(path), self.background_sha256 or "none")
        small = Image.fromarray(pictures.decode(content, str(path), 3))
        small.thumbnail((_MAX_WIDTH, _MAX_HEIGHT), Image.Resampling.BICUBIC, reducing_gap=None)
        if min(small.size) < self.resolution:
            raise DataError(
                f"The background {path} is {small.height} x {small.width} pixels once it fits into {_MAX_HEIGHT} x "
                f"{_MAX_WIDTH}; patches of {self.resolution} x {self.resolution} do not fit. Name a larger picture."
            )
        return np.ascontiguousarray(np.asarray(small).transpose(2, 0, 1))

    def paint(self, masks: Masks, rows: Int64[Tensor, " image"], picture: Picture | None) -> Painted:
        patches = self._patches(cast(Tensor, picture), rows, *masks.shape[2:])
        colors = random_bytes(self.seed, "background-dsprites/colour", rows, 3)  # a stream of draws keeps its name
        # The mean, rounded up at a half; in 16 bits, because the sum has nine.
        tinted = ((patches.short() + colors[:, :, None, None].short() + 1) >> 1).to(torch.uint8)
        # The complement of a byte is 255 minus it.
        return tinted ^ masks

    def _patches(self, picture: Picture, rows: Int64[Tensor, " image"], height: int, width: int) -> Painted:
        """Returns a patch for each row: every position is equally likely."""
        windows = picture.unfold(1, height, 1).unfold(2, width, 1).movedim(0, 2)
        places = torch.tensor(windows.shape[:2], device=rows.device)
        down, right = (
            (draws.uniform(torch.full_like(rows, self.seed), "background-dsprites/place", rows, (2,)) * places).long().T
        )
        return windows[down, right]


def texture(
    seed: int, stream: str, height: int, width: int, octaves: Sequence[int]
) -> UInt8[np.ndarray, "3 height width"]:
    """Returns a texture that depends on (seed, stream), stretched to 0 to 255.

    Before the stretching, pixels do not depend on height and width.
    """
    # Each octave is in units of c⁻⁶; in those of the widest all are whole.
    unit = max(octaves) ** 6
    total = sum(
        octave * _octave(seed, f"{stream}/{octave}", height, width, octave) * (unit // octave**6) for octave in octaves
    )
    low, high = (edge(total, axis=(1, 2), keepdims=True) for edge in (np.min, np.max))
    return ((total - low) * 255 // np.maximum(high - low, 1)).astype(np.uint8)


def _octave(seed: int, stream: str, height: int, width: int, octave: int) -> Int64[np.ndarray, "3 height width"]:
    """Returns one octave, in units of octave⁻⁶."""
    num_rows, num_columns = -(-height // octave) + 1, -(-width // octave) + 1
    rows = torch.arange(num_rows)
    corners = (
        random_bytes(seed, stream, rows, 3 * num_columns)
        .reshape(num_rows, 3, num_columns)
        .numpy()
        .transpose(1, 0, 2)
        .astype(np.int64)
    )
    return _interpolated(_interpolated(corners, height, octave, axis=1), width, octave, axis=2)


def _interpolated(values: Int64[np.ndarray, "..."], length: int, octave: int, axis: int) -> Int64[np.ndarray, "..."]:
    """Interpolates along one axis, in units of octave⁻³."""
    square, t = np.divmod(np.arange(length), octave)
    weight = (t * t * (3 * octave - 2 * t)).reshape([-1 if axis == other else 1 for other in range(values.ndim)])
    return np.take(values, square, axis) * (octave**3 - weight) + np.take(values, square + 1, axis) * weight
