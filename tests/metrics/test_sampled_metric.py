"""What all metrics of joint entropies share: one pass, intervals, and a word on whether more draws are needed."""

import dataclasses
import math
import statistics as stats

import pytest
import torch

from tests.metrics.latent_codes import correlated_codes, random_codes
from unbraid.codes import Codes, Labels
from unbraid.errors import CodesError, SpecError
from unbraid.information.posteriors import Draws
from unbraid.metrics.elbo_decomposition import ELBODecomposition
from unbraid.metrics.estimators import Sampled
from unbraid.metrics.estimators import sampled as sampled_module
from unbraid.metrics.indin import INDIN
from unbraid.metrics.informativeness import Informativeness
from unbraid.metrics.lemma2_gap import Lemma2Gap
from unbraid.metrics.reductions.statistics import Statistics
from unbraid.metrics.separability import Separability
from unbraid.metrics.sepin import SEPIN

EVERY = (Informativeness, Separability, SEPIN, INDIN, ELBODecomposition, Lemma2Gap)


def test_one_pass_serves_all_metrics(monkeypatch):
    calls = []
    compute = sampled_module.log_densities

    def counted(*args, **kwargs):
        calls.append(args)
        return compute(*args, **kwargs)

    monkeypatch.setattr(sampled_module, "log_densities", counted)
    shared = Statistics(random_codes(0))
    for metric in EVERY:
        for conditional in ("analytic", "mc"):
            metric(Sampled(num_samples=50), conditional=conditional).of(shared)
    assert len(calls) == 1


@pytest.mark.parametrize("metric", EVERY)
@pytest.mark.parametrize("conditional", ["analytic", "mc"])
def test_every_number_has_an_interval_around_it(metric, conditional):
    score = metric(Sampled(num_samples=100), conditional=conditional)(random_codes(1))
    for found in (score, *score.parts.values()):
        assert found.interval is not None
        assert found.interval[0] <= found.value <= found.interval[1]
    assert score.settings["num_samples"] == 100


@pytest.mark.parametrize("metric", [Informativeness, Separability, SEPIN])
@pytest.mark.parametrize("conditional", ["analytic", "mc"])
def test_the_interval_is_as_wide_as_the_spread_of_other_samples(metric, conditional):
    """Fresh images and fresh draws: the standard error is at least their spread, and not twice as much. (A spread of 40
    values is known to a ninth.)
    """
    scores = [
        metric(Sampled(num_samples=100, seed=seed), conditional=conditional)(random_codes(seed, num_images=100))
        for seed in range(40)
    ]
    spread = stats.stdev(score.value for score in scores)
    error = stats.mean((score.interval[1] - score.interval[0]) / 2 / 1.96 for score in scores)
    assert 0.75 * spread < error < 2 * spread


@pytest.mark.parametrize("metric", EVERY)
def test_a_seed_makes_one_score(metric):
    codes = random_codes(2)
    again = metric(Sampled(num_samples=64, seed=3))
    assert again(codes).value == again(codes).value
    assert again(codes).value != metric(Sampled(num_samples=64, seed=4))(codes).value


def test_draws_that_disagree_are_not_settled():
    """The first half of these draws comes from one image, the second from another one, far narrower."""
    codes = Codes(
        torch.tensor([[0.0], [100.0]], dtype=torch.float64), torch.tensor([[1.0], [1e-6]], dtype=torch.float64)
    )
    image = torch.arange(2).repeat_interleave(500)
    z = codes.mean[image] + codes.std[image] * torch.randn(
        1000, 1, dtype=torch.float64, generator=torch.Generator().manual_seed(0)
    )
    many = dataclasses.replace(codes, mean=codes.mean.repeat(5000, 1), std=codes.std.repeat(5000, 1))
    score = Informativeness(conditional="analytic").of(Statistics(many, draws=Draws.of(z, image)))
    assert score.settled is False
    assert "first half" in score.notes[0]
    mixed = torch.randperm(1000, generator=torch.Generator().manual_seed(1))
    assert Informativeness().of(Statistics(many, draws=Draws.of(z[mixed], image[mixed]))).settled is True


@pytest.mark.parametrize("metric", EVERY)
def test_labels_are_not_read(metric):
    codes = random_codes(0)
    labels = (
        Labels("angle", torch.linspace(0, 1, 30)),
        Labels("soft", torch.full((30, 2), 0.5)),
        Labels("still", torch.zeros(30).long()),
    )
    labeled = dataclasses.replace(codes, factors=labels)
    assert metric(Sampled(num_samples=50))(labeled).value == metric(Sampled(num_samples=50))(codes).value


@pytest.mark.parametrize("metric", EVERY)
def test_weights_discrete_latents_and_covariances_are_taken(metric):
    codes = correlated_codes(0)
    table = torch.rand(30, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    mixed = dataclasses.replace(
        codes, weights=torch.arange(1.0, 31.0), probabilities=(table / table.sum(1, keepdim=True),)
    )
    assert math.isfinite(metric(Sampled(num_samples=50))(mixed).value)


@pytest.mark.parametrize("metric", EVERY)
def test_weights_count_like_repetitions(metric):
    """With the same draws: the image with weight 2 stands for two."""
    codes = random_codes(0, num_images=4)
    repeats = torch.tensor([0, 1, 1, 2, 3, 3, 3])
    draws = Draws.of(codes.mean[[0, 1, 2, 3, 1]] + 0.1, torch.tensor([0, 1, 2, 3, 1]))
    weighted = dataclasses.replace(codes, weights=torch.tensor([1.0, 2.0, 1.0, 3.0]))
    repeated = Codes(codes.mean[repeats], codes.std[repeats])
    moved = Draws.of(draws.z, torch.tensor([0, 1, 3, 4, 1]))
    found, expected = metric().of(Statistics(weighted, draws=draws)), metric().of(Statistics(repeated, draws=moved))
    assert found.value == pytest.approx(expected.value, abs=1e-9)


@pytest.mark.parametrize("metric", EVERY)
def test_float32_scores_the_same(metric):
    codes = random_codes(0)
    single = dataclasses.replace(codes, mean=codes.mean.float(), std=codes.std.float())
    assert metric(Sampled(num_samples=100))(single).value == pytest.approx(
        metric(Sampled(num_samples=100))(codes).value, abs=2e-4
    )


@pytest.mark.parametrize("metric", EVERY)
def test_a_std_of_zero_is_refused_with_advice(metric):
    codes = random_codes(0)
    codes.std[3, 1] = 0
    with pytest.raises(CodesError, match="quantized estimator"):
        metric(Sampled(num_samples=50))(codes)


@pytest.mark.parametrize("metric", EVERY)
def test_means_alone_are_refused(metric):
    with pytest.raises(CodesError, match="means without std"):
        metric()(dataclasses.replace(random_codes(0), std=None))


@pytest.mark.parametrize("metric", EVERY)
@pytest.mark.parametrize(
    ("arguments", "message"),
    [({"conditional": "exact"}, "expected one of analytic, mc")],
)
def test_impossible_settings_are_refused(metric, arguments, message):
    with pytest.raises(SpecError, match=message):
        metric(**arguments)
