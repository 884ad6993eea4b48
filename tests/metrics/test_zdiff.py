"""Z-diff: known answers, laws, and what it refuses."""

import dataclasses

import pytest
import torch

from unbraid.codes import Codes, Labels
from unbraid.errors import CodesError, SpecError
from unbraid.metrics.zdiff import ZDiff, pair_features, predicted_factors

SMALL = {"pairs_per_point": 16, "num_train": 300, "num_test": 200}


def grid(num_noise=1):
    """Four values times five, each read off one latent of its own; then latents of noise."""
    v, w = (part.flatten() for part in torch.meshgrid(torch.arange(4), torch.arange(5), indexing="ij"))
    noise = torch.randn(20, num_noise, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    mean = torch.cat([torch.stack([v - 1.5, (w - 2) * 0.8], dim=1).double(), noise], dim=1)
    return Codes(mean, torch.full_like(mean, 0.1), factors=(Labels("v", v), Labels("w", w)))


# Known answers


@pytest.mark.parametrize("classifier", ["logistic", "svm"])
def test_one_latent_for_each_factor_is_told_without_error(classifier):
    score = ZDiff(classifier, **SMALL)(grid())
    assert score.value == 1
    assert score.per_factor == {"v": 1, "w": 1}
    assert score.tables["confusion"].sum() == 200
    assert score.interval[0] < 1 == score.interval[1]


def test_codes_that_say_nothing_are_told_by_chance():
    codes = grid()
    score = ZDiff(**SMALL)(dataclasses.replace(codes, mean=torch.zeros_like(codes.mean)))
    assert score.value == pytest.approx(0.5, abs=0.15)


def test_features_are_mean_distances():
    mean = torch.tensor([[0.0, 1.0], [2.0, 1.0], [5.0, -1.0]])
    features = pair_features(mean, torch.tensor([[0, 1]]), torch.tensor([[1, 2]]))
    torch.testing.assert_close(features, torch.tensor([[2.5, 1.0]]).double())


def test_the_svm_minimizes_the_hinge_loss():
    """max(0, 1 - s (w x + b)) with C = 0.01, not its square: a far outlier counts by its distance alone.

    Ten points at -1 of class 0, ten at 1 of class 1, one at 30 of class 0. With so few points w stays small and every
    point is inside the margin: the hinge loss is linear, and w = C sum s x = 0.01 (20 - 30) < 0 turns the classifier
    around.
    """
    x = torch.tensor([-1.0] * 10 + [1.0] * 10 + [30.0]).double()[:, None]
    factor = torch.tensor([0] * 10 + [1] * 10 + [0])
    predicted = predicted_factors(x, factor, torch.tensor([[-100.0], [100.0]]).double(), "svm")
    assert predicted.tolist() == [1, 0]


def test_a_single_factor_is_told_without_looking():
    codes = grid()
    assert ZDiff(**SMALL)(dataclasses.replace(codes, factors=codes.factors[:1])).value == 1


def test_samples_are_blurred_means():
    """With a std far above the spread of the means, pairs of samples look alike whatever they share."""
    codes = dataclasses.replace(grid(), std=torch.full((20, 3), 50.0, dtype=torch.float64))
    assert ZDiff(latents="means", **SMALL)(codes).value == 1
    assert ZDiff(latents="samples", **SMALL)(codes).value < 0.7
    sharp = dataclasses.replace(codes, std=torch.zeros(20, 3, dtype=torch.float64))
    assert ZDiff(latents="samples", **SMALL)(sharp).value == 1


def test_samples_of_correlated_posteriors_follow_the_covariance():
    codes = grid()
    covariance = torch.eye(3).double().expand(20, 3, 3) * 0.01
    assert ZDiff(latents="samples", **SMALL)(dataclasses.replace(codes, std=None, covariance=covariance)).value > 0.95


# Laws


def noisy():
    codes = grid()
    noise = torch.randn(20, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    return dataclasses.replace(codes, mean=codes.mean + 3 * noise)


@pytest.mark.parametrize("order", [[2, 0, 1], [1, 0, 2]])
def test_score_ignores_the_order_and_sign_of_latents(order):
    codes = noisy()
    assert ZDiff(**SMALL)(dataclasses.replace(codes, mean=-codes.mean[:, order])).value == pytest.approx(
        ZDiff(**SMALL)(codes).value, abs=0.01
    )


def test_float32_scores_the_same():
    codes = noisy()
    single = dataclasses.replace(codes, mean=codes.mean.float(), std=codes.std.float())
    assert ZDiff(**SMALL)(single).value == pytest.approx(ZDiff(**SMALL)(codes).value, abs=0.01)


def test_images_without_weight_or_label_are_never_drawn():
    codes = grid()
    wild = torch.cat([codes.mean, 1e6 * torch.randn(5, 3, generator=torch.Generator().manual_seed(0)).double()])
    factors = tuple(dataclasses.replace(f, values=torch.cat([f.values, torch.arange(5) % 2])) for f in codes.factors)
    counts = torch.cat([torch.ones(20), torch.zeros(5)])
    assert ZDiff(**SMALL)(Codes(wild, factors=factors, weights=counts)).value == 1
    partly = tuple(dataclasses.replace(f, known=counts > 0) for f in factors)
    assert ZDiff(**SMALL)(Codes(wild, factors=partly)).value == 1


def test_too_few_training_points_are_noticed():
    settled = ZDiff(pairs_per_point=2, num_train=12, num_test=2000)(noisy())
    assert settled.settled is False
    assert "training points" in settled.notes[0]


# What it refuses and warns of


def test_samples_of_bare_means_are_refused():
    with pytest.raises(CodesError, match="means without std"):
        ZDiff(latents="samples")(dataclasses.replace(grid(), std=None))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"classifier": "tree"}, "logistic, svm"),
        ({"latents": "noise"}, "means, samples"),
        ({"num_train": 0}, "num_train is 0"),
    ],
)
def test_impossible_settings_are_refused(arguments, message):
    with pytest.raises(SpecError, match=message):
        ZDiff(**arguments)


def test_with_one_factor_there_is_nothing_to_tell_apart():
    mean = torch.randn(30, 2, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    score = ZDiff(num_train=50, num_test=20)(Codes(mean, factors=(Labels("a", torch.arange(30) % 3),)))
    assert score.value == 1
    assert any("1 by construction" in note for note in score.notes)
