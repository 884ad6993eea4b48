"""What metrics share: computed once, and on a subset where that will do."""

import math
from dataclasses import replace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.metrics.test_mig import grid, random_codes, rows
from unbraid._internal.progress import listening
from unbraid.codes import Codes, Labels
from unbraid.errors import CodesError
from unbraid.information.posteriors import Draws
from unbraid.metrics.estimators import Exact, MeansHistogram, Neighbors, Quantized, Sampled
from unbraid.metrics.jemmig import JEMMIG
from unbraid.metrics.mig import MIG
from unbraid.metrics.reductions import statistics as module
from unbraid.metrics.reductions.statistics import Statistics
from unbraid.metrics.rmig import RMIG


def test_what_is_asked_for_twice_is_computed_once():
    statistics = Statistics(random_codes(0))
    for estimator in (Exact(), Quantized(20), MeansHistogram(20), Sampled(10), Neighbors()):
        assert estimator.information(statistics) is replace(estimator).information(statistics)
    assert Quantized(20).information(statistics) is not Quantized(21).information(statistics)
    assert statistics.draws(10, 0) is statistics.draws(10, 0)
    assert Sampled(10).log_densities(statistics) is Sampled(10).log_densities(statistics)
    calls = []
    assert [statistics.once("key", lambda: calls.append(1)) for _ in range(2)] == [None, None]
    assert calls == [1]


def test_weights_are_probabilities():
    codes = replace(random_codes(0), weights=torch.arange(1.0, 31.0).double())
    statistics = Statistics(codes)
    assert float(statistics.weights.sum()) == pytest.approx(1)
    assert statistics.num_effective_images == pytest.approx(465**2 / (torch.arange(1, 31) ** 2).sum())
    assert Statistics(random_codes(0)).num_effective_images == pytest.approx(30)


def test_a_factor_varies_where_it_is_known_and_an_image_can_occur():
    codes = grid()
    values = torch.arange(20) % 2
    first = torch.arange(20) == 0
    factors = (
        Labels("yes", values),
        Labels("known once", values, known=first),
        Labels("soft", torch.full((20, 2), 0.5)),
        Labels("soft but constant", torch.tensor([[1.0, 0.0]]).repeat(20, 1)),
        Labels("one off", (torch.arange(20) == 3).long()),
        Labels("known nowhere", values, known=torch.zeros(20, dtype=torch.bool)),
        Labels("measured", torch.linspace(0, 1, 20)),
    )
    assert Statistics(replace(codes, factors=factors)).varies == (
        True,
        False,
        True,
        False,
        True,
        False,
        True,
    )
    weights = (torch.arange(20) != 3).double()
    assert Statistics(replace(codes, factors=factors, weights=weights)).varies[4] is False


def test_given_draws_take_the_place_of_all_others():
    codes = random_codes(0)
    draws = Draws.of(codes.mean, torch.arange(30))
    assert Statistics(codes, draws=draws).draws(5, 7) is draws
    assert len(Sampled(5, 7).log_densities(Statistics(codes, draws=draws)).joint) == 30


def test_draws_come_from_their_images():
    codes = replace(random_codes(0), probabilities=(torch.eye(2).double()[torch.arange(30) % 2],))
    draws = Statistics(codes).draws(3000, 0)
    assert bool((draws.categories[:, 0] == draws.image % 2).all())
    deviation = (draws.z - codes.mean[draws.image]) / codes.std[draws.image]
    assert float(deviation.square().mean()) == pytest.approx(1, abs=0.1)
    assert torch.bincount(draws.image).tolist() == [100] * 30  # equally likely images are dealt evenly
    weighted = Statistics(replace(codes, weights=(torch.arange(30) < 3).double())).draws(100, 0)
    assert int(weighted.image.max()) == 2


def test_a_subset_is_of_the_same_codes(monkeypatch):
    codes = replace(random_codes(0), weights=torch.ones(30).double(), probabilities=(torch.full((30, 2), 0.5),))
    statistics = Statistics(codes)
    assert statistics.subset() is statistics
    monkeypatch.setattr(module, "MAX_INFLUENCE_ROWS", 12)
    some = Statistics(codes).subset()
    rows = Statistics(codes).influence_sample.rows
    assert len(some.codes) == len(rows) == 12
    assert torch.equal(some.codes.mean, codes.mean[rows])
    assert torch.equal(some.codes.factors[1].values, codes.factors[1].values[rows])
    assert some.codes.probabilities[0].shape == (12, 2)


def test_factors_with_too_many_values_for_a_table_are_refused_with_their_number():
    labels = (Labels("few", torch.arange(20_001) % 2), Labels("many", torch.arange(20_001)))
    codes = Codes(torch.zeros(20_001, 1), torch.ones(20_001, 1), factors=labels)
    for metric in (MIG(), JEMMIG()):
        with pytest.raises(CodesError, match="The factors have 20,003 values in total, 20,001 of them 'many'"):
            metric(codes)


def blurred(num_images, seed=0, *, known=None):
    """A latent that follows a factor of three values, and one of noise; some labels may be missing."""
    generator = torch.Generator().manual_seed(seed)
    labels = torch.randint(0, 3, (num_images,), generator=generator)
    mean = torch.randn(num_images, 2, dtype=torch.float64, generator=generator) / 2
    mean[:, 0] += labels
    return Codes(mean, torch.full_like(mean, 0.4), factors=(Labels("v", labels, known=known),))


