"""The mutual information gap: known answers, invariances, and what it refuses."""

import dataclasses
import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from unbraid.codes import Codes, Labels
from unbraid.errors import CodesError, SpecError
from unbraid.information.posteriors import Draws
from unbraid.metrics.estimators import Exact, MeansHistogram, Neighbors, Quantized, Sampled
from unbraid.metrics.mig import MIG
from unbraid.metrics.reductions.statistics import Statistics

ESTIMATORS = (Exact(), Quantized(), MeansHistogram())  # all but the sampled one, which is known to its error only


def grid(std=0.05, num_noise=0):
    """Four values times five, each read off one latent of its own; then latents that say nothing."""
    v, w = (part.flatten() for part in torch.meshgrid(torch.arange(4), torch.arange(5), indexing="ij"))
    mean = torch.stack([v - 1.5, (w - 2) * 0.8, *[torch.zeros(20)] * num_noise], dim=1).double()
    widths = torch.full_like(mean, std)
    widths[:, 2:] = 1.0
    return Codes(mean, widths, factors=(Labels("v", v), Labels("w", w)))


def random_codes(seed, num_latents=3):
    generator = torch.Generator().manual_seed(seed)
    labels = [torch.randint(0, size, (30,), generator=generator) for size in (2, 4)]
    mean = torch.randn(30, num_latents, dtype=torch.float64, generator=generator)
    mean[:, 0] += labels[0]
    std = torch.exp(torch.randn(30, num_latents, dtype=torch.float64, generator=generator) / 2 - 1)
    return Codes(mean, std, factors=tuple(Labels(name, y) for name, y in zip("ab", labels, strict=True)))


def rows(codes, index):
    factors = tuple(dataclasses.replace(f, values=f.values[index]) for f in codes.factors)
    return dataclasses.replace(codes, mean=codes.mean[index], std=codes.std[index], factors=factors)


def latents(codes, index):
    return dataclasses.replace(codes, mean=codes.mean[:, index], std=codes.std[:, index])


# Known answers


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_one_latent_for_each_factor_scores_one(estimator):
    score = MIG(estimator)(grid())
    assert score.value == pytest.approx(1, abs=1e-3)
    assert score.per_factor == pytest.approx({"v": 1, "w": 1}, abs=1e-3)
    torch.testing.assert_close(
        score.tables["mutual_information"], torch.diag(torch.tensor([4.0, 5.0]).log()).double(), atol=5e-3, rtol=0
    )
    torch.testing.assert_close(score.tables["factor_entropy"], torch.tensor([4.0, 5.0]).log().double())


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_a_rotated_code_scores_zero(estimator):
    codes = grid()
    turn = torch.tensor([[1.0, -1.0], [1.0, 1.0]], dtype=torch.float64) / math.sqrt(2)
    # A grid that is its own mirror image: both latents say equally much of each factor.
    square = dataclasses.replace(codes, mean=codes.mean @ turn)
    assert MIG(estimator)(square).value == pytest.approx(0, abs=0.05)


@pytest.mark.parametrize("estimator", [Exact(), Quantized()])
def test_posteriors_equal_to_the_prior_score_zero(estimator):
    codes = grid()
    collapsed = Codes(torch.zeros_like(codes.mean), torch.ones_like(codes.mean), factors=codes.factors)
    assert MIG(estimator)(collapsed).value == pytest.approx(0, abs=1e-12)


def test_the_normalizer_is_the_entropy_of_the_labels_as_they_are():
    """A 10/90 factor read without error scores 1; with log 2 in place of H(v), as in the authors' code, it would score
    0.47.
    """
    labels = (torch.arange(50) < 5).long()
    codes = Codes(
        labels[:, None].double(), torch.full((50, 1), 0.01, dtype=torch.float64), factors=(Labels("v", labels),)
    )
    assert MIG()(codes).value == pytest.approx(1)


