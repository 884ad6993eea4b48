"""InfoMEC: known answers, the published computation with scikit-learn, and its traps."""

import dataclasses
import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.feature_selection import mutual_info_classif
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss, mutual_info_score
from sklearn.preprocessing import OneHotEncoder

from tests.metrics.test_mig import grid, latents, random_codes
from unbraid import Codes, evaluate
from unbraid.errors import CodesError, SpecError
from unbraid.metrics import InfoMEC
from unbraid.metrics.estimators import Exact, Levels, MeansHistogram, Quantized
from unbraid.metrics.predicting.fits import quietly
from unbraid.metrics.published import infomec
from unbraid.metrics.reductions.statistics import Statistics


def blurred(seed=0, num_images=400):
    """Two factors, one of them unequal, three latents of which the last is narrow, as means alone."""
    rng = np.random.default_rng(seed)
    v = np.stack([rng.integers(0, 4, num_images), (rng.uniform(size=num_images) < 0.2).astype(int)], axis=1)
    z = rng.normal(size=(num_images, 3)) * [0.5, 0.4, 0.01] + v @ np.array([[1.0, 0.2, 0.0], [0.3, 1.0, 0.0]])
    return z, v


# Known answers


@pytest.mark.parametrize("estimator", [Exact(), Quantized(), MeansHistogram()])
def test_one_latent_for_each_factor_scores_one(estimator):
    score = InfoMEC(estimator, explicitness="in_sample")(grid(num_noise=1))
    assert (score.value, score.parts["compactness"].value) == pytest.approx((1, 1), abs=1e-2)
    assert math.isnan(score.per_latent[2])


def test_a_latent_that_tells_two_factors_alike_has_no_modularity():
    a, b = np.arange(80) // 2 % 2, np.arange(80) % 2
    mean = np.stack([2.0 * a + b - 1.5, 2.0 * a + b - 1.5], axis=1)
    score = InfoMEC(Quantized())(Codes.from_arrays(mean, np.zeros_like(mean), factors={"a": a, "b": b}))
    assert (score.value, score.parts["compactness"].value) == pytest.approx((0, 0), abs=1e-9)


def test_with_balanced_classes_nothing_known_costs_the_logarithm_of_the_number_of_values():
    """Not the entropy of the labels: the published null model predicts all values alike."""
    _, v = blurred()
    null = LogisticRegression(C=math.inf, class_weight="balanced").fit(np.zeros((400, 1)), v[:, 1])
    assert log_loss(v[:, 1], null.predict_proba(np.zeros((400, 1)))) == pytest.approx(math.log(2), abs=1e-6)
    noise = np.random.default_rng(1).normal(size=(400, 2))
    score = infomec()[0](Codes.from_arrays(noise, factors=v))
    assert score.tables["explicitness"].tolist() == pytest.approx([0, 0], abs=0.02)


# The published computation


def published(z, v):
    scaled = (z - z.mean(axis=0)) / z.std(axis=0)
    nmi = np.array(
        [
            [
                mutual_info_classif(column[:, None], y, discrete_features=False, n_neighbors=10, random_state=0)[0]
                / mutual_info_score(y, y)
                for column in scaled.T
            ]
            for y in v.T
        ]
    )
    width = np.ptp(z, axis=0)
    kept = nmi[:, width > width.max() / 20]
    num_factors, num_active = kept.shape
    info_m = ((kept.max(axis=0) / kept.sum(axis=0)).mean() - 1 / num_factors) / (1 - 1 / num_factors)
    info_c = ((kept.max(axis=1) / kept.sum(axis=1)).mean() - 1 / num_active) / (1 - 1 / num_active)
    each = []
    for y in v.T:
        with quietly():
            model = LogisticRegression(C=math.inf, class_weight="balanced", max_iter=100).fit(scaled, y)
        each.append(1 - log_loss(y, model.predict_proba(scaled)) / math.log(len(np.unique(y))))
    return info_m, info_c, np.mean(each)


@pytest.mark.parametrize("seed", range(2))
def test_as_published_it_is_what_scikit_learn_computes(seed):
    """scikit-learn breaks ties with noise of 1e-10, which moves nothing here."""
    z, v = blurred(seed)
    score = infomec()[0](Codes.from_arrays(z, factors=v))
    found = score.value, score.parts["compactness"].value, score.parts["explicitness"].value
    assert found == pytest.approx(published(z, v), abs=1e-4)
    assert math.isnan(score.per_latent[2])


