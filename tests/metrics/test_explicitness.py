"""Explicitness: known answers, laws, and what it refuses."""

import dataclasses
import math

import pytest
import torch
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.multiclass import OneVsRestClassifier

from unbraid.codes import Codes, Labels
from unbraid.errors import CodesError, SpecError
from unbraid.metrics.explicitness import Explicitness, areas_of_values, value_scores

CLASSIFIERS = ("one_vs_rest", "one_vs_rest_raw", "multinomial")


def codes_of(noise=0.05, num_images=150, seed=0):
    """Four values and two, each read off one latent; then a latent of noise."""
    generator = torch.Generator().manual_seed(seed)
    labels = [torch.arange(num_images) % 4, torch.arange(num_images) // 4 % 2]
    mean = noise * torch.randn(num_images, 3, dtype=torch.float64, generator=generator)
    mean[:, 0] += labels[0]
    mean[:, 1] += labels[1]
    return Codes(mean, factors=(Labels("a", labels[0]), Labels("b", labels[1])))


# Known answers


def test_values_in_a_row_are_read_without_error():
    score = Explicitness()(codes_of())
    assert score.value == pytest.approx(1)
    assert score.per_factor == pytest.approx({"a": 1, "b": 1})


def test_codes_that_say_nothing_score_a_half():
    codes = codes_of(num_images=600)
    noise = torch.randn(600, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    score = Explicitness()(dataclasses.replace(codes, mean=noise))
    assert score.value == pytest.approx(0.5, abs=0.08)
    assert score.interval[0] < 0.5 < score.interval[1] + 0.03


def test_areas_are_those_of_scikit_learn():
    codes = codes_of(noise=1.0)
    y = codes.factors[0].values
    reference = OneVsRestClassifier(LogisticRegression(C=1e10, solver="newton-cholesky", tol=1e-8)).fit(
        codes.mean.numpy(), y.numpy()
    )
    expected = [roc_auc_score((y == v).numpy(), p) for v, p in enumerate(reference.predict_proba(codes.mean.numpy()).T)]
    found = areas_of_values(*value_scores(codes.mean, y, codes.mean), y)[0]
    assert found.tolist() == pytest.approx(expected, abs=1e-6)


def test_a_value_in_the_middle_is_told_by_normalized_probabilities_alone():
    """Each regression is a step along the latent; only the contest of all of them singles out the middle."""
    labels = torch.arange(3).repeat(20)
    x = labels[:, None].double()
    areas = {c: areas_of_values(*value_scores(x, labels, x, c), labels)[0] for c in CLASSIFIERS}
    assert areas["one_vs_rest"].tolist() == [1, 1, 1]
    assert areas["multinomial"].tolist() == [1, 1, 1]
    assert float(areas["one_vs_rest_raw"][1]) == pytest.approx(0.5)


@pytest.mark.parametrize("classifier", CLASSIFIERS)
def test_separable_codes_are_fitted_without_complaint(classifier):
    score = Explicitness(classifier)(codes_of(noise=0.0))
    assert score.value > 0.7
    assert math.isfinite(score.interval[0])


# Laws


@pytest.mark.parametrize("classifier", CLASSIFIERS)
def test_score_ignores_order_scale_and_sign_of_latents(classifier):
    codes = codes_of(noise=1.0)
    moved = dataclasses.replace(codes, mean=(codes.mean * torch.tensor([2.0, -30.0, 0.1]) + 5)[:, [2, 0, 1]])
    assert Explicitness(classifier)(moved).value == pytest.approx(Explicitness(classifier)(codes).value, abs=1e-3)


def test_a_dead_latent_changes_nothing():
    codes = codes_of(noise=1.0)
    more = dataclasses.replace(codes, mean=torch.cat([codes.mean, torch.full((150, 1), 0.3)], dim=1))
    assert Explicitness()(more).value == pytest.approx(Explicitness()(codes).value, abs=1e-6)


def test_score_ignores_what_values_are_called():
    codes = codes_of(noise=1.0)
    renamed = dataclasses.replace(
        codes, factors=tuple(dataclasses.replace(f, values=10 - 7 * f.values) for f in codes.factors)
    )
    assert Explicitness()(renamed).value == pytest.approx(Explicitness()(codes).value, abs=1e-6)


def test_every_area_lies_between_zero_and_one():
    for seed in range(5):
        table = Explicitness()(codes_of(noise=3.0, num_images=40, seed=seed)).tables["areas"]
        assert bool(((table >= 0) & (table <= 1) | table.isnan()).all())


def test_missing_labels_and_weights_choose_the_rows():
    codes = codes_of(num_images=300)
    wild = dataclasses.replace(codes, mean=torch.where(torch.arange(300)[:, None] < 200, codes.mean, 100.0))
    counts = (torch.arange(300) < 200).double()
    assert Explicitness()(dataclasses.replace(wild, weights=counts)).value == pytest.approx(1)
    known = dataclasses.replace(codes.factors[0], known=counts > 0)
    assert Explicitness()(dataclasses.replace(wild, factors=(known, codes.factors[1]))).per_factor[
        "a"
    ] == pytest.approx(1)


# What it refuses and warns of


def test_a_value_that_is_not_tested_is_left_out_and_named():
    labels = torch.arange(30) % 2
    labels[7] = 5
    codes = Codes(torch.stack([labels, labels % 3], dim=1).double(), factors=(Labels("v", labels),))
    score = Explicitness()(codes)
    assert score.value == pytest.approx(1)
    assert "Values of v" in score.notes[-1]


def test_fewer_images_than_classes_are_refused():
    with pytest.raises(CodesError, match="Explicitness: factor 'id' has 12 values in 8 training images"):
        Explicitness()(Codes(torch.arange(12).double()[:, None], factors=(Labels("id", torch.arange(12)),)))


def test_many_classes_are_no_reason_to_warn():
    codes = Codes(torch.arange(30).double()[:, None] % 15, factors=(Labels("id", torch.arange(30) % 15),))
    assert 0 <= Explicitness()(codes).value <= 1


def test_impossible_settings_are_refused():
    with pytest.raises(SpecError, match="one_vs_rest, one_vs_rest_raw, multinomial"):
        Explicitness("tree")
    with pytest.raises(SpecError, match="num_test is 0"):
        Explicitness(num_test=0)
