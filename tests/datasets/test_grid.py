import itertools

from unbraid.datasets.dataset import Factor
from unbraid.datasets.grid import grid_rows


def test_every_combination_comes_once_with_the_last_factor_fastest():
    rows = grid_rows((Factor("a", 2), Factor("b", 1), Factor("c", 3)))
    assert rows.tolist() == [list(row) for row in itertools.product(range(2), range(1), range(3))]
    assert rows.flags.c_contiguous
