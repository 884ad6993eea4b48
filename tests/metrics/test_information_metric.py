"""What metrics of information share: intervals, whether they are settled, settings, and what they accept."""

import dataclasses
import math

import pytest
import torch

from tests.metrics.test_mig import grid, random_codes
from unbraid.codes import Codes, Labels
from unbraid.errors import CodesError
from unbraid.information.posteriors import Draws
from unbraid.metrics.jemmig import JEMMIG
from unbraid.metrics.mig import MIG
from unbraid.metrics.modularity import Modularity
from unbraid.metrics.rmig import RMIG
from unbraid.metrics.statistics import Statistics

ESTIMATORS = ("exact", "quantised", "means_histogram", "sampled")
METRICS = (MIG, RMIG, JEMMIG, Modularity)


def codes_of(num_images, seed=0):
    """A factor of three values, read through noise by one latent and through more noise by another."""
    generator = torch.Generator().manual_seed(seed)
    labels = [torch.randint(0, size, (num_images,), generator=generator) for size in (3, 2)]
    noise = torch.randn(num_images, 2, dtype=torch.float64, generator=generator)
    mean = torch.stack(
        [labels[0] - 1 + 0.4 * noise[:, 0], labels[1] - 0.5 + 0.3 * labels[0] + 0.5 * noise[:, 1]], dim=1
    )
    return Codes(mean, torch.full_like(mean, 0.2), factors=(Labels("a", labels[0]), Labels("b", labels[1])))


def half_width(score):
    """Downwards: upwards an interval may be cut off at 1."""
    return score.value - score.interval[0]


# Intervals


def test_an_interval_is_the_spread_over_other_samples_of_images():
    """60 samples of 1000 images: their standard deviation, known to 9 %, is the standard error that each of them
    claims, to 25 %.

    Not of 300 images: there the modularity of these codes has a long lower tail (kurtosis 4 to 11), which a method of
    first order does not see, and the spread of 60 samples is itself known to 20 % only.
    """
    shared = [Statistics(codes_of(1000, seed)) for seed in range(60)]
    for metric in METRICS:
        scores = [metric("quantised", num_bins=20).of(statistics) for statistics in shared]
        spread = torch.tensor([score.value for score in scores]).std()
        claimed = torch.tensor([half_width(score) for score in scores]).mean() / 1.96
        assert float(claimed) == pytest.approx(float(spread), rel=0.25), metric


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_an_interval_narrows_with_the_root_of_the_number_of_images(estimator):
    metric = MIG(estimator, num_samples=20_000) if estimator == "sampled" else MIG(estimator)
    few, many = metric(codes_of(250)), metric(codes_of(4000))
    assert half_width(few) / half_width(many) == pytest.approx(4, rel=0.25)


def test_repeated_images_narrow_it_exactly():
    codes = codes_of(200)
    index = torch.arange(200).repeat(4)
    factors = tuple(dataclasses.replace(f, values=f.values[index]) for f in codes.factors)
    repeated = Codes(codes.mean[index], codes.std[index], factors=factors)
    for metric in METRICS:
        assert half_width(metric()(codes)) == pytest.approx(2 * half_width(metric()(repeated)))


def test_exact_and_quantised_estimators_have_nearly_the_same_interval():
    codes = codes_of(500)
    assert half_width(MIG()(codes)) == pytest.approx(half_width(MIG("quantised")(codes)), rel=0.05)


def test_sampling_widens_it_by_the_error_of_the_draws():
    codes = codes_of(500)
    exact, few, many = (
        half_width(MIG()(codes)),
        *(half_width(MIG("sampled", num_samples=n)(codes)) for n in (500, 50_000)),
    )
    assert few > 1.1 * exact
    assert many == pytest.approx(exact, rel=0.03)