def levels_of(z, num_levels=10):
    """The codes on ten levels from -1 to 1, the last latent on one."""
    quantized = np.round((z - z.min(axis=0)) / np.ptp(z, axis=0) * (num_levels - 1)) / (num_levels - 1) * 2 - 1
    return np.where(np.arange(z.shape[1]) == z.shape[1] - 1, 0.5, quantized)


def published_of_levels(z, v):
    """The branch of the authors' code for discrete latents."""
    places = np.stack([np.unique(column, return_inverse=True)[1] for column in z.T], axis=1)
    nmi = np.array([[mutual_info_score(y, x) / mutual_info_score(y, y) for x in places.T] for y in v.T])
    kept = nmi[:, np.ptp(z, axis=0) > 0]
    num_factors, num_active = kept.shape
    info_m = ((kept.max(axis=0) / kept.sum(axis=0)).mean() - 1 / num_factors) / (1 - 1 / num_factors)
    info_c = ((kept.max(axis=1) / kept.sum(axis=1)).mean() - 1 / num_active) / (1 - 1 / num_active)
    columns, each = OneHotEncoder().fit_transform(z), []
    for y in v.T:
        with quietly():
            model = LogisticRegression(C=math.inf, class_weight="balanced", max_iter=100).fit(columns, y)
        each.append(1 - log_loss(y, model.predict_proba(columns)) / math.log(len(np.unique(y))))
    return info_m, info_c, np.mean(each)


@pytest.mark.parametrize("seed", range(2))
def test_quantized_codes_are_scored_by_their_levels_as_published(seed):
    z, v = blurred(seed, num_images=600)
    z[:, 1] *= 0.01  # a narrow latent is active too
    q = levels_of(z)
    (metric,) = infomec(discrete=True)
    score = metric(Codes.from_arrays(q * [1, 0.01, 1], factors=v))
    found = score.value, score.parts["compactness"].value, score.parts["explicitness"].value
    assert found == pytest.approx(published_of_levels(q, v), abs=1e-4)
    assert [math.isnan(each) for each in score.per_latent] == [False, False, True]
    # Read as points the same codes are other ones: the levels of neither latent are on a line.
    assert infomec()[0](Codes.from_arrays(q, factors=v)).parts["explicitness"].value != pytest.approx(
        found[2], abs=0.01
    )


def test_held_out_a_level_that_no_training_row_has_says_nothing():
    z, v = blurred(num_images=200)
    q = levels_of(z)
    q[:3, 0] = [5.0, 6.0, 7.0]
    assert 0.2 < InfoMEC(Levels())(Codes.from_arrays(q, factors=v)).parts["explicitness"].value < 1


def test_as_published_all_three_are_of_the_same_means_whatever_the_widths():
    z, v = blurred(num_images=300)
    (metric,) = infomec()
    few = dataclasses.replace(metric, estimator=dataclasses.replace(metric.estimator, num_samples=200))
    wide = Codes.from_arrays(z, np.full_like(z, 3.0), factors=v)
    alone = metric(Statistics(Codes.from_arrays(z, factors=v)).drawn(200).codes)
    score = few(wide)
    assert (score.value, score.per_latent[:2]) == (alone.value, alone.per_latent[:2])
    assert score.parts["explicitness"].value == pytest.approx(alone.parts["explicitness"].value, abs=1e-6)
    assert (metric.estimator.num_samples, metric.num_train) == (10_000, 10_000)


def test_in_sample_explicitness_flatters_a_wide_code_and_held_out_does_not():
    rng = np.random.default_rng(0)
    codes = Codes.from_arrays(rng.normal(size=(120, 60)), np.ones((120, 60)), factors=rng.integers(0, 4, (120, 2)))
    in_sample, held_out = (
        InfoMEC(MeansHistogram(), explicitness=how)(codes).parts["explicitness"] for how in ("in_sample", "held_out")
    )
    assert held_out.value < 0.1 < 0.5 < in_sample.value


# Laws


@settings(max_examples=8)
@given(seed=st.integers(0, 100))
def test_it_lies_in_its_bounds_and_knows_no_order(seed):
    codes = random_codes(seed)
    score = InfoMEC()(codes)
    for value in (score.value, score.parts["compactness"].value):
        assert math.isnan(value) or -1e-12 <= value <= 1
    assert InfoMEC()(latents(codes, [2, 0, 1])).value == pytest.approx(score.value)


