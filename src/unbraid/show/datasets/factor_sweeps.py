"""Images that show the effect of a factor.

They differ in this factor alone where there are such images; else there are some for each of its values.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

import torch
from jaxtyping import Float, Int, Int64
from torch import Tensor

from unbraid._internal import row_draws
from unbraid.datasets.dataset import Factor, FactorImages

MAX_COLUMNS = 12
# Of a factor that nothing can be held fixed for, one image a value says little. So there are several, unless there are
# many factors to show.
_NUM_LINES, _MAX_FACTORS_WITH_LINES = 3, 4
_NUM_ANCHORS = 16
_STREAM = "dataset sheet"

Column = Int[Tensor, " image"] | Float[Tensor, " image"]


@final
@dataclass(frozen=True)
class FactorSweep:
    """Images in the order of a factor's values.

    `rows` are the images of each of the `values` that are shown.

    `is_alone`: the images agree in all other factors. `num_values` is how many values occur, shown or not; 0 for a
    continuous factor. `width` is how many images of a value stand side by side.
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
    """A sweep of each factor that varies.

    `anchor` is the image that is part of every sweep that is alone; `constant` are the factors that do not vary.
    """

    sweeps: tuple[FactorSweep, ...]
    anchor: int | None
    constant: tuple[Factor, ...]


def sampled_rows(images: FactorImages, count: int, seed: int) -> Int64[Tensor, " row"]:
    """Returns rows of images as training draws them.

    They are drawn from p(n) where there are weights; else every image is drawn once, as far as they go.
    """
    if images.weights is None:
        return row_draws.images(min(count, len(images)), len(images), seed, _STREAM)
    return row_draws.images(count, len(images), seed, _STREAM, images.weights.cpu())


def factor_sweeps(images: FactorImages, seed: int = 0) -> FactorSweeps:
    """Returns a sweep of every factor that varies.

    Images that are never drawn, because their weight is 0, are not shown.
    """
    rows = torch.arange(len(images)) if images.weights is None else (images.weights.cpu() > 0).nonzero()[:, 0]
    factors, table = images.values.cpu()[rows], images.factor_table
    known = [labels.is_known.cpu()[rows] for labels in images.factors]
    varying = [place for place in range(len(table)) if _varies(factors[known[place], place])]
    can_be_fixed = bool(varying) and all(map(torch.all, known)) and _are_combinations_distinct(factors)
    anchor, alone = _held_fixed(factors, varying, seed) if can_be_fixed else (None, {})
    num_lines = _NUM_LINES if len(varying) <= _MAX_FACTORS_WITH_LINES else 1
    sweeps = [
        _sweep_in_order(
            table[place],
            factors[:, place],
            rows,
            alone[place][factors[alone[place], place].argsort()],
            is_alone=True,
        )
        if place in alone
        else _by_value(table[place], factors[known[place], place], rows[known[place]], num_lines, seed)
        for place in varying
    ]
    constant = tuple(factor for place, factor in enumerate(table) if place not in varying)
    return FactorSweeps(tuple(sweeps), None if anchor is None else int(rows[anchor]), constant)


def evenly(count: int, most: int = MAX_COLUMNS) -> list[int]:
    """Returns as many of `range(count)` as there is room for, evenly spaced, with both ends."""
    if count <= most:
        return list(range(count))
    return [round(place * (count - 1) / (most - 1)) for place in range(most)]


def _varies(column: Column) -> bool:
    return bool((column != column[:1]).any())


def _are_combinations_distinct(factors: Int[Tensor, "image factor"] | Float[Tensor, "image factor"]) -> bool:
    """Returns whether no two images have the same factors.

    Where some do, images differ in more than is labeled, and no factor can be seen alone.
    """
    keys, num_keys = torch.zeros(len(factors), dtype=torch.int64), 1
    for column in factors.unbind(1):
        ranks = column - column.min()
        if column.is_floating_point() or int(ranks.max()) > 16 * len(column):
            ranks = torch.unique(column, return_inverse=True)[1]
        size = int(ranks.max()) + 1
        if num_keys * size >= 2**62:
            keys = torch.unique(keys, return_inverse=True)[1]
            num_keys = int(keys.max()) + 1
        keys, num_keys = keys * size + ranks.long(), num_keys * size
    return len(torch.unique(keys)) == len(keys)


def _held_fixed(
    factors: Int[Tensor, "image factor"] | Float[Tensor, "image factor"], varying: Sequence[int], seed: int
) -> tuple[int | None, dict[int, Int64[Tensor, " row"]]]:
    """Returns an image, and for each factor the images that differ from it in no other, where there are any.

    A few images are tried, and the one that has most of them is taken.
    """
    best: tuple[int | None, dict[int, Int64[Tensor, " row"]]] = (None, {})
    most, complete = 0, sum(len(torch.unique(factors[:, place])) for place in varying)
    for anchor in row_draws.images(min(_NUM_ANCHORS, len(factors)), len(factors), seed, f"{_STREAM}/anchor").tolist():
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


def _sweep_in_order(
    factor: Factor, column: Column, rows: Int64[Tensor, " image"], order: Int64[Tensor, " row"], *, is_alone: bool
) -> FactorSweep:
    """Returns a sweep with one image for each shown value, from the least value to the greatest."""
    shown = order[evenly(len(order))]
    return FactorSweep(
        factor,
        tuple(map(float, column[shown])),
        tuple((row,) for row in rows[shown].tolist()),
        is_alone=is_alone,
        num_values=0 if factor.size == 0 else len(torch.unique(column)),
    )


def _by_value(factor: Factor, column: Column, rows: Int64[Tensor, " image"], num_lines: int, seed: int) -> FactorSweep:
    """Returns images for each of some values; of a continuous factor, images from the least value to the greatest."""
    if factor.size == 0:
        return _sweep_in_order(factor, column, rows, column.argsort(stable=True), is_alone=False)
    occurring = torch.unique(column)
    values = occurring[evenly(len(occurring))]
    width = MAX_COLUMNS // len(values)
    chosen = []
    for value in values:
        having = rows[column == value]
        order = row_draws.permuted_rows(len(having), seed, f"{_STREAM}/{factor.name}/{int(value)}")
        chosen.append(tuple(having[order[: width * num_lines]].tolist()))
    return FactorSweep(
        factor,
        tuple(map(float, values)),
        tuple(chosen),
        is_alone=False,
        num_values=len(occurring),
        width=max(1, min(width, max(map(len, chosen)))),
    )
