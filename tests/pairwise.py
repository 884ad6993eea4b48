"""Few rows in which every two values of different axes meet: what is tested where all combinations would take hours."""

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence

Row = dict[str, int]
"""By axis, the place of its value."""
Pair = tuple[tuple[str, int], tuple[str, int]]


def pairs_of(sizes: Mapping[str, int]) -> list[Pair]:
    """Every two values of different axes, the first axes first."""
    return [
        ((one, i), (other, j))
        for one, other in itertools.combinations(sizes, 2)
        for i in range(sizes[one])
        for j in range(sizes[other])
    ]


def pairwise_cover(sizes: Mapping[str, int], allowed: Callable[[Pair], bool] = lambda pair: True) -> list[Row]:
    """Rows in which every allowed pair meets and no forbidden one does. Greedy and without chance: the same rows every
    time.

    A row starts with the first pair that has not met; each further axis takes the value that lets most new pairs meet,
    and, among those, the one that was used least. A value that no row could hold beside the pair is an error: then
    pairs alone do not say what is allowed.
    """
    wanted = {pair: None for pair in pairs_of(sizes) if allowed(pair)}
    met: set[Pair] = set()
    used = {(axis, value): 0 for axis, size in sizes.items() for value in range(size)}
    rows: list[Row] = []
    for pair in wanted:
        if pair in met:
            continue
        row = _completed(dict(pair), sizes, wanted, met, used)
        met.update(_pairs_in(row, sizes))
        for item in row.items():
            used[item] += 1
        rows.append({axis: row[axis] for axis in sizes})
    return rows


def _completed(
    row: Row, sizes: Mapping[str, int], wanted: Mapping[Pair, None], met: set[Pair], used: Mapping[tuple[str, int], int]
) -> Row:
    for axis in sizes:
        if axis in row:
            continue
        beside = {value: _pairs_with(row, axis, value, list(sizes)) for value in range(sizes[axis])}
        possible = [value for value, pairs in beside.items() if all(pair in wanted for pair in pairs)]
        if not possible:
            raise ValueError(f"No value of {axis} may stand beside {row}.")
        row[axis] = max(
            possible, key=lambda value: (sum(pair not in met for pair in beside[value]), -used[axis, value], -value)
        )
    return row


def _pairs_with(row: Row, axis: str, value: int, order: Sequence[str]) -> list[Pair]:
    return [_in_order((other, row[other]), (axis, value), order) for other in row]


def _in_order(one: tuple[str, int], other: tuple[str, int], order: Sequence[str]) -> Pair:
    return (one, other) if order.index(one[0]) < order.index(other[0]) else (other, one)


def _pairs_in(row: Row, sizes: Mapping[str, int]) -> Iterator[Pair]:
    for one, other in itertools.combinations(sizes, 2):
        yield (one, row[one]), (other, row[other])