def test_the_sampled_estimate_misses_quadrature_by_its_monte_carlo_error():
    """Over 60 seeds, the spread of the value is what the draws add to the variance."""
    codes = codes_of(300)
    truth = MIG()(codes)
    scores = [MIG("sampled", num_samples=1000, seed=seed)(codes) for seed in range(60)]
    added = math.sqrt(half_width(scores[0]) ** 2 - half_width(truth) ** 2) / 1.96
    missed = torch.tensor([score.value - truth.value for score in scores])
    # Every image is drawn three or four times: less spread than that of independent draws, which the interval assumes.
    assert 0.5 * added < float(missed.square().mean().sqrt()) < 1.25 * added


def test_every_part_has_an_interval():
    for metric in (RMIG, JEMMIG):
        for estimator in ESTIMATORS:
            part = metric(estimator)(random_codes(0)).parts["unnormalised"]
            assert part.interval[0] < part.value < part.interval[1]


def test_a_factor_known_nowhere_leaves_the_interval_of_the_others():
    codes = random_codes(0)
    unknown = Labels("lost", torch.arange(30), known=torch.zeros(30, dtype=torch.bool))
    for metric in METRICS:
        with pytest.warns(UserWarning, match="lost"):
            score = metric()(dataclasses.replace(codes, factors=(*codes.factors, unknown)))
        assert score.interval == pytest.approx(metric()(codes).interval)


# Settled


def test_wide_posteriors_are_settled_and_two_bins_are_not():
    codes = codes_of(2000)
    assert RMIG()(codes).settled is True
    score = RMIG(num_bins=2, low=-2.0, high=2.0)(codes)
    assert score.settled is False
    assert "4 bins in place of 2" in score.notes[0]


def test_binned_means_are_settled_where_more_bins_say_the_same():
    assert MIG("means_histogram")(grid()).settled in (True, False)
    score = MIG("means_histogram", num_bins=2)(codes_of(2000))
    assert score.settled is False
    assert "4 bins in place of 2" in score.notes[0]


def test_there_is_nothing_to_refine_in_quadrature():
    assert MIG()(grid()).settled is None


def test_draws_that_agree_with_their_first_half_are_settled():
    codes = codes_of(300)
    assert MIG("sampled")(codes).settled is True
    # First the images in their order, each at its mean; then all at a place where nothing is told apart.
    z = torch.cat([codes.mean, torch.full_like(codes.mean, 0.3)])
    score = MIG("sampled").of(Statistics(codes, draws=Draws.of(z, torch.arange(300).repeat(2))))
    assert score.settled is False
    assert "first half of the draws" in score.notes[0]


# Settings and what is accepted


def test_scores_are_the_same_for_the_same_seed_and_differ_for_another():
    codes = codes_of(100)
    assert MIG("sampled", num_samples=50)(codes).value == MIG("sampled", num_samples=50)(codes).value
    assert MIG("sampled", num_samples=50, seed=1)(codes).value != MIG("sampled", num_samples=50)(codes).value


@pytest.mark.parametrize("metric", METRICS)
def test_tables_keep_what_the_value_was_computed_from(metric):
    score = metric()(random_codes(0))
    assert score.metric == metric.__name__
    assert score.tables["mutual_information"].shape == score.tables["joint_entropy"].shape == (3, 2)
    assert {"latent_entropy", "latent_entropy_given_image", "factor_entropy"} < set(score.tables)


def test_soft_labels_are_taken_but_by_the_sampled_estimator():
    codes = grid()
    soft = dataclasses.replace(
        codes, factors=(Labels("v", torch.nn.functional.one_hot(codes.factors[0].values).double()),)
    )
    for estimator in ESTIMATORS[:3]:
        assert MIG(estimator)(soft).per_factor["v"] == pytest.approx(MIG(estimator)(codes).per_factor["v"])
    with pytest.raises(CodesError, match=r"soft labels \(v\)"):
        MIG("sampled")(soft)


def test_binned_means_need_no_std():
    codes = random_codes(0)
    assert MIG("means_histogram")(dataclasses.replace(codes, std=None)).value == MIG("means_histogram")(codes).value
