"""Splits by chance."""

import pytest
import torch

from unbraid.datasets.subsets import RandomSplit
from unbraid.errors import SpecError


def rows(split, num_images=1000):
    return split.rows((), torch.zeros(num_images, 0, dtype=torch.int64))


@pytest.mark.parametrize(("fraction", "expected"), [(0.9, 900), (0.3336, 334), (0.3333, 333)])
def test_a_fraction_of_the_images_is_chosen(fraction, expected):
    assert len(rows(RandomSplit(fraction))) == expected
    assert len(rows(RandomSplit(fraction, part="test"))) == 1000 - expected


def test_it_is_spread_over_the_images():
    """Of 1000 rows drawn without replacement from 10,000, the mean is 5000 but for 4 standard errors."""
    assert float(rows(RandomSplit(0.1), 10_000).double().mean()) == pytest.approx(5000, abs=4 * 2887 / 1000**0.5)


def test_another_seed_chooses_others_and_a_larger_fraction_holds_the_smaller():
    assert not torch.equal(rows(RandomSplit(0.5)), rows(RandomSplit(0.5, seed=1)))
    assert set(rows(RandomSplit(0.5)).tolist()) < set(rows(RandomSplit(0.6)).tolist())


def test_the_rows_stay_what_they_are():
    """Runs name a split by its config: it must not change from one version to the next."""
    assert rows(RandomSplit(0.5), 10).tolist() == [2, 3, 6, 8, 9]


@pytest.mark.parametrize("fraction", [0.0, 1.0, -0.1, float("nan")])
def test_a_fraction_that_is_none_is_refused(fraction):
    with pytest.raises(SpecError, match="expected a number between 0 and 1"):
        RandomSplit(fraction)


@pytest.mark.parametrize("fraction", [0.01, 0.99])
def test_a_fraction_that_leaves_a_part_empty_is_refused(fraction):
    with pytest.raises(SpecError, match=r"of 10 images leaves one part without any\."):
        RandomSplit(fraction).check((), 10)


@pytest.mark.parametrize("seed", [2**63, -(2**63) - 1])
def test_a_seed_too_long_is_refused(seed):
    with pytest.raises(SpecError, match="seed is beyond 64 bits"):
        RandomSplit(0.5, seed)
