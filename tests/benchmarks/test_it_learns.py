"""The evidence that models learn: its numbers are what they are called, every objective is in it, and it runs."""

import math

import pytest
import torch

from benchmarks import learning_settings
from benchmarks.it_learns import main
from benchmarks.learning_scores import (
    Learned,
    k_means_accuracy,
    label_accuracy,
    learned,
    of_model,
)
from tests.discovery import concrete_subclasses
from unbraid.datasets import DSprites
from unbraid.datasets.dataset import Factor, FactorImages
from unbraid.metrics.model import Distortion
from unbraid.models import MLP, Autoencoder
from unbraid.models.distributions import ConcreteLatents, GaussianLatents, GroupedLatents
from unbraid.models.trained.encode import encode
from unbraid.objectives import VAE, Objective

LATENTS = GroupedLatents((GaussianLatents(2), ConcreteLatents(3)))


def images(num_images: int = 40) -> FactorImages:
    pixels = (torch.arange(num_images * 16) * 37 % 256).to(torch.uint8).reshape(num_images, 1, 4, 4)
    return FactorImages.from_table(pixels, torch.arange(num_images)[:, None] % 3, (Factor("label", 3, ordered=False),))


def model():
    return Autoencoder(MLP((8,), (8,)), latents=LATENTS).build((1, 4, 4), seed=0).eval()


def test_labels_are_matched_one_to_one():
    categories, labels = torch.tensor([2, 2, 0, 0, 1, 1]), torch.tensor([0, 0, 1, 1, 1, 2])
    assert label_accuracy(categories, labels) == pytest.approx(5 / 6)
    # All in one category: it can be given one label only.
    assert label_accuracy(torch.zeros(6, dtype=torch.int64), labels) == pytest.approx(3 / 6)


def test_k_means_finds_clusters_that_are_there():
    labels = torch.arange(30) % 3
    pixels = (labels[:, None, None, None] * 100).expand(30, 1, 2, 2).to(torch.uint8)
    assert (
        k_means_accuracy(FactorImages.from_table(pixels, labels[:, None], (Factor("label", 3),)), 3, num_starts=2) == 1
    )


def test_the_elbo_of_the_codes_is_that_of_the_draws():
    net, data = model(), images()
    found = learned(net, encode(net, data), data, data, num_samples=200, has_factors=False)
    assert found.elbo == pytest.approx(found.held_out_elbo, abs=0.2)  # one draw of each code against 64
    assert found.rate == pytest.approx(found.mutual_information + found.total_correlation + found.dimension_wise_kl)
    assert found.distortion == of_model(Distortion(), net, data).value
    assert math.isnan(found.mig)


def test_the_objectives_are_trained_on_sprites_or_on_digits():
    base = learning_settings.sprites(2)
    trained = learning_settings.every_objective(base, 3)
    objectives = {type(spec.objective) for spec in trained.values()}
    assert len(objectives) >= 15
    assert objectives <= set(concrete_subclasses(Objective))


def test_an_elbo_is_minus_its_parts():
    assert Learned(3.0, 2.0, 1.0, 0.5, 0.5).elbo == -5


@pytest.mark.slow
def test_tables_and_claims_are_printed(capsys, monkeypatch):
    monkeypatch.setattr(
        learning_settings, "HEARTS", DSprites(resolution=32, shapes=("heart",), num_orientations=1, num_positions=3)
    )
    monkeypatch.setattr(learning_settings, "WITH_ENCODERS", {"VAE": VAE()})
    main(["--only", "encoders", "--scale", "0.001", "--seeds", "1", "--samples", "50"])
    printed = capsys.readouterr().out
    rows = [line for line in printed.splitlines() if line.startswith("| ")]
    assert len(rows) == 1 + 4
    assert all(line.count("|") == rows[0].count("|") for line in rows)
    assert printed.count("- pass: ") + printed.count("- FAIL: ") == 2
