"""DCI: known answers, laws, peers' bugs, and what it refuses."""

import dataclasses
import math
import warnings

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from unbraid._internal.progress import listening
from unbraid.codes import Codes, Labels
from unbraid.errors import CodesError, SpecError
from unbraid.metrics.dci import (
    DCI,
    completeness,
    completeness_of_factors,
    disentanglement,
    disentanglement_of_latents,
    weighted_completeness,
)
from unbraid.metrics.predicting.factor_predictors import PredictorSettings, fitted_predictor
from unbraid.metrics.predicting.prediction_tasks import PredictionTask

PREDICTORS = {
    "lasso": DCI(),
    "forest": DCI("forest", num_refits=2),
    "boosted_trees": DCI("boosted_trees", num_trees=5, num_refits=2),
}


def codes_of(seed=0, num_images=90, noise=0.05):
    """Four values and three, each read off one latent; then a latent of noise."""
    generator = torch.Generator().manual_seed(seed)
    labels = [torch.randint(0, size, (num_images,), generator=generator) for size in (4, 3)]
    mean = noise * torch.randn(num_images, 3, dtype=torch.float64, generator=generator)
    mean[:, 0] += labels[0]
    mean[:, 1] -= labels[1]
    return Codes(mean, factors=(Labels("a", labels[0]), Labels("b", labels[1])))


# Known answers


@pytest.mark.parametrize("predictor", PREDICTORS)
def test_a_latent_for_each_factor_is_disentangled_and_complete(predictor):
    score = PREDICTORS[predictor](codes_of())
    assert score.value > 0.9
    assert score.parts["completeness"].value > 0.9
    assert score.parts["test_error"].value < 0.3
    assert score.tables["importance"].shape == (3, 2)
    assert score.interval[0] <= score.value <= score.interval[1]


def test_matrices_with_known_scores():
    one_each, alike = torch.eye(3).double(), torch.ones(4, 3).double()
    assert float(disentanglement(one_each)) == float(completeness(one_each)) == 1
    assert float(disentanglement(alike)) == pytest.approx(0, abs=1e-12)
    assert float(completeness(alike)) == pytest.approx(0, abs=1e-12)
    # A latent that serves two of three factors alike: 1 - log 2 / log 3.
    assert float(disentanglement_of_latents(torch.tensor([[1.0, 1.0, 0.0]]).double())) == pytest.approx(
        1 - math.log(2) / math.log(3)
    )


def test_disentanglement_weighs_latents_by_importance():
    importance = torch.tensor([[3.0, 0.0], [0.5, 0.5]]).double()
    assert float(disentanglement(importance)) == pytest.approx(0.75)


def test_one_factor_is_disentangled_wherever_it_is_used():
    importance = torch.tensor([[2.0], [0.0], [1.0]]).double()
    assert disentanglement_of_latents(importance).tolist() == [1, 0, 1]
    assert float(disentanglement(importance)) == 1
    assert completeness_of_factors(importance.T).tolist() == [1, 0, 1]  # and one latent is complete for what it serves


def test_the_error_of_a_regression_is_relative_to_the_spread_of_the_labels():
    """A latent that explains half of the variance leaves an error of sqrt(1/2)."""
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(4000, 1, dtype=torch.float64, generator=generator)
    y = x[:, 0] + torch.randn(4000, dtype=torch.float64, generator=generator)
    score = DCI()(Codes(x, factors=(Labels("y", y),)))
    for part in ("train_error", "test_error"):
        assert score.parts[part].value == pytest.approx(math.sqrt(0.5), abs=0.03)
        low, high = score.parts[part].interval
        assert low < math.sqrt(0.5) < high


def test_standardizing_gives_the_lasso_one_minus_alpha():
    """A latent equal to its label has the weight 1 - alpha once both have variance 1; raw, 1 - alpha / Var."""
    labels = torch.arange(4).repeat(10)
    x = labels[:, None].double()
    task = PredictionTask("v", x, labels, x, labels)
    assert float(fitted_predictor(task, PredictorSettings(alpha=0.01)).importance) == pytest.approx(0.99)
    assert float(fitted_predictor(task, PredictorSettings(alpha=0.01, standardize=False)).importance) == pytest.approx(
        1 - 0.01 / 1.25
    )


# Bugs of other libraries


def test_errors_are_errors():
    """disentanglement_lib and disent call accuracies errors: a perfect code would have an 'error' of 1."""
    score = PREDICTORS["boosted_trees"](codes_of(noise=0.001))
    assert score.parts["train_error"].value == 0
    assert score.parts["test_error"].value < 0.1
    fit = fitted_predictor(
        PredictionTask("v", *(torch.arange(8).double()[:, None], torch.arange(8) % 2) * 2, ordered=False),
        PredictorSettings("forest", num_trees=1, max_depth=1),
    )
    assert float(fit.train.error()) == pytest.approx(float(fit.train.losses.mean()))