def test_scale_and_offset_of_a_latent_change_nothing():
    z, v = blurred()
    one, other = (InfoMEC(MeansHistogram())(Codes.from_arrays(x, factors=v)) for x in (z, z * [-3, 0.1, 50] + 7))
    assert other.parts["explicitness"].value == pytest.approx(one.parts["explicitness"].value, abs=1e-6)
    # Bins of a mirrored latent are closed at the other end; of another latent they are the same.
    assert other.per_latent[1:] == pytest.approx(one.per_latent[1:])


# What is undefined, and refused


def test_one_factor_or_one_active_latent_leaves_nothing_to_compare():
    score = InfoMEC()(latents(grid(num_noise=1), [0, 2]))
    assert math.isnan(score.parts["compactness"].value)
    assert "undefined" in score.notes[-1]
    alone = grid().with_factors("v")
    assert math.isnan(InfoMEC()(alone).value)


def test_without_any_active_latent_nothing_is_compared():
    codes = Codes.from_arrays(np.zeros((60, 3)), np.ones((60, 3)), factors=np.arange(120).reshape(60, 2) % 3)
    for metric in (InfoMEC(), *infomec()):
        score = metric(codes)
        assert math.isnan(score.value)
        assert math.isnan(score.parts["compactness"].value)


def test_values_that_no_training_row_has_are_left_out():
    v = torch.cat([torch.arange(60) % 2, torch.tensor([2])]).numpy()
    z = v[:, None] + 0.1 * np.random.default_rng(0).normal(size=(61, 2))
    scores = [InfoMEC(MeansHistogram(), seed=seed)(Codes.from_arrays(z, factors={"v": v})) for seed in range(8)]
    assert any("do not occur" in note for score in scores for note in score.notes)
    assert all(score.parts["explicitness"].value > 0.3 for score in scores)


def test_more_classes_than_rows_and_a_negative_threshold_are_refused():
    with pytest.raises(CodesError, match="InfoMEC: factor 'v'"):
        InfoMEC()(Codes.from_arrays(np.arange(30.0)[:, None], np.ones((30, 1)), factors={"v": np.arange(30)}))
    with pytest.raises(SpecError, match="threshold is"):
        InfoMEC(threshold=-1.0)


def test_a_factor_of_which_no_value_was_seen_in_training_is_left_out_and_named():
    rng = np.random.default_rng(0)

    def codes(values):
        a, b = rng.choice(values, 300), rng.integers(0, 3, 300)
        z = np.stack([a, b], axis=1) + 0.3 * rng.normal(size=(300, 2))
        return Codes.from_arrays(z, np.full(z.shape, 0.3), factors={"a": a, "b": b})

    score = evaluate(codes([0, 1, 2]), metrics=["info-mec"], test=codes([3, 4]), progress=False)["info-mec"]
    explicitness = score.tables["explicitness"]
    assert math.isnan(explicitness[0])
    assert score.parts["explicitness"].value == float(explicitness[1])
    assert score.parts["explicitness"].interval is not None
    assert any(note.startswith("InfoE excludes a,") for note in score.notes)


def test_no_factor_that_can_be_compared_leaves_explicitness_undefined():
    """Of five images two are for testing, and their values are in do not occur, or all training rows have one."""
    factors = {"a": np.array([0, 1, 0, 1, 2]), "b": np.array([0, 0, 1, 1, 1])}
    z = np.random.default_rng(0).normal(size=(5, 2))
    for seed in range(8):
        part = InfoMEC(seed=seed)(Codes.from_arrays(z, np.ones((5, 2)), factors=factors)).parts["explicitness"]
        assert part.interval is None or part.interval[0] <= part.value <= part.interval[1]


def test_levels_that_name_their_image_are_noted():
    rng = np.random.default_rng(0)
    factors = {"a": rng.integers(0, 3, 30), "b": rng.integers(0, 3, 30)}
    score = InfoMEC(Levels())(Codes.from_arrays(rng.normal(size=(30, 2)), factors=factors))
    assert any("Latents [0, 1]" in n for n in score.notes)
    rounded = InfoMEC(Levels())(Codes.from_arrays(rng.integers(0, 4, (30, 2)).astype(float), factors=factors))
    assert not any("levels" in note for note in rounded.notes)
