"""A data set at a glance, as one picture: samples, each factor on its own, and how likely combinations of factors
are.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import final

import torch
from PIL import Image

from unbraid import files
from unbraid.data.dataset import FactorImages
from unbraid.errors import DataError
from unbraid.report import drawing
from unbraid.report.drawing import SMALL, SOFT, TEXT, TITLE
from unbraid.report.factor_sweeps import MAX_COLUMNS, Sweep, Sweeps, factor_sweeps, sampled_rows
from unbraid.report.joint_map import JointMap, draw_joint_map

# A picture of more factors would be higher than anyone scrolls.
MAX_FACTORS = 48
NUM_SAMPLE_LINES = 3
_MARGIN, _SPACE, _GAP = 64, 40, 8
# Between the images of one value and those of the next, where a value has several.
_BETWEEN_VALUES = 32
_MIN_LABEL, _MAX_LABEL = 200, 400
_BESIDE = 96
_MIN_NUMBER = 64


def write_dataset_sheet(
    path: Path,
    images: FactorImages,
    title: str,
    notes: Sequence[str] = (),
    maps: Sequence[JointMap] = (),
    seed: int = 0,
) -> Path:
    """Draws the picture and writes it as a PNG. The same images, words and seed give the same bytes."""
    picture = draw_dataset_sheet(images, title, notes, maps, seed)
    with files.atomic_writer(path) as stream:
        picture.save(stream, format="PNG")
    return path


def draw_dataset_sheet(
    images: FactorImages, title: str, notes: Sequence[str] = (), maps: Sequence[JointMap] = (), seed: int = 0
) -> Image.Image:
    """Draws the title and the notes; below them samples, drawn by the seed, and a line for each factor; the maps beside
    these.
    """
    swept = factor_sweeps(images, seed)
    shown = swept.sweeps[:MAX_FACTORS]
    longest = max((drawing.text_width(sweep.factor.name) for sweep in shown), default=0)
    lines = _Lines(images, min(max(longest, _MIN_LABEL), _MAX_LABEL))
    about = drawing.paragraph(_about(swept), lines.width, TEXT, SOFT)
    marked = any(sweep.is_alone for sweep in shown)
    body = drawing.stacked([lines.samples(seed), about, *(lines.sweep(sweep, marked) for sweep in shown)], _SPACE)
    if maps:
        body = drawing.beside([body, _side_by_side([draw_joint_map(each) for each in maps])], _BESIDE)
    head = drawing.stacked(
        [
            drawing.paragraph(title, body.width, TITLE),
            *(drawing.paragraph(note, body.width, TEXT, SOFT) for note in notes),
        ],
        4,
    )
    return drawing.with_margin(drawing.stacked([head, body], _SPACE), _MARGIN)


def _side_by_side(maps: Sequence[Image.Image]) -> Image.Image:
    """Returns the maps below each other; four or more in rows of two."""
    across = 2 if len(maps) > 3 else 1
    rows = [drawing.beside(maps[first : first + across], 2 * _SPACE) for first in range(0, len(maps), across)]
    return drawing.stacked(rows, 2 * _SPACE)


def _about(swept: Sweeps) -> str:
    """Returns what is to be known of the lines of the factors."""
    num_alone = sum(sweep.is_alone for sweep in swept.sweeps)
    if not swept.sweeps:
        said = "No factors are known that vary in these images."
    elif num_alone == 0:
        said = "Images for each value of a factor: all else varies."
    else:
        exception = ", unless a line says that they vary" if num_alone < len(swept.sweeps) else ""
        said = f"One factor at a time: the others stay as they are in image {swept.anchor:,}{exception}."
    if swept.constant:
        said += f" The same in all images: {', '.join(factor.name for factor in swept.constant)}."
    if len(swept.sweeps) > MAX_FACTORS:
        said += f" The first {MAX_FACTORS} of {len(swept.sweeps)} factors are shown."
    return said


@final
@dataclass(frozen=True)
class _Lines:
    """Draws lines of frames, each with a label to its left."""

    images: FactorImages
    label_width: int

    @property
    def frame_size(self) -> tuple[int, int]:
        return drawing.frame_size(*self.images.image_shape[1:])

    @property
    def cell_width(self) -> int:
        """Returns the width of a frame with the space around it, and room for a number below it."""
        return max(self.frame_size[1], _MIN_NUMBER) + _GAP

    @property
    def width(self) -> int:
        return self.label_width + _SPACE + MAX_COLUMNS * self.cell_width

    def samples(self, seed: int) -> Image.Image:
        rows = sampled_rows(self.images, NUM_SAMPLE_LINES * MAX_COLUMNS, seed).tolist()
        how = "drawn at random" if self.images.weights is None else "drawn from p(n)"
        return self._labelled("samples", [how], self._block(rows, MAX_COLUMNS))

    def sweep(self, sweep: Sweep, marked: bool) -> Image.Image:
        """Draws the images of a sweep. Where it is not alone, and that is to be `marked`, it says so."""
        texts = [_number(value) for value in sweep.values]
        blocks = [self._captioned(rows, text, sweep.width) for rows, text in zip(sweep.rows, texts, strict=True)]
        some = f"{len(sweep.values)} of " if len(sweep.values) < sweep.num_values else ""
        how = [
            f"{some}{sweep.num_values:,} values" if sweep.num_values else "continuous",
            *(["all else varies"] if marked and not sweep.is_alone else []),
        ]
        return self._labelled(
            sweep.factor.name, how, drawing.beside(blocks, 0 if sweep.width == 1 else _BETWEEN_VALUES)
        )

    def _labelled(self, name: str, below: Sequence[str], frames: Image.Image) -> Image.Image:
        label = [drawing.paragraph(drawing.fitting(name, self.label_width), self.label_width)]
        label += [
            drawing.paragraph(drawing.fitting(line, self.label_width, SMALL), self.label_width, SMALL, SOFT)
            for line in below
        ]
        column = drawing.blank(self.label_width, 1)
        return drawing.beside([drawing.stacked([*label, column], 2), frames], _SPACE)

    def _captioned(self, rows: Sequence[int], text: str, num_columns: int) -> Image.Image:
        """Draws frames with the value that they share below them."""
        block = self._block(rows, num_columns)
        caption = drawing.blank(block.width, SMALL + 8)
        drawing.write(caption, (block.width / 2, 2), text, SMALL, SOFT, "ma")
        return drawing.stacked([block, caption], 4)

    def _block(self, rows: Sequence[int], num_columns: int) -> Image.Image:
        height, width = self.frame_size
        block = drawing.blank(num_columns * self.cell_width, -(-len(rows) // num_columns) * (height + _GAP))
        found = self.images.bytes_of(torch.tensor(rows)).cpu()
        if found.is_floating_point():
            raise DataError("These are vectors of numbers, which have no picture. Only images are shown.")
        for place, image in enumerate(found):
            line, column = divmod(place, num_columns)
            left = column * self.cell_width + (self.cell_width - width) // 2
            drawing.paste_framed(block, (left, line * (height + _GAP) + _GAP // 2), drawing.frame(image))
        return block


def _number(value: float) -> str:
    return str(int(value)) if value.is_integer() and abs(value) < 1e6 else f"{value:.3g}"
