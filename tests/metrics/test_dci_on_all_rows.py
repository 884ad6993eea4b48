"""DCI fitted on every row, and factors without order that are regressed, as in Do & Tran's code."""

import dataclasses
import math

import pytest
import torch

from tests.metrics.test_dci import codes_of
from unbraid.errors import CodesError, SpecError
from unbraid.metrics.dci import DCI
from unbraid.metrics.predicting.prediction_tasks import prediction_tasks
from unbraid.metrics.reductions.statistics import Statistics


def shapes_and_sizes(num_images=300):
    """Returns codes with a factor without order and one with, of 3 and of 4 values."""
    codes = codes_of(num_images=num_images, noise=0.3)
    a, b = codes.factors
    return dataclasses.replace(codes, factors=(dataclasses.replace(b, name="shape", ordered=False), a))


def test_on_all_rows_it_is_scikit_learns_lasso_and_its_training_error():
    linear_model = pytest.importorskip("sklearn.linear_model")
    codes = codes_of(noise=0.5)
    score = DCI(standardize=False, rows="all", num_refits=0)(codes)
    for k, labels in enumerate(codes.factors):
        x, y = codes.mean.numpy(), labels.values.numpy()
        fit = linear_model.Lasso(alpha=0.002, tol=1e-12, max_iter=10_000, random_state=0).fit(x, y)
        assert score.tables["importance"][:, k].numpy() == pytest.approx(abs(fit.coef_), abs=1e-8)
        error = math.sqrt(((fit.predict(x) - y) ** 2).mean() / y.var())
        assert float(score.tables["train_error"][k]) == pytest.approx(error, rel=1e-8)
    assert set(score.parts) == {"completeness", "train_error"}
    assert set(score.tables) == {"importance", "train_error"}
    assert "num_train" not in score.settings


def test_a_forest_may_regress_a_factor_without_order():
    ensemble = pytest.importorskip("sklearn.ensemble")
    codes = shapes_and_sizes()
    score = DCI("forest", rows="all", regress_unordered=True, num_refits=0)(codes)
    labels = codes.factors[0].values
    forest = ensemble.RandomForestRegressor(n_estimators=10, max_depth=8, random_state=0)
    order = prediction_tasks(Statistics(codes), None, 0, 0)[0]
    fit = forest.fit(order.train_codes.numpy(), order.train_labels.numpy())
    assert score.tables["importance"][:, 0].numpy() == pytest.approx(fit.feature_importances_)
    error = torch.from_numpy(fit.predict(order.train_codes.numpy()) - order.train_labels.numpy()).square().mean().sqrt()
    assert float(score.tables["train_error"][0]) == pytest.approx(float(error / labels.double().std(correction=0)))
    assert sorted(order.train_labels.tolist()) == sorted(labels.tolist())


def test_the_lasso_may_regress_a_factor_without_order_and_boosted_trees_may_not():
    plain, regressed = (DCI(num_refits=0, regress_unordered=r)(shapes_and_sizes()) for r in (False, True))
    assert math.isnan(plain.per_factor["shape"])
    assert regressed.per_factor["shape"] > 0.5
    assert not any("no order" in note for note in regressed.notes)
    with pytest.raises(SpecError, match="DCI: regress_unordered is True"):
        DCI("boosted_trees", regress_unordered=True)


def test_all_rows_are_not_drawn_by_weights():
    codes = dataclasses.replace(codes_of(), weights=torch.full((90,), 1 / 90, dtype=torch.float64))
    with pytest.raises(CodesError, match="DCI"):
        DCI(rows="all")(codes)


def test_all_rows_of_codes_fitted_elsewhere_leave_the_others_to_test_on():
    task = prediction_tasks(Statistics(codes_of(), num_fitted=60), None, 0, 0)[0]
    assert (len(task.train_labels), len(task.test_labels)) == (60, 30)


def test_errors_of_many_rows_have_the_intervals_of_resampled_ones(monkeypatch):
    """To first order: 200 resamples know a standard error within 5 %."""
    codes = codes_of(num_images=3000, noise=0.5)
    resampled = DCI(rows="all", num_refits=0)(codes).parts["train_error"]
    monkeypatch.setattr("unbraid.metrics.predicting.factor_predictors._MAX_RESAMPLED_ROWS", 100)
    monkeypatch.setattr("unbraid.metrics.predicting.lasso._MAX_PRODUCTS", 16 * 1000)
    by_rows = DCI(rows="all", num_refits=0)(codes).parts["train_error"]
    assert by_rows.value == pytest.approx(resampled.value, rel=1e-12)
    widths = [part.interval[1] - part.interval[0] for part in (by_rows, resampled)]
    assert widths[0] == pytest.approx(widths[1], rel=0.15)