def test_a_noisy_mean_counts_for_the_histogram_alone():
    """A latent whose posterior is all but the prior takes half the score from binned means and nothing from the
    estimators that see its width.
    """
    codes = grid(num_noise=1)
    noise = 1e-3 * torch.randn(20, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    codes.mean[:, 2] = noise
    assert MIG(Exact())(codes).value == pytest.approx(1, abs=1e-3)
    assert MIG(MeansHistogram())(codes).value < 0.7


def test_the_authors_code_counts_every_value_once():
    """Their normalizer is log |V| and their H(z | v) a plain mean over values: on a 10/90 factor, H(v) / log 2 = 0.47
    in place of 1.

    The same factor with a blurred reading shows the other half: z is 0 or 1 by the label, with std 0.01 where v = 0 and
    1 where v = 1.
    """
    labels = (torch.arange(50) < 5).long()
    std = torch.full((50, 1), 0.01, dtype=torch.float64)
    codes = Codes(labels[:, None].double(), std, factors=(Labels("v", labels),))
    h = -(0.1 * math.log(0.1) + 0.9 * math.log(0.9))
    assert MIG(value_weights="uniform")(codes).value == pytest.approx(h / math.log(2))
    std[labels == 1] = 1.0
    score = MIG(value_weights="uniform")(codes)
    narrow, wide = (0.5 * math.log(2 * math.pi * math.e * s**2) for s in (0.01, 1.0))
    expected = (float(score.tables["latent_entropy"]) - (narrow + wide) / 2) / math.log(2)
    assert score.value == pytest.approx(max(expected, 0), abs=1e-9)
    # 10 or 90 of 100 values were wide: the mixture's entropy is near that of the frequent one, and the plain mean is
    # far from it.
    assert MIG()(codes).value > 0.5 > score.value


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_for_balanced_factors_the_authors_code_agrees(estimator):
    codes = grid(std=0.4)
    assert MIG(estimator, value_weights="uniform")(codes).value == pytest.approx(MIG(estimator)(codes).value)


def test_the_sampled_estimate_agrees_with_quadrature_within_its_interval():
    codes = grid(std=0.4)
    score = MIG(Sampled(num_samples=4000))(codes)
    low, high = score.interval
    assert low < MIG()(codes).value < high
    assert score.value != MIG()(codes).value


def test_the_sampled_estimator_takes_draws():
    """One draw for each image, at its mean: the averages are over exactly these points."""
    codes = grid(std=0.4)
    score = MIG(Sampled()).of(Statistics(codes, draws=Draws.of(codes.mean, torch.arange(20))))
    density = torch.distributions.Normal(codes.mean, codes.std).log_prob(codes.mean[:, None]).exp()
    torch.testing.assert_close(score.tables["latent_entropy"], -density.mean(dim=1).log().mean(dim=0))


def test_deterministic_codes_are_scored_in_bins():
    codes = grid(std=0.0)
    assert MIG(Quantized())(codes).value == pytest.approx(1)


def test_settings_of_a_score_are_those_that_mattered():
    own = {"value_weights": "frequency"}
    assert MIG()(grid()).settings == own | {"estimator": "exact", "quadrature": "direct"}
    assert MIG(MeansHistogram())(grid()).settings == own | {"estimator": "means_histogram", "num_bins": 20}
    bins = {"num_bins": 100, "low": -4.0, "high": 4.0, "masses": "erf_edge"}
    assert MIG(Quantized())(grid()).settings == own | {"estimator": "quantized"} | bins
    assert MIG(Sampled(num_samples=50))(grid()).settings == own | {
        "estimator": "sampled",
        "num_samples": 50,
        "seed": 0,
    }


def test_settings_of_a_score_say_that_draws_were_given():
    codes = grid()
    given = MIG(Sampled(num_samples=50)).of(Statistics(codes, draws=Draws.of(codes.mean, torch.arange(20)))).settings
    assert (given["num_samples"], given["seed"]) == (20, None)


# Bugs of other libraries


def by_hand(codes, points):
    """MIG from one point of each latent (rows) for each image: mean_n log(q(z_j | v) / q(z_j)), one Gaussian at a
    time.
    """
    gaps = []
    for labels in (f.values.tolist() for f in codes.factors):
        table = []
        for j, row in enumerate(points.tolist()):
            total = 0.0
            for z, own in zip(row, labels, strict=True):
                density = [
                    math.exp(-0.5 * ((z - m) / s) ** 2) / s
                    for m, s in zip(codes.mean[:, j].tolist(), codes.std[:, j].tolist(), strict=True)
                ]
                alike = [d for d, label in zip(density, labels, strict=True) if label == own]
                total += math.log(sum(alike) / len(alike)) - math.log(sum(density) / len(density))
            table.append(max(0.0, total / len(labels)))
        counts = torch.tensor([labels.count(value) for value in set(labels)]).double() / len(labels)
        best, second = sorted(table, reverse=True)[:2]
        gaps.append((best - second) / float(-(counts * counts.log()).sum()))
    return sum(gaps) / len(gaps)


@pytest.mark.parametrize("seed", range(3))
def test_draws_are_neither_reshaped_nor_replaced_by_means(seed):
    """disentangling-vae views (image, latent) as (latent, image), which mixes up the axes, and in evaluation mode its
    draws are means.
    """
    codes = random_codes(seed)
    z = codes.mean + codes.std * torch.randn(30, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))
    score = MIG(Sampled()).of(Statistics(codes, draws=Draws.of(z, torch.arange(30))))
    assert score.value == pytest.approx(by_hand(codes, z.T), abs=1e-9)
    assert abs(by_hand(codes, z.reshape(3, 30)) - score.value) > 0.01
    assert abs(by_hand(codes, codes.mean.T) - score.value) > 0.01


