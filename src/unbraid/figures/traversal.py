"""Latent traversals: images decoded while one latent varies, for one model or several models side by side."""

import io
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, final

import numpy as np
from jaxtyping import Float
from torch import Tensor

from unbraid._internal import files
from unbraid._internal.short_repr import short_repr
from unbraid.errors import CodesError
from unbraid.figures.curves import as_pictures, ends_of
from unbraid.figures.labeled_sheet import LabeledSheet, beside, stack
from unbraid.figures.saving import rendered

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from PIL import Image

_FRAME_MILLISECONDS = 120


@final
@dataclass(frozen=True, eq=False)
class Strip:
    """A row of a traversal: frames decoded from the code of one image, with one latent set to each of the positions.

    `latent` is the index of this latent, and `start` the index of the image. The positions of a discrete latent are its
    categories.
    """

    label: str
    latent: int
    start: int
    positions: tuple[float, ...]
    is_discrete: bool
    frames: Float[Tensor, "frame ..."] = field(repr=False)


@final
@dataclass(frozen=True, eq=False)
class Traversal:
    """A latent traversal with a row of frames (`Strip`) for each latent. Notebooks display it as a picture.

    `caption` is the title of the row labels, such as the name of a score.
    """

    strips: tuple[Strip, ...]
    caption: str = ""

    __repr__ = short_repr

    def __len__(self) -> int:
        return len(self.strips)

    @property
    def labels(self) -> tuple[str, ...]:
        """The label of each row."""
        return tuple(strip.label for strip in self.strips)

    @property
    def positions(self) -> tuple[float, ...]:
        """The position of the latent in each column, or empty if the rows have different positions.

        Discrete latents are ignored if there are continuous latents.
        """
        continuous = [strip for strip in self.strips if not strip.is_discrete]
        distinct = {strip.positions for strip in continuous or self.strips}
        return distinct.pop() if len(distinct) == 1 else ()

    def array(self) -> Float[np.ndarray, "row column ..."]:
        """Returns the decoder outputs, for images of shape (row, column, channel, height, width).

        Rows of discrete latents have a frame for each category. Shorter rows are padded with NaN.
        """
        array: Float[np.ndarray, "row column ..."] = stack([strip.frames for strip in self.strips]).numpy()
        return array

    def image(self, *, labels: bool = True) -> "Image.Image":
        """Returns the traversal as a Pillow image. Intensities outside of [0, 1] are clipped."""
        return (self._sheet() if labels else LabeledSheet(self._sheet().frames)).image()

    def figure(self) -> "Figure":
        """Returns the traversal as a matplotlib figure."""
        return self._sheet().axes().figure

    def save(self, path: Path | str) -> Path:
        """Writes the traversal as .png, .gif or .svg, according to the suffix of `path`. Returns the path.

        A .gif file animates the columns forward and backward. An .svg file requires matplotlib.
        """
        kinds = {".png": self.png, ".gif": self._gif, ".svg": lambda: rendered(self._sheet().axes(), ".svg")}
        return _saved(Path(path), kinds, "Use .figure().savefig(...) for other formats.")

    def _repr_png_(self) -> bytes:
        return self.png()

    def png(self) -> bytes:
        """Returns the content of a PNG file of the traversal."""
        return _png(self.image())

    def _gif(self) -> bytes:
        strips, sheet, stream = self._images(), self._sheet(), io.BytesIO()
        count, pictures = sheet.frames.shape[1], []
        for t in range(count):
            # The frames of a latent with fewer categories are shown longer.
            moment = stack([strip[t * len(strip) // count][None] for strip in strips])
            pictures.append(replace(sheet, frames=moment, column_labels=sheet.column_labels[t : t + 1]).image())
        first, back = pictures[0], [*pictures[1:], *pictures[-2:0:-1]]
        first.save(stream, format="GIF", save_all=True, append_images=back, duration=_FRAME_MILLISECONDS, loop=0)
        return stream.getvalue()

    def _sheet(self) -> LabeledSheet:
        return LabeledSheet(
            stack(self._images()), self.labels, [f"{position:.3g}" for position in self.positions], self.caption
        )

    def _images(self) -> list[Float[Tensor, "frame channel height width"]]:
        """Returns the frames of each strip as images. Vectors are drawn as curves on one scale."""
        frames = [_as_images(strip) for strip in self.strips]
        return [as_pictures(each, ends_of(frames)) for each in frames]


@final
@dataclass(frozen=True, eq=False)
class SideBySide:
    """Traversals of several models side by side, by model name. Notebooks display them as a picture.

    Row r of each traversal has the latent that is matched to row r of the first model. Rows without a match are blank.
    """

    traversals: Mapping[str, Traversal]

    __repr__ = short_repr

    def __len__(self) -> int:
        return len(self.traversals)

    def image(self) -> "Image.Image":
        """Returns the traversals side by side as a Pillow image, with the name of each model above its rows."""
        return beside([each.image() for each in self.traversals.values()], list(self.traversals))

    def png(self) -> bytes:
        """Returns the content of a PNG file of the traversals."""
        return _png(self.image())

    def save(self, path: Path | str) -> Path:
        """Writes the traversals as a .png file. Returns the path."""
        return _saved(Path(path), {".png": self.png}, "Change the suffix.")

    def _repr_png_(self) -> bytes:
        return self.png()


def _as_images(strip: Strip) -> Float[Tensor, "frame channel height width"]:
    """Returns the frames of a strip with axes for channel, height and width. A vector has one channel and one row.

    Raises CodesError if the frames are neither images nor vectors.
    """
    if strip.frames.ndim == 2:
        return strip.frames[:, None, None]
    if strip.frames.ndim not in (3, 4):
        raise CodesError(
            f"Expected decoder outputs of shape (channels, height, width), (height, width) or (numbers,), got "
            f"{tuple(strip.frames.shape[1:])}. Use .array() for outputs that are not images."
        )
    return strip.frames if strip.frames.ndim == 4 else strip.frames[:, None]


def _saved(path: Path, kinds: Mapping[str, Callable[[], bytes]], fix: str) -> Path:
    """Writes the file in the format of its suffix. Returns the path."""
    if path.suffix.lower() not in kinds:
        raise CodesError(f"Expected a file name that ends in {', '.join(kinds)}, got {path.name}. {fix}")
    files.write_bytes(path, kinds[path.suffix.lower()]())
    return path


def _png(image: "Image.Image") -> bytes:
    stream = io.BytesIO()
    image.save(stream, format="PNG", optimize=True)
    return stream.getvalue()
