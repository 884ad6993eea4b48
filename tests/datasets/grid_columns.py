"""Factor tables for the tests of sampling."""

import itertools

import torch

from unbraid.datasets.dataset import Factor

GRID_FACTORS = (Factor("shape", 3, ordered=False), Factor("scale", 4), Factor("place", 5))


def grid(*sizes):
    """Every combination of values, the last factor fastest."""
    return torch.tensor(list(itertools.product(*(range(size) for size in sizes))))


GRID = grid(3, 4, 5)
