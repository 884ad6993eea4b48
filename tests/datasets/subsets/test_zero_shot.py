"""The extremes of a feature."""

import pytest
import torch

from unbraid.datasets.subsets import Rows, all_but, outer_rows
from unbraid.errors import DataError, SpecError

FEATURE = torch.tensor([0.1, 0.9, 0.5, 0.7, 0.3, 0.8, 0.2, 0.6, 0.4, 0.0, 5.0, -5.0])
AMONG = torch.arange(12) < 10


@pytest.mark.parametrize(("side", "expected"), [("high", [1, 5]), ("low", [0, 9])])
def test_a_fifth_of_the_images_looked_at_is_taken_from_one_end(side, expected):
    assert outer_rows(FEATURE, AMONG, side=side).tolist() == expected


@pytest.mark.parametrize(("fraction", "count"), [(0.1, 1), (0.29, 2), (0.3, 3), (0.99, 9)])
def test_the_fraction_is_of_those_looked_at(fraction, count):
    assert len(outer_rows(FEATURE, AMONG, fraction)) == count


def test_of_equal_features_the_earlier_are_taken():
    assert outer_rows(torch.ones(10), torch.ones(10, dtype=torch.bool), 0.3).tolist() == [0, 1, 2]
    assert outer_rows(torch.ones(10), torch.ones(10, dtype=torch.bool), 0.3, "low").tolist() == [0, 1, 2]


def test_thick_sevens_and_narrow_zeros_are_pruned_and_make_the_test_part(tmp_path, monkeypatch):
    """Section 6.4 of Esmaeili et al., with two latents of a model that is made up."""
    monkeypatch.setenv("UNBRAID_CACHE", str(tmp_path))
    digit, generator = torch.arange(1000) % 10, torch.Generator().manual_seed(0)
    thickness, width = torch.randn(2, 1000, generator=generator)
    pruned = torch.cat([outer_rows(thickness, digit == 7), outer_rows(width, digit == 0, side="low")])
    kept = Rows.from_array(all_but(pruned, 1000))
    train, test = kept.rows((), digit[:, None]), Rows(kept.path, part="test").rows((), digit[:, None])
    assert len(test) == 40
    assert test.tolist() == sorted(pruned.tolist())
    for label, feature, sign in ((7, thickness, 1), (0, width, -1)):
        seen, unseen = (sign * feature[rows[digit[rows] == label]] for rows in (train, test))
        assert (len(seen), len(unseen)) == (80, 20)
        assert float(seen.max()) < float(unseen.min())


@pytest.mark.parametrize("fraction", [0.0, 1.0, float("nan")])
def test_a_fraction_that_is_none_is_refused(fraction):
    with pytest.raises(SpecError, match="expected a number between 0 and 1"):
        outer_rows(FEATURE, AMONG, fraction)


def test_nothing_to_take_is_refused():
    with pytest.raises(DataError, match="0.05 of the 10 images looked at is not one image"):
        outer_rows(FEATURE, AMONG, 0.05)


def test_a_feature_that_is_not_finite_is_refused_where_it_is_looked_at():
    with pytest.raises(DataError, match="NaN or infinite in 1 of the images looked at"):
        outer_rows(torch.where(torch.arange(12) == 3, torch.nan, FEATURE), AMONG)
    assert len(outer_rows(torch.where(torch.arange(12) == 11, torch.nan, FEATURE), AMONG)) == 2