def test_completeness_is_averaged_in_two_ways():
    """Plainly in the paper and in Do & Tran's code, weighted by importance in disentanglement_lib."""
    importance = torch.tensor([[3.0, 0.5], [0.0, 0.5]]).double()
    assert float(completeness(importance)) == pytest.approx(0.5)
    assert float(weighted_completeness(importance)) == pytest.approx(0.75)


def test_a_factor_that_nothing_predicts_is_not_complete():
    """Do & Tran's code gives it 1."""
    importance = torch.tensor([[1.0, 0.0], [0.0, 0.0]]).double()
    assert completeness_of_factors(importance).tolist() == [1, 0]
    assert disentanglement_of_latents(importance).tolist() == [1, 0]
    assert float(disentanglement(torch.zeros(2, 2).double())) == 0


def test_raw_latents_of_noise_weigh_more_than_standardized_ones():
    """Do & Tran's Fig. 23(c): on raw latents a mean that moves by a thousandth gets a huge weight."""
    codes = codes_of(noise=0.5)
    tiny = dataclasses.replace(
        codes,
        mean=codes.mean * torch.tensor([1.0, 1.0, 1e-2])
        + torch.tensor([0, 0, 1e-2]) * codes.factors[0].values[:, None],
    )
    raw, standardized = (DCI(alpha=1e-6, standardize=s)(tiny).tables["importance"] for s in (False, True))
    assert float(raw[2].max() / raw[:2].max()) > 10
    assert float(standardized[2].max() / standardized[:2].max()) < 2


# Laws


@settings(max_examples=10)
@given(seed=st.integers(0, 100), order=st.permutations(range(3)))
def test_lasso_scores_ignore_order_scale_and_sign_of_latents(seed, order):
    codes = codes_of(seed, 40, noise=1.0)
    moved = dataclasses.replace(codes, mean=(codes.mean * torch.tensor([2.0, -3.0, 0.1]) + 5)[:, order])
    ours, theirs = DCI(num_refits=0)(codes), DCI(num_refits=0)(moved)
    assert theirs.value == pytest.approx(ours.value, abs=1e-6)
    assert theirs.parts["completeness"].value == pytest.approx(ours.parts["completeness"].value, abs=1e-6)


@given(st.lists(st.lists(st.floats(0, 10), min_size=3, max_size=3), min_size=1, max_size=4))
def test_every_score_lies_between_zero_and_one(rows):
    importance = torch.tensor(rows).double()
    for summary in (disentanglement, completeness, weighted_completeness):
        assert 0 <= float(summary(importance)) <= 1 + 1e-9


@pytest.mark.parametrize("predictor", PREDICTORS)
def test_the_score_is_the_same_for_a_seed(predictor):
    first, again = (PREDICTORS[predictor](codes_of(noise=1.0)) for _ in range(2))
    assert (first.value, first.interval) == (again.value, again.interval)


def test_settings_of_a_score_are_those_that_mattered():
    assert "alpha" not in PREDICTORS["forest"](codes_of()).settings
    found = DCI()(codes_of()).settings
    assert (found["alpha"], found["num_refits"]) == (0.002, 20)
    assert "num_trees" not in found


def test_no_refits_no_interval():
    score = DCI(num_refits=0)(codes_of())
    assert score.interval is None
    assert score.settled is None
    assert score.parts["test_error"].interval is not None