def half_width(score):
    low, high = score.interval
    return (high - low) / 2


@pytest.mark.parametrize("metric", [MIG(), RMIG()])
def test_images_without_weight_do_not_change_an_interval(metric):
    """p(n) on 12 of 60,000 images: the sample of images is drawn from p, and finds them."""
    codes = blurred(60_000)
    weighted = metric(replace(codes, weights=(torch.arange(60_000) % 5_000 == 7).double()))
    alone = metric(rows(codes, torch.arange(7, 60_000, 5_000)))
    assert weighted.value == pytest.approx(alone.value, abs=1e-3)  # quadrature of many images is binned
    # 4,000 images of 12 kinds; bins of influences span the range of the same 12 images.
    assert half_width(weighted) == pytest.approx(half_width(alone), rel=0.25)
    assert not any("nan" in note for note in weighted.notes)
    assert weighted.settled == alone.settled


@pytest.mark.parametrize("metric", [MIG(), MIG(Sampled(num_samples=100)), RMIG(Exact()), JEMMIG(Exact())])
def test_a_value_that_no_sampled_image_has_does_not_change_an_interval(monkeypatch, metric):
    """The greatest value of a factor is that of one image without weight, so the sample cannot meet it."""
    monkeypatch.setattr(module, "MAX_INFLUENCE_ROWS", 200)
    weights = torch.ones(300, dtype=torch.float64).index_fill_(0, torch.tensor([7]), 0.0)
    codes = replace(blurred(300), weights=weights)
    labels = codes.factors[0].values.clone().index_fill_(0, torch.tensor([7]), 3)
    with_rare = metric(replace(codes, factors=(Labels("v", labels),)))
    assert with_rare.value == pytest.approx(metric(codes).value, abs=1e-12)
    assert with_rare.interval == pytest.approx(metric(codes).interval, abs=1e-12)


def test_a_value_of_one_image_in_ten_thousand_is_scored():
    """The sample of 4,000 images misses it, and it moves the gap by less than its share of the entropy."""
    codes = blurred(10_000)
    labels = codes.factors[0].values.clone().index_fill_(0, torch.tensor([7]), 3)
    rare = MIG()(replace(codes, factors=(Labels("v", labels),)))
    assert 7 not in Statistics(codes).influence_sample.rows
    assert rare.value == pytest.approx(MIG()(codes).value, abs=1e-3)
    assert half_width(rare) == pytest.approx(half_width(MIG()(codes)), rel=0.01)


@pytest.mark.parametrize("metric", [MIG(), RMIG()])
def test_a_factor_known_in_few_images_has_the_interval_of_those(metric):
    """100 labels among 100,000 images: a uniform sample of 4,000 would meet four of them."""
    known = torch.arange(100_000) % 1_000 == 3
    codes = blurred(100_000, known=known)
    only = rows(replace(codes, factors=(replace(codes.factors[0], known=None),)), known.nonzero()[:, 0])
    partly, alone = metric(codes), metric(only)
    # About 2,000 of the sample are of the 100, so its spread is known to some 5 %; bins span another range.
    assert half_width(partly) == pytest.approx(half_width(alone), rel=0.3)
    assert partly.settled == alone.settled


@settings(max_examples=5)
@given(seed=st.integers(0, 100))
def test_a_sample_of_images_has_the_standard_error_of_all(seed):
    """sum_n p(n)^2 f(n)^2 is estimated without bias from images drawn from r(n), whatever p(n)."""
    p = torch.rand(5_000, dtype=torch.float64, generator=torch.Generator().manual_seed(seed)) ** 2
    codes = replace(blurred(5_000, seed), weights=p)

    def errors(max_rows):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(module, "MAX_INFLUENCE_ROWS", max_rows)
            found = Quantized(20).influences(Statistics(codes))["mutual_information"]
        return found.square().mean(dim=0).sqrt() / math.sqrt(5_000)

    # 500 rows know a spread to 1 / sqrt(1000) = 3 % where deviations are normal, and less well where they are skewed:
    # of these 101 seeds four are off by more than 15 %, the worst by 17 %.
    torch.testing.assert_close(errors(500)[0], errors(5_000)[0], rtol=0.2, atol=0)


def test_fewer_factors_have_statistics_of_their_own():
    statistics = Statistics(random_codes(0))
    one = statistics.restricted(lambda labels: labels.name == "b")
    assert one.codes.factor_names == ("b",)
    assert one is statistics.restricted(lambda labels: labels.name == "b")


def test_progress_is_told():
    heard = []
    with listening(heard.append):
        Sampled(10).log_densities(Statistics(random_codes(0)))
    assert (heard[-1].about, heard[-1].share) == ("sampled densities", 1.0)


def test_codes_without_std_have_no_densities():
    with pytest.raises(CodesError, match="std or log_var"):
        Exact().information(Statistics(replace(grid(), std=None)))


def test_weights_count_up_to_scale_even_where_their_sum_overflows():
    weights = torch.tensor([1.0, 2.0, 1.0], dtype=torch.float64) * 8e307
    statistics = Statistics(Codes(torch.zeros(3, 1).double(), weights=weights))
    torch.testing.assert_close(statistics.weights, torch.tensor([0.25, 0.5, 0.25]).double())
