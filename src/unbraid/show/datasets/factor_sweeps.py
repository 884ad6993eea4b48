"""Sweeps of factors: images in the order of the values of one factor.

If possible, the images of a sweep differ only in this factor. Otherwise, a sweep has random images for each value.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

import numpy as np
import torch
from jaxtyping import Float, Int, Int64
from torch import Tensor

from unbraid._internal import row_draws
from unbraid.datasets.dataset import Factor, FactorImages

MAX_COLUMNS = 12
# If other factors vary too, several images per value are shown, unless there are many factors.
_NUM_LINES, _MAX_FACTORS_WITH_LINES = 3, 4
_NUM_ANCHORS = 16
_STREAM = "dataset sheet"

Columns = Int[Tensor, "image factor"] | Float[Tensor, "image factor"]


@final
@dataclass(frozen=True)
class FactorSweep:
    """Images in the order of the values of a factor.

    `rows` has the indices of the images for each of the shown `values`. `is_alone` is true if all other factors are
    equal. `num_values` is the number of values in the data, or 0 for a continuous factor. `width` is the number of
    images of a value that are shown side by side.
    """

    factor: Factor
    values: tuple[float, ...]
    rows: tuple[tuple[int, ...], ...]
    is_alone: bool
    num_values: int
    width: int = 1


@final
@dataclass(frozen=True)
class FactorSweeps:
    """The sweeps of all factors that vary.

    `anchor` is the index of the image that is part of every sweep with `is_alone`, or None without such a sweep.
    `constant` has the factors that do not vary.
    """

    sweeps: tuple[FactorSweep, ...]
    anchor: int | None
    constant: tuple[Factor, ...]


def sampled_rows(images: FactorImages, count: int, seed: int) -> Int64[Tensor, " row"]:
    """Returns random image indices: with the image weights as probabilities or, without weights, without repetition."""
    if images.weights is None:
        return row_draws.draw_rows(min(count, len(images)), len(images), seed, _STREAM)
    return row_draws.draw_rows(count, len(images), seed, _STREAM, images.weights.cpu())


def factor_sweeps(images: FactorImages, seed: int = 0) -> FactorSweeps:
    """Returns the sweep of every factor that varies. Images with a weight of 0 are not shown."""
    rows = torch.arange(len(images)) if images.weights is None else (images.weights.cpu() > 0).nonzero()[:, 0]
    factors, table = images.values.cpu()[rows], images.factor_table
    known = [labels.is_known.cpu()[rows] for labels in images.factors]
    counts = [len(torch.unique(factors[is_known, place])) for place, is_known in enumerate(known)]
    varying = [place for place, count in enumerate(counts) if count > 1]
    # Different images with equal factors have unlabeled differences, so no factor can be isolated.
    is_labeled = bool(varying) and all(map(torch.all, known)) and len(np.unique(factors, axis=0)) == len(factors)
    anchor, alone = _held_fixed(factors, varying, seed) if is_labeled else (None, {})
    num_lines = _NUM_LINES if len(varying) <= _MAX_FACTORS_WITH_LINES else 1
    sweeps = []
    for place in varying:
        chosen = alone.get(place, known[place].nonzero()[:, 0])
        values, of_values, width = (
            _in_order(factors[chosen, place], rows[chosen])
            if place in alone or table[place].size == 0
            else _by_value(factors[chosen, place], rows[chosen], num_lines, seed, f"{_STREAM}/{table[place].name}")
        )
        num_values = counts[place] if table[place].size else 0
        sweeps.append(FactorSweep(table[place], values, of_values, place in alone, num_values, width))
    constant = tuple(factor for place, factor in enumerate(table) if place not in varying)
    return FactorSweeps(tuple(sweeps), None if anchor is None else int(rows[anchor]), constant)


def evenly(count: int, most: int = MAX_COLUMNS) -> list[int]:
    """Returns at most `most` evenly spaced indices of `range(count)`, including both ends."""
    if count <= most:
        return list(range(count))
    return [round(place * (count - 1) / (most - 1)) for place in range(most)]


def _held_fixed(
    factors: Columns, varying: Sequence[int], seed: int
) -> tuple[int | None, dict[int, Int64[Tensor, " row"]]]:
    """Returns an anchor image and, for each factor, the images that differ from the anchor only in this factor.

    Several random anchors are compared. The returned anchor has the most such images.
    """
    best: tuple[int | None, dict[int, Int64[Tensor, " row"]]] = (None, {})
    most, complete = 0, sum(len(torch.unique(factors[:, place])) for place in varying)
    for anchor in row_draws.draw_rows(
        min(_NUM_ANCHORS, len(factors)), len(factors), seed, f"{_STREAM}/anchor"
    ).tolist():
        equal = factors == factors[anchor]
        num_equal = equal.sum(dim=1)
        differing = {
            place: (num_equal - equal[:, place].long() == factors.shape[1] - 1).nonzero()[:, 0] for place in varying
        }
        found = {place: rows for place, rows in differing.items() if len(rows) > 1}
        if (count := sum(map(len, found.values()))) > most:
            best, most = (anchor, found), count
        if most == complete:
            break
    return best


_Shown = tuple[tuple[float, ...], tuple[tuple[int, ...], ...], int]  # values, images of each, images side by side


def _in_order(column: Tensor, rows: Int64[Tensor, " image"]) -> _Shown:
    """Returns evenly spaced values in ascending order, with one image for each value."""
    shown = column.argsort(stable=True)[evenly(len(column))]
    return tuple(map(float, column[shown])), tuple((row,) for row in rows[shown].tolist()), 1


def _by_value(column: Tensor, rows: Int64[Tensor, " image"], num_lines: int, seed: int, stream: str) -> _Shown:
    """Returns evenly spaced values in ascending order, with several random images for each value."""
    occurring = torch.unique(column)
    values = occurring[evenly(len(occurring))]
    width, chosen = MAX_COLUMNS // len(values), []
    for value in values:
        having = rows[column == value]
        order = row_draws.permuted_rows(len(having), seed, f"{stream}/{int(value)}")
        chosen.append(tuple(having[order[: width * num_lines]].tolist()))
    return tuple(map(float, values)), tuple(chosen), max(1, min(width, max(map(len, chosen))))
