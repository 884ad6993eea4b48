"""What each latent says of its best factor: known answers and the row of the table."""

import math

import pytest

from tests.metrics.test_mig import grid, random_codes
from unbraid.metrics import BestFactor
from unbraid.metrics.estimators import Exact, MeansHistogram


def test_a_latent_that_names_a_value_of_its_factor_says_its_entropy():
    score = BestFactor(Exact())(grid(num_noise=1, std=0.01))
    sizes = [len(labels.values.unique()) for labels in grid().factors]
    assert score.per_latent == pytest.approx((*map(math.log, sizes), 0.0), abs=1e-6)


def test_it_is_the_largest_of_each_row():
    score = BestFactor()(random_codes(2))
    assert score.per_latent == pytest.approx(score.tables["mutual_information"].amax(dim=1).tolist())
    assert score.value == pytest.approx(sum(score.per_latent) / len(score.per_latent))
    assert score.interval[0] < score.value < score.interval[1]


def test_binned_means_find_information_in_a_dead_latent():
    codes = grid(num_noise=1)
    codes.mean[:, 2] = 1e-4 * codes.factors[0].values
    assert BestFactor()(codes).per_latent[2] < 1e-6
    assert BestFactor(MeansHistogram(100))(codes).per_latent[2] > 1
