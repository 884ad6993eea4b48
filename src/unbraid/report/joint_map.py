"""How likely each combination of two factors is, as a picture."""

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

import numpy as np
import torch
from jaxtyping import Float64
from PIL import Image, ImageDraw
from torch import Tensor

from unbraid.data.dataset import Factor, FactorImages
from unbraid.errors import SpecError
from unbraid.report import drawing
from unbraid.report.drawing import INK, LINE, SMALL, SOFT, SURFACE, TEXT
from unbraid.sampling import Joint
from unbraid.sampling.factor_columns import discrete_place_of, value_indices

# Of more than two factors, pairs are shown, but no more than this.
_MAX_PAIRS = 3
# A side of the map, and a cell. More values than there are pixels to tell them apart are taken together.
_SIDE, _MIN_CELL, _MAX_CELL = 720, 2, 96
# Cells that are as large as this have their number written in them.
_NUMBERED_WIDTH, _NUMBERED_HEIGHT = 80, 44
# The bars beside the map, the room for the numbers of the axes, and the colour bar.
_BARS, _GAP, _TICKS, _RAMP = 84, 14, 76, 26
_SEPARATION = 28
_PIXELS_A_TICK = 56
_BAR_COLOUR = "#a9bbce"
# From here on the background is so strong that black and white text change places, as in the report.
_STRONG = 2 / 3


@final
@dataclass(frozen=True)
class JointMap:
    """Holds the probability of each combination of the values of two factors, or of each value of one: `table` has one
    column then.
    """

    title: str
    factors: tuple[Factor, ...]
    table: Float64[Tensor, "first second"]

    @property
    def correlation(self) -> float:
        """Returns the correlation of the value indices; NaN where a factor does not vary, has no order, or is alone."""
        if len(self.factors) < 2 or not all(factor.ordered for factor in self.factors):
            return math.nan
        first, second = (torch.arange(size, dtype=torch.float64) for size in self.table.shape)
        first, second = first - self.table.sum(dim=1) @ first, second - self.table.sum(dim=0) @ second
        variances = (self.table.sum(dim=1) @ first.square()) * (self.table.sum(dim=0) @ second.square())
        return float(first @ self.table @ second / variances.sqrt()) if float(variances) > 0 else math.nan

    @property
    def mutual_information(self) -> float:
        """Returns the mutual information, in nats."""
        independent = self.table.sum(dim=1, keepdim=True) * self.table.sum(dim=0)
        return float((torch.xlogy(self.table, self.table) - torch.xlogy(self.table, independent)).sum().clamp(min=0))

    @property
    def words(self) -> str:
        """Returns what the numbers of the table come to."""
        least, most = float(self.table.min()), float(self.table.max())
        words = [] if math.isnan(self.correlation) else [f"correlation {self.correlation:z.2f}"]
        if len(self.factors) == 2:
            words.append(f"mutual information {self.mutual_information:.3f} nats")
        if least > 0:
            ratio = f"{most / least:,.0f}" if most >= 100 * least else f"{most / least:.3g}"
            words.append(
                "all equally likely" if most / least < 1 + 1e-9 else f"the most likely {ratio} times the least"
            )
        else:
            words.append(f"{int((self.table == 0).sum()):,} of {self.table.numel():,} never occur")
        return ", ".join(words)


def maps_of_joint(joint: Joint, factors: Sequence[Factor], title: str) -> list[JointMap]:
    """Returns the table of the joint. One of three factors or more is shown as pairs, each summed over the others."""
    table = joint.table(joint.sizes_among(factors))
    named = tuple(next(factor for factor in factors if factor.name == name) for name in joint.factors)
    if len(named) == 1:
        return [JointMap(title, named, table[:, None])]
    pairs = list(itertools.combinations(range(len(named)), 2))[:_MAX_PAIRS]
    return [
        JointMap(
            title,
            (named[a], named[b]),
            table.sum(dim=[axis for axis in range(len(named)) if axis not in (a, b)]) if len(named) > 2 else table,
        )
        for a, b in pairs
    ]