@pytest.mark.parametrize("estimator", [*ESTIMATORS, Sampled()])
def test_factors_are_never_put_into_bins(estimator):
    """Some put factors into 20 bins along with the latents: an orientation of 40 values keeps its log 40 here."""
    labels = torch.arange(80) % 40
    codes = Codes(labels[:, None] / 5 - 4.0 + 0.1, torch.full((80, 1), 0.01), factors=(Labels("orientation", labels),))
    score = MIG(estimator)(dataclasses.replace(codes, mean=codes.mean.double(), std=codes.std.double()))
    assert score.tables["factor_entropy"].tolist() == pytest.approx([math.log(40)])


def test_a_score_names_the_factors_that_it_averages():
    """Chen et al. leave the shape out, others do not: the two numbers differ, and each says of what it is."""
    codes = random_codes(0)
    shape, rest = (dataclasses.replace(f, name=name) for f, name in zip(codes.factors, ("shape", "scale"), strict=True))
    both, without = (MIG()(dataclasses.replace(codes, factors=factors)) for factors in ((shape, rest), (rest,)))
    assert list(both.per_factor) == ["shape", "scale"]
    assert list(without.per_factor) == ["scale"]
    assert both.per_factor["scale"] == pytest.approx(without.per_factor["scale"])
    assert both.value != pytest.approx(without.value, abs=0.01)


# Laws


@settings(max_examples=8)
@given(seed=st.integers(0, 100), scale=st.floats(0.01, 100), shift=st.floats(-10, 10))
def test_binned_means_ignore_scale_and_offset_of_each_latent(seed, scale, shift):
    """The bins span the range of each latent, so they move with it."""
    codes = random_codes(seed)
    moved = dataclasses.replace(
        codes, mean=codes.mean * torch.tensor([scale, -scale, 1.0]) + torch.tensor([shift, 0.0, -shift])
    )
    assert MIG(MeansHistogram())(moved).value == pytest.approx(MIG(MeansHistogram())(codes).value, abs=1e-9)


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_two_copies_of_every_latent_leave_no_gap(estimator):
    assert MIG(estimator)(latents(grid(), [0, 1, 0, 1])).value == pytest.approx(0, abs=1e-9)


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_float32_scores_the_same(estimator):
    codes = random_codes(1)
    single = dataclasses.replace(codes, mean=codes.mean.float(), std=codes.std.float())
    assert MIG(estimator)(single).value == pytest.approx(MIG(estimator)(codes).value, abs=2e-4)


