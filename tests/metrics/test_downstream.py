"""Downstream accuracy: known answers, scikit-learn, and learning from few labels."""

import numpy as np
import pytest
from sklearn.ensemble import GradientBoostingClassifier
from sklearn.linear_model import LogisticRegression

from unbraid import Codes
from unbraid.errors import CodesError, SpecError
from unbraid.metrics import Downstream
from unbraid.metrics.predicting.prediction_tasks import prediction_tasks
from unbraid.metrics.reductions.statistics import Statistics


def blurred(num_images=600, seed=0, noise=0.5):
    rng = np.random.default_rng(seed)
    v = np.stack([rng.integers(0, 3, num_images), rng.integers(0, 2, num_images)], axis=1)
    return Codes.from_arrays(v + noise * rng.normal(size=v.shape), factors={"a": v[:, 0], "b": v[:, 1]})


# Known answers


@pytest.mark.parametrize("classifier", ["linear", "boosted_trees"])
def test_a_code_that_names_every_value_scores_one_from_few_labels_too(classifier):
    score = Downstream(classifier, num_few=60)(blurred(noise=0.01, num_images=300))
    assert score.value == 1
    assert {name: part.value for name, part in score.parts.items() if name != "majority"} == {
        "few_rows": 1,
        "sample_efficiency": 1,
    }


def test_noise_scores_what_naming_the_most_frequent_value_does():
    rng = np.random.default_rng(0)
    rare = (rng.uniform(size=900) < 0.1).astype(int)
    score = Downstream()(Codes.from_arrays(rng.normal(size=(900, 2)), factors={"rare": rare}))
    assert score.value == score.parts["majority"].value == pytest.approx(0.9, abs=0.03)


def test_a_ring_is_read_by_trees_and_not_by_a_line():
    angle = np.random.default_rng(0).uniform(0, 2 * np.pi, 600)
    radius = np.where(np.arange(600) % 2, 1.0, 2.0)
    mean = radius[:, None] * np.stack([np.cos(angle), np.sin(angle)], axis=1)
    codes = Codes.from_arrays(mean, factors={"inside": np.arange(600) % 2})
    assert Downstream()(codes).value < 0.65 < 0.9 < Downstream("boosted_trees", num_few=50)(codes).value


# An independent computation


def test_it_is_the_accuracy_that_scikit_learn_reports():
    codes = blurred()
    metrics = {name: Downstream(name, num_train=200, num_test=100, num_few=40) for name in ("linear", "boosted_trees")}
    tasks = prediction_tasks(Statistics(codes), 200, 100, 0)
    for name, metric in metrics.items():
        score = metric(codes)
        for part, num_rows in (("all_rows", 200), ("few_rows", 40)):
            for k, task in tasks.items():
                train, test = task.train_codes[:num_rows].numpy(), task.test_codes.numpy()
                if name == "linear":
                    mean, std = train.mean(axis=0), train.std(axis=0)
                    train, test = (train - mean) / std, (test - mean) / std
                    model = LogisticRegression(max_iter=1000)
                else:
                    model = GradientBoostingClassifier(random_state=0)
                model.fit(train, task.train_labels[:num_rows].numpy())
                assert score.tables[part][k] == pytest.approx(model.score(test, task.test_labels.numpy()))
        assert score.value == pytest.approx(score.tables["all_rows"].mean())
        expected = score.tables["few_rows"].mean() / score.tables["all_rows"].mean()
        assert score.parts["sample_efficiency"].value == pytest.approx(expected)


# Laws


def test_scale_and_offset_change_nothing_for_a_line():
    codes = blurred()
    moved = Codes.from_arrays(codes.mean * 100 - 7, factors={f.name: f.values for f in codes.factors})
    assert Downstream(num_few=50)(moved).value == pytest.approx(Downstream(num_few=50)(codes).value, abs=0.02)


def test_the_interval_is_that_of_a_share():
    """Two factors on the same 200 test rows, with independent noise: about sqrt(p (1 - p) / 200 / 2)."""
    score = Downstream()(blurred())
    p = score.tables["all_rows"].numpy()
    expected = 1.96 * np.sqrt((p * (1 - p)).sum() / 4 / 200)
    assert (score.interval[1] - score.interval[0]) / 2 == pytest.approx(expected, rel=0.25)


# What is refused


def test_few_rows_are_no_more_than_all():
    with pytest.raises(SpecError, match="num_few is 300"):
        Downstream(num_few=300, num_train=200)
    assert "20 training" in Downstream()(blurred(30)).notes[0]


def test_more_classes_than_rows_are_refused():
    with pytest.raises(CodesError, match="Downstream: factor 'v' has 30 values in 20 training images"):
        Downstream()(Codes.from_arrays(np.arange(30.0)[:, None], factors={"v": np.arange(30)}))


def weighted(weights, seed=0):
    rng = np.random.default_rng(seed)
    v = rng.integers(0, 3, 300)
    return Codes.from_arrays(v[:, None] + rng.normal(size=(300, 1)), factors={"v": v}, weights=weights)


def test_equal_weights_are_none():
    assert Downstream()(weighted(np.full(300, 0.7))).interval == Downstream()(weighted(None)).interval


@pytest.mark.slow
def test_with_weights_the_interval_knows_of_images_that_were_drawn_twice():
    """Rows are drawn from the images, and images from all that might be: with weights that hardly differ either
    scatters as much as rows without weights do, and the error of repeated measurements is what the interval says.
    """
    errors = {}
    alike, unlike = np.full(300, 1.0), np.r_[np.full(150, 0.2), np.ones(150)]
    alike[0] = 1.001
    for name, weights in (("none", None), ("alike", alike), ("unlike", unlike)):
        found = [Downstream()(weighted(weights, seed)) for seed in range(40)]
        values = np.array([score.value for score in found])
        errors[name] = float(np.mean([score.interval[1] for score in found] - values) / 1.96)
        assert values.std(ddof=1) == pytest.approx(errors[name], rel=0.3)
    assert errors["alike"] / errors["none"] == pytest.approx(2**0.5, rel=0.05)
    assert errors["unlike"] > errors["alike"]


def test_images_of_weight_zero_are_as_absent():
    codes = weighted(None)
    doubled = Codes.from_arrays(
        np.concatenate([codes.mean, codes.mean]),
        factors={"v": np.concatenate([codes.factors[0].values, codes.factors[0].values])},
        weights=np.r_[np.ones(300), np.zeros(300)],
    )
    (low, high), (low_alone, high_alone) = Downstream()(doubled).interval, Downstream()(codes).interval
    assert high - low == pytest.approx(high_alone - low_alone, rel=0.1)