def places_of_pair(names: Sequence[str], factors: Sequence[Factor]) -> tuple[int, int]:
    """Returns the columns of two factors, or raises if no map can be drawn of them."""
    if len(names) != 2 or names[0] == names[1]:
        raise SpecError(
            f"A joint map is of two factors, and {', '.join(names)} was given. Name two, separated by a comma."
        )
    first, second = (discrete_place_of(name, factors, "A joint map") for name in names)
    return first, second


def map_of_images(images: FactorImages, names: Sequence[str], title: str) -> JointMap:
    """Returns how likely each combination of two factors is among images, each counted with its weight."""
    table = images.factor_table
    first, second = places_of_pair(names, table)
    sizes = (table[first].size, table[second].size)
    cells = value_indices(images.values, first, table[first]) * sizes[1]
    cells = cells + value_indices(images.values, second, table[second])
    weights = torch.ones(len(images), dtype=torch.float64) if images.weights is None else images.weights.cpu().double()
    counts = torch.zeros(math.prod(sizes), dtype=torch.float64).index_add_(0, cells.cpu(), weights)
    return JointMap(title, (table[first], table[second]), (counts / counts.sum()).reshape(sizes))


def draw_joint_map(shown: JointMap) -> Image.Image:
    """Draws the table as a heat map, the first factor to the right and the second up, with the probability of each
    value as bars along the edges.

    Colours run from white, never, past the share of each combination if all were alike to dark blue, the greatest or
    twice that share.
    """
    pooled = _Pooled.of(shown.table)
    grid = _heat_map(pooled, [factor.name for factor in shown.factors])
    width = max(grid.width, _SIDE)
    title = drawing.paragraph(shown.title, width)
    return drawing.stacked(
        [title, grid, _colour_bar(pooled), drawing.paragraph(shown.words, width, SMALL, SOFT)], _SEPARATION
    )


