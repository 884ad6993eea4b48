"""Arrangements of seeds for permutation tests: all arrangements or, if there are too many, a random sample."""

import functools
import itertools
import math

import numpy as np
from jaxtyping import Float64, Int64

from unbraid._internal import row_draws

MOST_LISTED = 20_000
NUM_DRAWN = 9_999
_SEED = 0  # the same random arrangements for every metric


def num_groupings(sizes: tuple[int, ...]) -> int:
    """Returns the number of ways to assign seeds to groups of these sizes."""
    return math.factorial(sum(sizes)) // math.prod(math.factorial(size) for size in sizes)


def num_used(num_arrangements: int) -> int:
    """Returns the number of arrangements used for a p-value. Its inverse is the smallest possible p-value."""
    return num_arrangements if num_arrangements <= MOST_LISTED else NUM_DRAWN + 1


@functools.lru_cache(maxsize=16)
def groupings(sizes: tuple[int, ...]) -> Int64[np.ndarray, "arrangement seed"]:
    """Returns the group of every seed in each arrangement. The first row is the observed one: 0, 0, ..., 1, 1, ..."""
    labels = np.repeat(np.arange(len(sizes)), sizes)
    if num_groupings(sizes) <= MOST_LISTED:
        return np.array(_groupings(sizes, 0))
    return np.concatenate([labels[None], labels[_orders(len(labels))]])


@functools.lru_cache(maxsize=16)
def pairings(num_seeds: int) -> Int64[np.ndarray, "arrangement seed"]:
    """Returns the partner of every seed in each arrangement. The first row is the observed one: 0, 1, 2, ..."""
    if math.factorial(num_seeds) <= MOST_LISTED:
        return np.array(list(itertools.permutations(range(num_seeds))))
    return np.concatenate([np.arange(num_seeds)[None], _orders(num_seeds)])


@functools.lru_cache(maxsize=16)
def signs(num_seeds: int) -> Float64[np.ndarray, "arrangement seed"]:
    """Returns the sign of every seed in each arrangement. The first row is the observed one: all +1."""
    if 2**num_seeds <= MOST_LISTED:
        return np.array(list(itertools.product((1.0, -1.0), repeat=num_seeds)))
    drawn = np.where(row_draws.rand((NUM_DRAWN, num_seeds), _SEED, "signs of seeds").numpy() < 0.5, 1.0, -1.0)
    return np.concatenate([np.ones((1, num_seeds)), drawn])


def tails(sums: np.ndarray) -> tuple[float, float]:
    """Returns two p-values: the shares of the arrangements whose sum is >= and <= the observed sum `sums[0]`.

    Sums are compared with a relative tolerance of 1e-9, to ignore rounding errors.
    """
    rounding = 1e-9 * max(1.0, float(np.abs(sums).max()))
    return float((sums >= sums[0] - rounding).mean()), float((sums <= sums[0] + rounding).mean())


def _orders(num_seeds: int) -> Int64[np.ndarray, "arrangement seed"]:
    return np.argsort(row_draws.rand((NUM_DRAWN, num_seeds), _SEED, "orders of seeds").numpy(), axis=1)


def _groupings(sizes: tuple[int, ...], first: int) -> list[list[int]]:
    """Returns all arrangements of the group labels first, first + 1, ... The first arrangement is sorted."""
    if len(sizes) == 1:
        return [[first] * sizes[0]]
    rest = _groupings(sizes[1:], first + 1)
    found = []
    for chosen in itertools.combinations(range(sum(sizes)), sizes[0]):
        places = set(chosen)
        for others in rest:
            following = iter(others)
            found.append([first if place in places else next(following) for place in range(sum(sizes))])
    return found
