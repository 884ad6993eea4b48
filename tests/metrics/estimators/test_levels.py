"""Levels of quantized codes: against scikit-learn's plug-in information, on some of the images, and what is refused."""

import numpy as np
import pytest
import torch
from sklearn.metrics import mutual_info_score

from unbraid import Codes
from unbraid.errors import CodesError
from unbraid.metrics import MIG, Minimality
from unbraid.metrics.estimators import Levels, MeansHistogram, Neighbors
from unbraid.metrics.reductions.statistics import Statistics


def quantized_codes(num_images=300, seed=0, **more):
    """Two factors, and three latents of ten unevenly placed levels each."""
    rng = np.random.default_rng(seed)
    v = np.stack([rng.integers(0, 4, num_images), rng.integers(0, 3, num_images)], axis=1)
    z = v @ rng.normal(size=(2, 3)) + 0.5 * rng.normal(size=(num_images, 3))
    places = np.digitize(z, np.quantile(z, np.linspace(0, 1, 11)[1:-1]))
    return Codes.from_arrays(np.sort(rng.normal(size=10))[places], factors=v, **more)


def test_it_is_the_information_that_scikit_learn_counts():
    codes = quantized_codes()
    found = Levels().information(Statistics(codes))
    z = [np.unique(column, return_inverse=True)[1] for column in codes.mean.T.numpy()]
    expected = [[mutual_info_score(column, labels.values) for labels in codes.factors] for column in z]
    np.testing.assert_allclose(found.mutual_information, expected, atol=1e-12)
    np.testing.assert_allclose(found.entropy, [mutual_info_score(column, column) for column in z])


def test_neither_a_width_nor_where_the_levels_lie_counts():
    codes = quantized_codes()
    moved = Codes(codes.mean.exp(), torch.ones_like(codes.mean), factors=codes.factors)
    assert MIG(Levels())(moved).value == pytest.approx(MIG(Levels())(codes).value)
    assert MIG(Levels())(moved).interval == pytest.approx(MIG(Levels())(codes).interval)
    assert 0 < Minimality(Levels())(moved).value < 1


def test_an_interval_is_the_spread_over_other_samples_of_images():
    """40 samples of 500 images: their spread, known to 11 %, is the standard error that each claims, to 35 %."""
    codes = quantized_codes(20_000)
    scores = [MIG(Levels())(codes[500 * s : 500 * s + 500]) for s in range(40)]
    spread = float(torch.tensor([score.value for score in scores]).std())
    claimed = float(torch.tensor([score.value - score.interval[0] for score in scores]).mean()) / 1.96
    assert claimed == pytest.approx(spread, rel=0.35)


@pytest.mark.parametrize(
    ("some", "whole"),
    [
        (Levels(num_samples=200), Levels()),
        (MeansHistogram(num_samples=200), MeansHistogram()),
        (Neighbors(num_samples=200), Neighbors()),
    ],
)
def test_some_of_the_images_are_scored_as_if_there_were_no_others(some, whole):
    codes, few = quantized_codes(), quantized_codes(200)
    found, alone = MIG(some)(codes), MIG(whole)(Statistics(codes).drawn(200).codes)
    assert (found.value, found.interval, found.settled) == (alone.value, alone.interval, alone.settled)
    assert found.settings["num_samples"] == 200
    assert found.value != MIG(whole)(codes).value
    assert MIG(some)(few).value == MIG(whole)(few).value


def test_drawn_images_are_different_ones_and_always_the_same():
    statistics = Statistics(Codes.from_arrays(np.arange(50.0)[:, None], factors=np.arange(50) % 2))
    one, other = (statistics.drawn(20, seed).codes.mean[:, 0].tolist() for seed in (0, 1))
    assert len(set(one)) == 20
    assert one == Statistics(statistics.codes).drawn(20).codes.mean[:, 0].tolist() != other
    assert statistics.drawn(None) is statistics.drawn(50) is statistics


def test_means_that_are_no_levels_are_refused():
    codes = Codes.from_arrays(np.arange(1001.0)[:, None], factors=np.arange(1001) % 2)
    with pytest.raises(CodesError, match="0 has 1,001"):
        MIG(Levels())(codes)


def test_levels_that_name_their_image_are_refused():
    codes = Codes.from_arrays(torch.linspace(0, 1, 300)[:, None], factors=torch.arange(300) % 3)
    with pytest.raises(CodesError, match="300 images"):
        MIG(Levels())(codes)