@final
@dataclass(frozen=True)
class _Pooled:
    """A table that has room: neighbouring values are taken together, so many on each axis as `steps` says."""

    table: Float64[Tensor, "first second"]
    steps: tuple[int, int]

    @classmethod
    def of(cls, table: Float64[Tensor, "first second"]) -> "_Pooled":
        steps = [-(-size // (_SIDE // _MIN_CELL)) for size in table.shape]
        for axis, step in enumerate(steps):
            parts = table.split(step, dim=axis)
            table = torch.stack([part.sum(dim=axis) for part in parts], dim=axis)
        return cls(table, (steps[0], steps[1]))

    @property
    def uniform(self) -> float:
        return 1 / self.table.numel()

    @property
    def darkest(self) -> float:
        """Returns the probability that is shown darkest."""
        return max(float(self.table.max()), 2 * self.uniform)


def _heat_map(pooled: _Pooled, names: Sequence[str]) -> Image.Image:
    """Draws the cells, the bars and the axes. A single factor has no axis upwards."""
    columns, rows = pooled.table.shape
    cell = (min(_MAX_CELL, _SIDE // columns), min(_MAX_CELL, _SIDE // rows))
    width, height = columns * cell[0], rows * cell[1]
    left, top = _TICKS + TEXT if len(names) == 2 else 0, _BARS + _GAP
    picture = drawing.blank(left + width + _GAP + _BARS, top + height + _TICKS + TEXT)
    ImageDraw.Draw(picture).rectangle((left - 2, top - 2, left + width + 1, top + height + 1), outline=LINE, width=2)
    picture.paste(_cells(pooled, cell), (left, top))
    picture.paste(_bars(pooled.table.sum(dim=1), cell[0]), (left, 0))
    picture.paste(_axis(names[0], columns, cell[0], pooled.steps[0], picture.width - left), (left, top + height))
    if len(names) == 2:
        bars = _bars(pooled.table.sum(dim=0), cell[1])
        picture.paste(
            bars.rotate(-90, expand=True).transpose(Image.Transpose.FLIP_TOP_BOTTOM), (left + width + _GAP, top)
        )
        for row in _ticks(rows, cell[1]):
            middle = top + (rows - row - 0.5) * cell[1]
            drawing.write(picture, (left - 14, middle), str(row * pooled.steps[1]), SMALL, SOFT, "rm")
        drawing.write_upwards(picture, (TEXT // 2 + 4, top + height // 2), drawing.fitting(names[1], picture.height))
    return picture


def _axis(name: str, count: int, cell: int, step: int, width: int) -> Image.Image:
    """Draws the numbers of an axis that runs to the right, and its name: in the middle, or from its beginning if the
    name is longer.
    """
    picture = drawing.blank(width, _TICKS + TEXT)
    for value in _ticks(count, cell):
        drawing.write(picture, ((value + 0.5) * cell, 14), str(value * step), SMALL, SOFT, "ma")
    name = drawing.fitting(name, width)
    is_short = drawing.text_width(name) <= count * cell
    drawing.write(picture, (count * cell / 2 if is_short else 0, 52), name, TEXT, INK, "ma" if is_short else "la")
    return picture


def _cells(pooled: _Pooled, cell: tuple[int, int]) -> Image.Image:
    shares = (pooled.table / pooled.darkest).T.flip(0)
    rows, columns = shares.shape
    pixels = np.array([[drawing.heat(share) for share in row] for row in shares.tolist()], dtype=np.uint8)
    picture = Image.fromarray(pixels).resize((columns * cell[0], rows * cell[1]), Image.Resampling.NEAREST)
    if cell[0] < _NUMBERED_WIDTH or cell[1] < _NUMBERED_HEIGHT:
        return picture
    for row, column in itertools.product(range(rows), range(columns)):
        share, place = float(shares[row, column]), ((column + 0.5) * cell[0], (row + 0.5) * cell[1])
        drawing.write(picture, place, f"{share * pooled.darkest:.2g}", SMALL, SURFACE if share > _STRONG else INK, "mm")
    return picture


def _bars(marginal: Float64[Tensor, " value"], cell: int) -> Image.Image:
    """Draws a bar for each value, side by side, the longest as long as there is room."""
    picture = drawing.blank(len(marginal) * cell, _BARS)
    space = 2 if cell > 6 else 0
    for place, share in enumerate((marginal / marginal.max()).tolist()):
        if (length := round(share * _BARS)) > 0:
            ImageDraw.Draw(picture).rectangle(
                (place * cell, _BARS - length, (place + 1) * cell - 1 - space, _BARS - 1), fill=_BAR_COLOUR
            )
    return picture


def _colour_bar(pooled: _Pooled) -> Image.Image:
    """Draws which colour is which probability: 0, what all would have if they were alike, and the darkest."""
    picture = drawing.blank(_SIDE, _RAMP + 2 * SMALL)
    width = _SIDE // 2
    for x in range(width):
        ImageDraw.Draw(picture).line((x, 0, x, _RAMP - 1), fill=drawing.heat(x / (width - 1)))
    ImageDraw.Draw(picture).rectangle((0, 0, width - 1, _RAMP - 1), outline=LINE, width=2)
    alike = pooled.uniform / pooled.darkest * (width - 1)
    ImageDraw.Draw(picture).line((alike, 0, alike, _RAMP - 1), fill=INK, width=2)
    drawing.write(picture, (0, _RAMP + 8), "0", SMALL, SOFT)
    drawing.write(picture, (width, _RAMP + 8), f"{pooled.darkest:.2g}", SMALL, SOFT, "ra")
    drawing.write(picture, (width + 20, _RAMP / 2), f"the line: all alike, {pooled.uniform:.2g}", SMALL, SOFT, "lm")
    return picture


def _ticks(count: int, cell: int) -> range:
    """Returns the values whose numbers have room along an axis: every one, or every second, fifth, tenth and so on."""
    steps = (multiple * 10**power for power in itertools.count() for multiple in (1, 2, 5))
    return range(0, count, next(step for step in steps if step * cell >= _PIXELS_A_TICK))
