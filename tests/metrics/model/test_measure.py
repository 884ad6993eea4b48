"""One pass over the images for all scores of a model."""

import importlib

import pytest

from tests.metrics.model.models import IMAGES, MIXED, measured, model, scored
from unbraid.metrics.model import ELBO, Distortion, ImportanceWeightedBound
from unbraid.metrics.selection import metric_of, select


def test_scores_that_are_asked_for_together_are_those_asked_for_alone():
    net, scores = model(MIXED), select("model").model_scores
    together = measured(scores, net)
    assert together == {name: scored(score, net) for name, score in scores.items()}


def test_a_score_does_not_depend_on_how_many_images_are_taken_at_once(monkeypatch):
    net = model(MIXED)
    whole = measured({"elbo": ELBO(), "iw": ImportanceWeightedBound(4)}, net)
    monkeypatch.setattr(importlib.import_module("unbraid.metrics.model.model_score"), "_IMAGES_AT_ONCE", 7)
    parts = measured({"elbo": ELBO(), "iw": ImportanceWeightedBound(4)}, net)
    for name in whole:
        assert parts[name].value == pytest.approx(whole[name].value, rel=1e-12)


def test_one_image_has_no_interval():
    assert scored(Distortion(), model(), images=IMAGES.select(IMAGES.values.new_tensor([4]))).interval is None


def test_scores_of_models_are_selected_by_name_beside_metrics():
    chosen = select("mig, elbo, reconstruction-error:absolute, importance-weighted-bound:num_draws=5", seed=3)
    assert list(chosen.metrics) == ["mig"]
    assert chosen.model_scores["elbo"] == ELBO(seed=3)
    assert list(chosen.model_scores)[1:] == ["reconstruction-error:absolute", "importance-weighted-bound:num_draws=5"]
    assert metric_of("distortion") == Distortion()
    assert not any(name in select("all").metrics for name in ("elbo", "rate", "distortion"))
