"""Predictors that are fitted on some codes and tested on others."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from unbraid import evaluate
from unbraid.codes import Codes
from unbraid.errors import CodesError
from unbraid.metrics import DCI, MIG, SAP, AttributeVector, Explicitness, FactorVAEScore, ZDiff
from unbraid.metrics.predicting.prediction_tasks import prediction_tasks
from unbraid.metrics.reductions.statistics import Statistics
from unbraid.metrics.scoring import Scoring

FITTED = [
    DCI(num_train=200, num_test=100),
    DCI(predictor="forest", num_train=200, num_test=100, num_refits=0),
    SAP(num_train=200, num_test=100),
    SAP(factors_as="measurements"),
    Explicitness(num_train=200, num_test=100),
    AttributeVector(num_train=200, num_test=100),
    ZDiff(num_train=200, num_test=100),
    FactorVAEScore(num_train=200, num_test=100),
]
each = pytest.mark.parametrize("metric", FITTED, ids=lambda metric: type(metric).__name__)


def codes(seed, *, swapped=False, num_images=240, start=0):
    """Two factors on two latents, or each on the other's."""
    rng = np.random.default_rng(seed)
    labels = np.stack([np.arange(num_images) % 2, np.arange(num_images) // 2 % 3 + start], axis=1)
    mean = labels[:, ::-1] if swapped else labels
    return Codes.from_arrays(
        mean + 0.05 * rng.standard_normal(mean.shape),
        np.full(mean.shape, 0.1),
        factors={"a": labels[:, 0], "b": labels[:, 1]},
    )


def of(metric, fitted_on, test, **options):
    return evaluate(fitted_on, metrics=[metric], test=test, progress=False, **options).scores[0]


@each
def test_what_holds_in_both_is_found(metric):
    score = of(metric, codes(0), codes(1))
    assert score.value > 0.9 or isinstance(metric, SAP | AttributeVector)
    assert any("240 images" in note for note in score.notes)
    assert Scoring.from_changes(score.scoring) == Scoring(part="test", fit="train")


@each
def test_what_does_not_hold_in_the_test_codes_is_noticed(metric):
    alike, other = of(metric, codes(0), codes(1)), of(metric, codes(0), codes(1, swapped=True))
    if isinstance(metric, DCI):  # importances are those of the fit
        assert other.parts["test_error"].value > 2 * alike.parts["test_error"].value
    elif metric == SAP(factors_as="measurements"):  # nothing is fitted: correlations in the test codes
        assert other.value == SAP(factors_as="measurements")(codes(1, swapped=True)).value
    elif isinstance(metric, SAP):
        assert bool((other.tables["scores"].diagonal() < alike.tables["scores"].diagonal() - 0.2).all())
    else:
        assert other.value < alike.value - 0.2


def test_rows_come_from_where_they_should_and_keep_their_labels():
    fitted_on, test = codes(0), codes(1, num_images=60, start=1)
    statistics = Statistics(Codes.concat([fitted_on, test]), num_fitted=len(fitted_on))
    task = prediction_tasks(statistics, 100, 50, 0)[1]
    assert (len(task.train_labels), len(task.test_labels)) == (100, 50)
    first, second = (set(part.mean[:, 0].tolist()) for part in (fitted_on, test))
    assert set(task.train_codes[:, 0].tolist()) <= first
    assert set(task.test_codes[:, 0].tolist()) <= second
    # Values are counted from the least of both, so that 1 is 1 in either.
    assert (set(task.train_labels.tolist()), set(task.test_labels.tolist())) == ({0, 1, 2}, {1, 2, 3})


def test_weights_count_in_either_part():
    weights = torch.zeros(240, dtype=torch.float64)
    weights[:24] = 1.0
    fitted_on = replace(codes(0), weights=weights)
    statistics = Statistics(Codes.concat([fitted_on, codes(1)]), num_fitted=240)
    task = prediction_tasks(statistics, 100, 50, 0)[0]
    assert set(task.train_codes[:, 0].tolist()) <= set(fitted_on.mean[:24, 0].tolist())
    assert float(statistics.codes.weights[:240].sum()) == pytest.approx(240)
    assert statistics.codes.weights[240:].tolist() == [1.0] * 240


def test_metrics_that_fit_nothing_are_left_out():
    card = evaluate(codes(0), metrics=[MIG(), DCI()], test=codes(1), progress=False)
    assert card.names == ("dci",)
    assert "fits no predictor" in card.left_out["mig"]
    with pytest.raises(CodesError, match="fits no predictor"):
        evaluate(codes(0), metrics=[MIG()], test=codes(1), progress=False)


def test_factors_and_a_fraction_hold_for_both():
    score = of(DCI(), codes(0), codes(1), scoring=Scoring(factors=("b",), fraction=0.5))
    assert list(score.per_factor) == ["b"]
    assert any("120 images" in note for note in score.notes)


@pytest.mark.parametrize(
    ("other", "complaint"),
    [
        ({"std": None}, "'std'"),
        ({"factors": ()}, "'a', 'b'"),
        ({"mean": torch.zeros(240, 3), "std": torch.ones(240, 3)}, "number of continuous latents: 2 and 3"),
    ],
)
def test_codes_that_do_not_belong_together_are_refused(other, complaint):
    with pytest.raises(CodesError, match=complaint):
        evaluate(codes(0), metrics=[DCI()], test=replace(codes(1), **other), progress=False)
