"""Latent traversals: images decoded while one or two latents vary, for one model or several side by side."""

import io
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, final

import numpy as np
from jaxtyping import Float
from torch import Tensor

from unbraid._internal import files
from unbraid.errors import CodesError
from unbraid.figures.labeled_sheet import LabeledSheet, beside, stack
from unbraid.figures.saving import rendered

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from PIL import Image

_FRAME_MILLISECONDS = 120


@final
@dataclass(frozen=True, eq=False)
class Strip:
    """A row of frames, decoded from the code of one image with one latent set to each of the positions.

    `latent` is the varied latent, and `start` the index of the start image among the given images. The positions of a
    discrete latent are its categories.
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
    """Strips of frames, one below the other.

    `caption` is the title of the row labels, such as the name of a score. Notebooks display a traversal as a picture.
    """

    strips: tuple[Strip, ...]
    caption: str = ""

    def __len__(self) -> int:
        return len(self.strips)

    @property
    def labels(self) -> tuple[str, ...]:
        """The text before each row."""
        return tuple(strip.label for strip in self.strips)

    @property
    def positions(self) -> tuple[float, ...]:
        """The value of the varied latent in each column; empty if rows have different values.

        Rows of discrete latents are considered only if no latent is continuous.
        """
        continuous = [strip for strip in self.strips if not strip.is_discrete]
        distinct = {strip.positions for strip in continuous or self.strips}
        return distinct.pop() if len(distinct) == 1 else ()

    def array(self) -> Float[np.ndarray, "row column ..."]:
        """Returns the decoder outputs of shape (row, column, ...), such as (row, column, channel, height, width).

        Rows of discrete latents have a frame for each category. Shorter rows are padded with NaN.
        """
        array: Float[np.ndarray, "row column ..."] = stack([strip.frames for strip in self.strips]).numpy()
        return array

    def image(self, *, labels: bool = True) -> "Image.Image":
        """Returns a picture (of Pillow). Intensities outside [0, 1] are clipped."""
        return (self._sheet() if labels else LabeledSheet(self._sheet().frames)).image()

    def figure(self) -> "Figure":
        """Returns a figure of matplotlib, if that is installed."""
        return self._sheet().axes().figure

    def save(self, path: Path | str) -> Path:
        """Writes a picture (.png), an animation (.gif) or a drawing with labels as text (.svg), and returns its path.

        An animation shows the columns forward and backward. A drawing needs matplotlib.
        """
        kinds = {".png": self.png, ".gif": self._gif, ".svg": lambda: rendered(self._sheet().axes(), ".svg")}
        return _saved(Path(path), kinds, "A traversal was", " .figure().savefig(...) writes other formats.")

    def _repr_png_(self) -> bytes:
        return self.png()

    def png(self) -> bytes:
        """Returns the picture as a PNG file."""
        return _png(self.image())

    def _gif(self) -> bytes:
        strips, sheet, stream = [_as_images(strip) for strip in self.strips], self._sheet(), io.BytesIO()
        count, pictures = sheet.frames.shape[1], []
        for t in range(count):
            # A latent with fewer categories shows each of them longer.
            moment = stack([strip[t * len(strip) // count][None] for strip in strips])
            pictures.append(replace(sheet, frames=moment, column_labels=sheet.column_labels[t : t + 1]).image())
        first, back = pictures[0], [*pictures[1:], *pictures[-2:0:-1]]
        first.save(stream, format="GIF", save_all=True, append_images=back, duration=_FRAME_MILLISECONDS, loop=0)
        return stream.getvalue()

    def _sheet(self) -> LabeledSheet:
        frames = stack([_as_images(strip) for strip in self.strips])
        return LabeledSheet(frames, self.labels, [f"{position:.3g}" for position in self.positions], self.caption)


@final
@dataclass(frozen=True, eq=False)
class SideBySide:
    """Traversals by model name, shown side by side.

    Row r of each traversal shows the latent matched with row r of the first model. Rows without a match are blank.
    Notebooks display the traversals as a picture.
    """

    traversals: Mapping[str, Traversal]

    def __len__(self) -> int:
        return len(self.traversals)

    def image(self) -> "Image.Image":
        """Returns a picture (of Pillow): the name of each model, and its rows below."""
        return beside([each.image() for each in self.traversals.values()], list(self.traversals))

    def png(self) -> bytes:
        """Returns the picture as a PNG file."""
        return _png(self.image())

    def save(self, path: Path | str) -> Path:
        """Writes the picture as a .png file, and returns its path."""
        return _saved(Path(path), {".png": self.png}, "Traversals side by side were")

    def _repr_png_(self) -> bytes:
        return self.png()


def _as_images(strip: Strip) -> Float[Tensor, "frame channel height width"]:
    """Returns the frames of a strip as images, with a channel axis. Raises if they are not images."""
    if strip.frames.ndim not in (3, 4):
        raise CodesError(
            f"The decoder outputs {' x '.join(map(str, strip.frames.shape[1:]))} numbers for a code, not an "
            "image (channel x height x width, or height x width). Read them with .array()."
        )
    return strip.frames if strip.frames.ndim == 4 else strip.frames[:, None]


def _saved(path: Path, kinds: Mapping[str, Callable[[], bytes]], what: str, hint: str = "") -> Path:
    """Writes the file in the format given by the suffix, and returns its path."""
    if path.suffix.lower() not in kinds:
        raise CodesError(f"{what} to be saved as {path.name}; expected a name that ends in {', '.join(kinds)}.{hint}")
    files.write_bytes(path, kinds[path.suffix.lower()]())
    return path


def _png(image: "Image.Image") -> bytes:
    stream = io.BytesIO()
    image.save(stream, format="PNG", optimize=True)
    return stream.getvalue()
