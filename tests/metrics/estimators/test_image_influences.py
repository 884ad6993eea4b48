"""What each image adds to an estimate: the same on a subset, in blocks, and through fine bins."""

from dataclasses import replace

import pytest
import torch

from tests.metrics.test_mig import random_codes
from unbraid.information.quantized import influences
from unbraid.metrics.estimators import Exact, MeansHistogram, Quantized, image_influences
from unbraid.metrics.reductions import statistics as of_statistics
from unbraid.metrics.reductions.statistics import Statistics


def of(estimator, statistics):
    return estimator.deviations(statistics)[0][0]


def mixed_codes():
    return replace(random_codes(0), probabilities=(torch.softmax(random_codes(1).mean[:, :2], dim=1),))


@pytest.mark.parametrize("estimator", [Quantized(20), MeansHistogram(20)])
def test_influences_of_a_subset_are_those_of_all(monkeypatch, estimator):
    """Of 30 images 20 are looked at: what they add is what they would add among all."""
    whole = of(estimator, Statistics(mixed_codes()))
    monkeypatch.setattr(of_statistics, "MAX_INFLUENCE_ROWS", 20)
    some = Statistics(mixed_codes())
    part = of(estimator, some)
    assert part["mutual_information"].shape == (20, 4, 2)
    for name in part:
        torch.testing.assert_close(part[name], whole[name][some.influence_sample.rows])


@pytest.mark.parametrize("estimator", [Quantized(20), MeansHistogram(20), Exact()])
def test_influences_are_the_same_in_blocks_of_images(monkeypatch, estimator):
    whole = of(estimator, Statistics(mixed_codes()))
    monkeypatch.setattr(image_influences, "_BLOCK_INFLUENCES", 500)
    blocks = []
    monkeypatch.setattr(
        image_influences, "influences", lambda masses, *rest: blocks.append(len(masses)) or influences(masses, *rest)
    )
    torch.testing.assert_close(of(estimator, Statistics(mixed_codes())), whole)
    assert len(blocks) > 2


def test_influences_on_densities_are_those_through_fine_bins():
    codes = random_codes(0)
    statistics = Statistics(replace(codes, std=codes.std.clamp(0.5, 0.8)))
    # 50 bins over the range of each latent against 400 over a fixed one.
    torch.testing.assert_close(
        of(Exact(), statistics)["mutual_information"],
        of(Quantized(400), statistics)["mutual_information"],
        atol=0.02,
        rtol=0,
    )
