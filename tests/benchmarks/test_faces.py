"""The benchmark measures what it says: the held-out images are not trained on, and what is right is counted."""

import pytest
import torch
from torch.nn import functional

from benchmarks.faces import accuracies, pixels, ridge, split, train
from unbraid.datasets import ShadedFaces

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("UNBRAID_CACHE", str(tmp_path))


@pytest.fixture
def images():
    return ShadedFaces(num_identities=2, num_azimuths=3, num_elevations=2, num_lightings=2, resolution=16).open()


def test_a_tenth_is_held_out_and_the_rest_is_trained_on():
    training, held_out = split(1000)
    assert len(held_out) == 100
    assert sorted(torch.cat([training, held_out]).tolist()) == list(range(1000))


def test_accuracy_is_the_part_that_is_named_right(images):
    def knows_all_but_the_azimuth(x):
        rows = [
            next(row for row in range(len(images)) if torch.equal(pixels(images, torch.tensor([row]))[0], image))
            for image in x
        ]
        scores = [
            functional.one_hot(images.values[rows, k], factor.size) for k, factor in enumerate(images.factor_table)
        ]
        scores[1] = torch.zeros_like(scores[1])
        return torch.cat(scores, dim=1)

    assert accuracies(knows_all_but_the_azimuth, images, torch.arange(len(images))) == pytest.approx([1, 1 / 3, 1, 1])


def test_ridge_regression_fits_what_it_is_given(images):
    rows = torch.arange(len(images))
    assert accuracies(ridge(images, rows, strength=1e-4), images, rows) == [1, 1, 1, 1]


def test_the_net_learns(images):
    rows = torch.arange(len(images)).repeat(11)
    found = accuracies(train(images, rows, num_epochs=80), images, torch.arange(len(images)))
    # By chance 0.46.
    assert sum(found) / 4 > 0.8