def test_more_latents_than_training_rows_are_scored():
    """20 images, 16 latents: the LASSO of 13 rows has many optima, and must stop at one of them. No refits, for
    speed.
    """
    mean = torch.randn(20, 16, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    score = DCI(num_refits=0)(Codes(mean, factors=(Labels("v", torch.arange(20) % 4),)))
    numbers = (
        score.value,
        *(part.value for part in score.parts.values()),
        *score.per_latent,
        *score.per_factor.values(),
    )
    assert all(math.isfinite(number) for number in numbers)
    assert 0 <= score.value <= 1


def test_the_forest_tells_how_many_fits_are_done():
    heard = []
    with listening(heard.append):
        DCI("forest", num_refits=3)(codes_of())
    # Two factors, each fitted on all rows and on half of them, and refitted three times.
    assert [(event.about, event.done, event.total) for event in heard] == [
        *(("DCI", n, 4) for n in range(1, 5)),
        *(("DCI of resampled rows", n, 6) for n in range(1, 7)),
    ]


def test_fits_in_threads_are_told_to_who_listens_where_they_were_asked_for():
    heard = []
    with listening(heard.append):
        DCI("lasso", num_refits=3)(codes_of())
    assert heard[-1].is_over


def test_weights_and_missing_labels_choose_the_rows():
    codes = codes_of(num_images=300)
    wild = dataclasses.replace(codes, mean=torch.where(torch.arange(300)[:, None] < 200, codes.mean, 100.0))
    counts = (torch.arange(300) < 200).double()
    assert DCI()(dataclasses.replace(wild, weights=counts)).value > 0.9
    partly = tuple(dataclasses.replace(f, known=counts > 0) for f in codes.factors)
    assert DCI()(dataclasses.replace(wild, factors=partly)).value > 0.9


# What it refuses and warns of


def test_the_lasso_leaves_names_out_and_says_so():
    codes = codes_of()
    words = dataclasses.replace(codes.factors[0], ordered=False)
    score = DCI()(dataclasses.replace(codes, factors=(words, codes.factors[1])))
    assert math.isnan(score.per_factor["a"])
    assert "order" in score.notes[-1]
    with pytest.raises(CodesError, match="forest"):
        DCI()(dataclasses.replace(codes, factors=(words,)))
    assert PREDICTORS["forest"](dataclasses.replace(codes, factors=(words,))).value == 1


def test_many_classes_are_no_reason_to_warn():
    codes = Codes(torch.arange(30).double()[:, None] % 15, factors=(Labels("id", torch.arange(30) % 15),))
    assert 0 <= PREDICTORS["boosted_trees"](codes).value <= 1


def test_fewer_images_than_classes_are_refused_by_classifiers():
    codes = Codes(torch.arange(12).double()[:, None], factors=(Labels("id", torch.arange(12)),))
    with pytest.raises(CodesError, match="DCI: factor 'id' has 12 values in 8 training images"):
        PREDICTORS["boosted_trees"](codes)
    assert DCI()(codes).value == 1


def test_a_label_that_never_changes_in_the_training_rows_is_no_trouble():
    labels = torch.zeros(30, dtype=torch.int64)
    labels[:2] = 1
    codes = Codes(torch.arange(30).double()[:, None], factors=(Labels("rare", labels),))
    for seed in range(4):
        for metric in PREDICTORS.values():
            assert 0 <= dataclasses.replace(metric, seed=seed)(codes).value <= 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"predictor": "tree"}, "lasso, forest, boosted_trees"),
        ({"completeness": "max"}, "mean, weighted"),
        ({"alpha": -1.0}, "0 or more"),
        ({"num_refits": 1}, "DCI: num_refits is 1"),
        ({"num_trees": 0}, "num_trees is 0"),
    ],
)
def test_impossible_settings_are_refused(arguments, message):
    with pytest.raises(SpecError, match=message):
        DCI(**arguments)


def test_trees_refuse_means_beyond_float32():
    mean = 1e60 * torch.randn(30, 2, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    with pytest.raises(CodesError, match=r"The largest mean is 3\.47964e\+60"):
        DCI(predictor="forest")(Codes(mean, factors=(Labels("a", torch.arange(30) % 3),)))


def test_forests_leave_the_filters_of_warnings_alone():
    """In threads, scikit-learn would lose them."""
    mean = torch.randn(60, 2, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    factors = tuple(Labels(f"f{k}", torch.arange(60) % (k + 2)) for k in range(4))
    before = list(warnings.filters)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        DCI(predictor="forest", num_refits=2, seed=2**63 - 1)(Codes(mean, factors=factors))
    assert warnings.filters == before


def test_with_one_factor_disentanglement_is_a_convention():
    mean = torch.randn(30, 2, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    score = DCI(num_refits=0)(Codes(mean, factors=(Labels("a", torch.arange(30) % 3),)))
    assert any("With one factor" in note for note in score.notes)


def test_an_importance_that_rounding_leaves_below_zero_counts_as_zero():
    """Boosted trees that never ask for the second latent give it -8.5e-18 here."""
    rng = np.random.default_rng(11)
    v = rng.integers(0, 4, 200)
    z = np.stack([v + 0.05 * rng.normal(size=200), rng.normal(size=200)], axis=1)
    score = DCI(predictor="boosted_trees")(Codes.from_arrays(z, factors={"v": v}))
    assert score.parts["completeness"].value == pytest.approx(1)
    assert (score.tables["importance"] >= 0).all()


@pytest.mark.parametrize("scale", [1e-30, 1e-12, 1e12, 1e30])
def test_the_lasso_knows_no_scale(scale):
    codes = codes_of()
    moved = dataclasses.replace(codes, mean=codes.mean.double() * scale, std=None)
    assert DCI()(moved).value == pytest.approx(DCI()(dataclasses.replace(codes, std=None)).value)