def test_a_covariance_counts_by_its_diagonal():
    codes = random_codes(3)
    covariance = torch.diag_embed(codes.std**2)
    covariance[:, 0, 1] = covariance[:, 1, 0] = 0.1
    correlated = dataclasses.replace(codes, std=None, covariance=covariance)
    assert MIG()(correlated).value == pytest.approx(MIG()(codes).value, abs=1e-9)


@pytest.mark.parametrize("estimator", [*ESTIMATORS, Sampled()])
def test_discrete_latents_count_like_others(estimator):
    """A third latent that names the first factor: two latents now tell it, and its gap is gone."""
    codes = grid()
    table = torch.nn.functional.one_hot(codes.factors[0].values).double()
    score = MIG(estimator)(dataclasses.replace(codes, probabilities=(table,)))
    assert score.tables["mutual_information"].shape == (3, 2)
    assert score.per_factor == pytest.approx({"v": 0, "w": 1}, abs=1e-3)


def test_discrete_latents_may_be_the_only_ones():
    codes = grid()
    tables = tuple(torch.nn.functional.one_hot(f.values).double() for f in codes.factors)
    for estimator in (*ESTIMATORS, Sampled()):
        score = MIG(estimator)(
            Codes.from_arrays(probabilities=tables, factors={f.name: f.values for f in codes.factors})
        )
        assert score.value == pytest.approx(1)


def test_draws_without_densities_are_counted_in_bins():
    codes = grid()
    noise = torch.randn(50, 20, 2, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    drawn = dataclasses.replace(codes, std=None, samples=codes.mean + 0.05 * noise)
    # 1000 draws in some 20 bins leave the wrong latent about 0.03 nats.
    assert MIG(Quantized())(drawn).value == pytest.approx(1, abs=0.03)


# What it refuses and warns of


def test_no_varying_factor_is_refused():
    codes = dataclasses.replace(grid(), factors=(Labels("still", torch.zeros(20, dtype=torch.int64)),))
    with pytest.raises(CodesError, match="1 factors"):
        MIG()(codes)


def test_codes_without_factors_are_refused():
    with pytest.raises(CodesError, match="no factors"):
        MIG()(dataclasses.replace(grid(), factors=()))


@pytest.mark.parametrize("estimator", [Exact(), Quantized(), Sampled()])
def test_codes_of_means_alone_are_refused_with_advice(estimator):
    with pytest.raises(CodesError, match="log_var"):
        MIG(estimator)(dataclasses.replace(grid(), std=None))


def test_a_std_of_zero_is_refused_by_the_exact_estimator():
    with pytest.raises(CodesError, match="quantized estimator"):
        MIG()(grid(std=0.0))


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: MIG("quantized"), "estimator is 'quantized'"),
        (lambda: MIG(value_weights="log"), "frequency, uniform"),
        (lambda: Sampled(1), "num_samples is 1"),
        (lambda: Exact(quadrature="fast"), "auto, direct, binned"),
        (lambda: Quantized(masses="erf"), "erf_edge, erf_renorm, rectangle"),
        (lambda: Quantized(1), r"num_bins is 1"),
        (lambda: MeansHistogram(1), "num_bins is 1"),
        (lambda: Quantized(low=4.0, high=-4.0), r"Bins: low is 4\.0 and high is -4\.0"),
        (lambda: Neighbors(k=0), "k is 0"),
        (lambda: MIG(Neighbors(), value_weights="uniform"), "MIG: the estimator is Neighbors"),
    ],
)
def test_impossible_settings_are_refused(build, message):
    with pytest.raises(SpecError, match=message):
        build()
