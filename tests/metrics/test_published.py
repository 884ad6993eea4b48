"""Metrics as published code sets them."""

import dataclasses

import numpy as np
import pytest

from unbraid import Codes, evaluate
from unbraid.codes import CodesOptions
from unbraid.config import text_of
from unbraid.errors import SpecError
from unbraid.metrics.estimators import MeansHistogram, Sampled
from unbraid.metrics.info_mec import InfoMEC
from unbraid.metrics.metric import Metric
from unbraid.metrics.mig import MIG
from unbraid.metrics.modularity import Modularity
from unbraid.metrics.published import chen, disdiff, disentanglement_lib, do_tran, infomec, kumar, like
from unbraid.metrics.zdiff import ZDiff


@pytest.mark.parametrize("code", [disentanglement_lib, chen, kumar, do_tran, infomec, disdiff])
def test_each_is_a_set_of_metrics_with_names_of_their_own(code):
    metrics = code()
    assert all(isinstance(metric, Metric) for metric in metrics)
    assert len({text_of(metric) for metric in metrics}) == len(metrics)


def test_a_code_is_found_by_name():
    assert like("disentanglement-lib") == like("disentanglement_lib") == disentanglement_lib()
    assert like("do-tran") == do_tran()
    assert like("kumar") == kumar()
    assert like("infomec") == infomec() != infomec(discrete=True) == like("infomec-discrete")
    with pytest.raises(SpecError, match="'chen'"):
        like("chenn")


@pytest.mark.parametrize("code", [infomec, disdiff])
def test_information_is_of_ten_thousand_rows_where_theirs_is(code):
    estimators = [metric.estimator for metric in code() if isinstance(metric, MIG | Modularity | InfoMEC)]
    assert {estimator.num_samples for estimator in estimators} == {10_000}


def test_chen_divides_by_the_log_of_the_number_of_values():
    rare = (np.arange(1000) % 10 == 0).astype(int)
    codes = Codes.from_arrays(np.stack([rare * 8.0 - 4, np.zeros(1000)], axis=1), np.full((1000, 2), 0.1), factors=rare)
    (theirs,) = (metric for metric in chen() if isinstance(metric, MIG))
    # A perfect code of a factor that is 1 in 10: its information is H = 0.325 nats, of log 2 = 0.693.
    assert evaluate(codes, metrics=[MIG()]).scores[0].value == pytest.approx(1.0, abs=1e-6)
    assert theirs(codes).value != pytest.approx(1.0, abs=0.1)


def test_do_and_trans_correct_modularity_comes_from_draws_with_a_floored_denominator():
    """Their plotting code: MI_zi_yk of 10,000 samples, clipped at 0, over max(MI^2 (K - 1), 1e-8)."""
    correct, original = (metric for metric in do_tran() if isinstance(metric, Modularity))
    assert (correct.estimator, correct.uninformative) == (Sampled(10_000), "published")
    assert (original.estimator, original.uninformative) == (MeansHistogram(100), "zero")


def test_binned_means_score_noise():
    rng = np.random.default_rng(0)
    hue = np.arange(1200) % 3
    mean = np.stack([hue * 1.0, 1e-3 * hue + 1e-4 * rng.normal(size=1200)], axis=1)
    codes = Codes.from_arrays(mean, np.ones((1200, 2)), factors=hue)
    (theirs,) = (metric for metric in disentanglement_lib() if isinstance(metric, MIG))
    assert MIG()(codes).value > 0.1
    assert theirs(codes).value == pytest.approx(0.0, abs=0.05)


@pytest.mark.slow
def test_do_and_tran_refuse_no_ordinary_codes():
    """2,500 images, 4 latents: there is no size at which floors are refused."""
    rng = np.random.default_rng(0)
    factors = {"size": np.arange(2500) % 4, "hue": np.arange(2500) // 4 % 3}
    mean = np.stack([factors["size"] - 1.5, factors["hue"] - 1.0, *0.1 * rng.normal(size=(2, 2500))], axis=1)
    codes = Codes.from_arrays(mean, np.tile([0.2, 0.2, 0.9, 0.9], (2500, 1)), factors=factors)
    few = [
        dataclasses.replace(m, estimator=Sampled(100)) if getattr(m, "density_floor", None) else m for m in do_tran()
    ]
    heard = []
    card = evaluate(codes, metrics=few, watch=lambda event: heard.append(event.about))
    assert card.refused == {}
    assert len(card.names) == len(do_tran())
    assert "sampled densities" in heard


def test_kumar_and_others_score_shape_by_its_number_and_every_image():
    rng = np.random.default_rng(0)
    shape, side = np.arange(1200) % 3, np.arange(1200) // 3 % 2
    mean = np.stack([shape + 0.1 * rng.normal(size=1200), side + 0.1 * rng.normal(size=1200), 1e-3 * shape], axis=1)
    factors = {"shape": shape, "side": side}
    train, test = (
        Codes.from_arrays(
            mean[rows], factors={k: v[rows] for k, v in factors.items()}, options=CodesOptions(unordered=["shape"])
        )
        for rows in (slice(900), slice(900, None))
    )
    few = [dataclasses.replace(m, num_train=300, num_test=100) if isinstance(m, ZDiff) else m for m in kumar()]
    card = evaluate(train, metrics=few, test=test)
    zdiff, attributes = card.scores
    top, everything, live = evaluate(test, metrics=kumar()[2:]).scores
    assert (zdiff.settings["classifier"], zdiff.value) == ("svm", 1.0)
    # Means of the training images, and as bias the middle of where the hinge loss is least: all test images are right.
    assert (attributes.per_factor["side"], attributes.parts["majority"].value) == (1.0, 0.5)
    expected = np.corrcoef(mean[900:], shape[900:], rowvar=False)[:3, 3]
    assert top.per_factor["shape"] == pytest.approx(np.abs(expected).max())
    np.testing.assert_allclose(everything.tables["latent_factor"][:, 0], expected)
    assert (live.parts["num_active"].value, live.value) == (2, pytest.approx(0, abs=0.1))
    assert everything.value > 0.3
