"""Heat map of the joint probabilities of two factors, with the marginal probabilities along its edges."""

import hashlib
import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import final

import numpy as np
import torch
from jaxtyping import Float64
from markupsafe import Markup
from PIL import Image
from torch import Tensor

from unbraid.datasets.dataset import Factor, FactorImages, discrete_factor, value_indices
from unbraid.datasets.weights import Joint
from unbraid.errors import SpecError
from unbraid.information.latent_information import entropy
from unbraid.show.pages.pictures import data_address
from unbraid.show.pages.svg import STRONG, Frame, element, text

# The maximum number of pairs that are shown of more than two factors.
_MAX_PAIRS = 3
# The maximum size of all cells and of one cell, in pixels. Neighboring values share a cell if there are more values.
_SIDE, _MAX_CELL = 360, 48.0
_NUMBERED = (40, 22)  # the minimum size of cells with a number
_BARS, _GAP = 42.0, 7.0  # the longest bar beside the cells, and the space between bar and cells
_MARGIN = 52.0  # space for the numbers and the name of an axis
_PIXELS_PER_TICK = 28


@final
@dataclass(frozen=True)
class JointMap:
    """Joint probabilities of the values of two factors, or probabilities of the values of one factor.

    For a single factor, `table` has one column.
    """

    title: str
    factors: tuple[Factor, ...]
    table: Float64[Tensor, "first second"]

    @property
    def correlation(self) -> float:
        """The correlation of the value indices. NaN for a single factor, and for unordered or constant factors."""
        if len(self.factors) < 2 or not all(factor.ordered for factor in self.factors):
            return math.nan
        first, second = (torch.arange(size, dtype=torch.float64) for size in self.table.shape)
        first, second = first - self.table.sum(dim=1) @ first, second - self.table.sum(dim=0) @ second
        variances = (self.table.sum(dim=1) @ first.square()) * (self.table.sum(dim=0) @ second.square())
        return float(first @ self.table @ second / variances.sqrt()) if float(variances) > 0 else math.nan

    @property
    def mutual_information(self) -> float:
        """The mutual information of the two factors, in nats."""
        separate = entropy(self.table.sum(dim=0)) + entropy(self.table.sum(dim=1))
        return float((separate - entropy(self.table.flatten())).clamp(min=0))

    @property
    def summary(self) -> str:
        """The correlation, the mutual information and the range of the probabilities as text."""
        least, most = float(self.table.min()), float(self.table.max())
        parts = [] if math.isnan(self.correlation) else [f"correlation {self.correlation:z.2f}"]
        if len(self.factors) == 2:
            parts.append(f"mutual information {self.mutual_information:.3f} nats")
        if least == 0:
            parts.append(f"{int((self.table == 0).sum()):,} of {self.table.numel():,} never occur")
        elif most / least < 1 + 1e-9:
            parts.append("all equally likely")
        else:
            ratio = f"{most / least:,.0f}" if most >= 100 * least else f"{most / least:.3g}"
            parts.append(f"the most likely {ratio} times the least")
        return ", ".join(parts)

    @cached_property
    def cells(self) -> Float64[Tensor, "column row"]:
        """The probabilities of the drawn cells: the table, with neighboring values summed if there are too many."""
        table = self.table
        for axis, step in enumerate(self.values_per_cell):
            table = torch.stack([part.sum(dim=axis) for part in table.split(step, dim=axis)], dim=axis)
        return table

    @property
    def values_per_cell(self) -> list[int]:
        """The number of neighboring values of each factor that are summed in one cell."""
        return [-(-size // _SIDE) for size in self.table.shape]

    @property
    def uniform(self) -> float:
        """The probability of a cell under a uniform distribution."""
        return 1 / self.cells.numel()

    @property
    def darkest(self) -> float:
        """The probability with the strongest color."""
        return max(float(self.cells.max()), 2 * self.uniform)

    @property
    def svg(self) -> Markup:
        """The map as SVG, with the first factor on the x-axis. Stronger colors have higher probabilities."""
        table, steps = self.cells, self.values_per_cell
        columns, rows = table.shape
        cell = min(_MAX_CELL, _SIDE / columns), min(_MAX_CELL, _SIDE / rows)
        left = _MARGIN if len(self.factors) == 2 else 0.0
        width, height = left + columns * cell[0] + _GAP + _BARS, _BARS + _GAP + rows * cell[1] + _MARGIN
        frame = Frame(width, height, left, _GAP + _BARS, _BARS + _GAP, _MARGIN)
        box = {"x": frame.left, "y": frame.top, "width": columns * cell[0], "height": rows * cell[1]}
        names = [factor.name for factor in self.factors]
        across = [(frame.x((place + 0.5) / columns), str(place * steps[0])) for place in _ticks(columns, cell[0])]
        drawn = [
            _colored(table / self.darkest, box),
            element("rect", class_="frame", **box),
            *(
                element("rect", class_="bar", x=x, y=_BARS * (1 - share), width=0.9 * cell[0], height=_BARS * share)
                for x, share in _bars(table.sum(dim=1), frame.left, cell[0])
            ),
            frame.x_axis(across, grid=False),
            text(names[0], frame.x(0.5), height - 10, class_="axis-name", text_anchor="middle"),
        ]
        if cell[0] >= _NUMBERED[0] and cell[1] >= _NUMBERED[1]:
            drawn += [
                text(
                    f"{value:.2g}",
                    frame.x((column + 0.5) / columns),
                    frame.y((row + 0.5) / rows) + 4,
                    class_="on-strong" if value > STRONG * self.darkest else "on-faint",
                    text_anchor="middle",
                )
                for (column, row), value in np.ndenumerate(table.numpy())
            ]
        if len(names) == 2:
            x, y = 12, frame.y(0.5)
            drawn += [
                *(
                    element("rect", class_="bar", x=width - _BARS, y=y, width=_BARS * share, height=0.9 * cell[1])
                    for y, share in _bars(table.sum(dim=0).flip(0), frame.top, cell[1])
                ),
                *(
                    text(str(row * steps[1]), left - 7, frame.y((row + 0.5) / rows) + 4, text_anchor="end")
                    for row in _ticks(rows, cell[1])
                ),
                text(names[1], x, y, class_="axis-name", text_anchor="middle", transform=f"rotate(-90 {x} {y:g})"),
            ]
        label = f"Probabilities of {' and '.join(names)}: {self.summary}"
        return element(
            "svg", *drawn, viewBox=f"0 0 {width:g} {height:g}", width=width, height=height, role="img", aria_label=label
        )


def maps_of_joint(joint: Joint, factors: Sequence[Factor], title: str) -> list[JointMap]:
    """Returns the map of a joint distribution, or the maps of pairs (marginal distributions) for 3 factors or more."""
    table = joint.table(joint.sizes_among(factors))
    named = tuple(next(factor for factor in factors if factor.name == name) for name in joint.factors)
    if len(named) == 1:
        return [JointMap(title, named, table[:, None])]
    pairs = list(itertools.combinations(range(len(named)), 2))[:_MAX_PAIRS]
    others = [[axis for axis in range(len(named)) if axis not in pair] for pair in pairs]
    return [
        # `sum` with an empty tuple of axes would sum over all axes.
        JointMap(title, (named[a], named[b]), table.sum(dim=axes) if axes else table)
        for (a, b), axes in zip(pairs, others, strict=True)
    ]


def check_pair(names: Sequence[str], factors: Sequence[Factor]) -> tuple[Factor, ...]:
    """Returns the two factors with these names. Raises SpecError unless the names are two discrete factors."""
    if len(names) != 2 or names[0] == names[1]:
        raise SpecError(f"Expected two different factors, got {', '.join(names)}. Name two, separated by a comma.")
    return tuple(discrete_factor(name, factors, "A joint map") for name in names)


def map_of_images(images: FactorImages, names: Sequence[str], title: str) -> JointMap:
    """Returns the map of the two named factors over the images, weighted by the image weights."""
    first, second = check_pair(names, images.factor_table)
    columns = [value_indices(images.values, name, images.factor_table, "A joint map").cpu() for name in names]
    weights = torch.ones(len(images), dtype=torch.float64) if images.weights is None else images.weights.cpu().double()
    counts = torch.zeros(first.size * second.size, dtype=torch.float64)
    counts.index_add_(0, columns[0] * second.size + columns[1], weights)
    return JointMap(title, (first, second), (counts / counts.sum()).reshape(first.size, second.size))


def _colored(shares: Float64[Tensor, "first second"], box: Mapping[str, float]) -> Markup:
    """Draws the cells as opacities of one color, which the style sheet sets for the light and the dark theme."""
    alpha = (shares.T.flip(0).clamp(0, 1) * 255).round().numpy().astype(np.uint8)
    address = data_address(Image.fromarray(np.stack([np.zeros_like(alpha), alpha], axis=-1), mode="LA"))
    name = f"cells-{hashlib.sha256(address.encode()).hexdigest()[:8]}"  # the same map has the same name
    image = element("image", **box, preserveAspectRatio="none", style="image-rendering:pixelated", href=address)
    mask = element("mask", image, id=name, style="mask-type:alpha")
    return mask + element("rect", class_="cells", mask=f"url(#{name})", **box)


def _bars(marginal: Float64[Tensor, " value"], start: float, cell: float) -> list[tuple[float, float]]:
    """Returns the position of each bar along the axis, and its length relative to the longest bar."""
    return [(start + (place + 0.05) * cell, share) for place, share in enumerate((marginal / marginal.max()).tolist())]


def _ticks(count: int, cell: float) -> range:
    """Returns the values with a tick label: every value, or every 2nd, 5th, 10th, ... if there is too little space."""
    steps = (multiple * 10**power for power in itertools.count() for multiple in (1, 2, 5))
    return range(0, count, next(step for step in steps if step * cell >= _PIXELS_PER_TICK))
