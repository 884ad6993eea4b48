"""Nearest neighbors: against scikit-learn, known answers, coinciding points, and what is refused."""

import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy.special import digamma
from sklearn.feature_selection import mutual_info_classif, mutual_info_regression

from tests.metrics.test_mig import grid, random_codes, rows
from unbraid._internal import row_draws
from unbraid.codes import Codes, Labels
from unbraid.errors import CodesError, SpecError
from unbraid.metrics import DCIMIG, JEMMIG, MED, MIG, RMIG, InfoMEC, Informativeness, MIGSup, Modularity
from unbraid.metrics.estimators import Exact, Neighbors
from unbraid.metrics.reductions.statistics import Statistics


def noisy_codes(num_images=400, seed=0, **changes):
    """Deterministic codes of a discrete factor and of a measured one, each read by a latent; and one of noise."""
    noise = row_draws.randn((num_images, 3), seed, "test/noise")
    values = torch.arange(num_images) % 4
    angle = row_draws.rand((num_images,), seed, "test/angle").double()
    mean = torch.stack([values + 0.5 * noise[:, 0], angle + 0.2 * noise[:, 1], noise[:, 2]], dim=1).double()
    return replace(Codes(mean, factors=(Labels("v", values), Labels("angle", angle))), **changes)


def information(estimator, codes):
    return estimator.information(Statistics(codes)).mutual_information


@pytest.mark.parametrize("k", [1, 3, 10])
def test_the_terms_are_those_of_scikit_learn(k):
    """It adds noise of 1e-10 to break ties, scales latents and measurements to a variance of 1 as we do, and clips at
    0. Without ties, and above 0, what is left is the same number.
    """
    codes = noisy_codes()
    ours = information(Neighbors(k), codes)
    x, v, angle = codes.mean.numpy(), codes.factors[0].values.numpy(), codes.factors[1].values.numpy()
    of_values = mutual_info_classif(x, v, discrete_features=False, n_neighbors=k, random_state=0)
    of_angles = mutual_info_regression(x, angle, discrete_features=False, n_neighbors=k, random_state=0)
    assert ours[:, 0].clamp(min=0).tolist() == pytest.approx(of_values.tolist(), abs=1e-9)
    assert ours[:, 1].clamp(min=0).tolist() == pytest.approx(of_angles.tolist(), abs=1e-9)
    assert float(ours[0, 0]) > 0.5 < float(ours[1, 1])


def test_a_rare_value_has_fewer_neighbors_and_one_of_a_single_image_none():
    """k is at most the number of other images of the value, and single images are left out: pair by pair. Not against
    scikit-learn, which rounds distances within such small groups to 1e-8 and miscounts.
    """
    codes = noisy_codes(60)
    values = codes.factors[0].values.clone()
    values[:2], values[7] = 9, 11
    ours = information(Neighbors(5), replace(codes, factors=(Labels("v", values),)))[0, 0]
    kept = values != 11
    z, v = codes.mean[kept, 0], values[kept]
    distance, terms = (z[:, None] - z).abs(), []
    for i in range(len(z)):
        near = distance[i][v == v[i]].sort().values
        k = min(5, len(near) - 1)
        m = (distance[i] <= near[k]).sum() - 1
        terms.append(digamma(len(z)) + digamma(k) - digamma(len(near)) - digamma(int(m)))
    assert float(ours) == pytest.approx(sum(terms) / len(terms), abs=1e-12)


def test_correlated_normals_share_what_the_formula_says():
    """I = -log(1 - rho^2) / 2; 4,000 images know it to about 0.02 nats."""
    noise, rho = row_draws.randn((4000, 2), 1, "test/normals").double(), 0.8
    codes = Codes(noise[:, :1], factors=(Labels("y", rho * noise[:, 0] + math.sqrt(1 - rho**2) * noise[:, 1]),))
    assert float(information(Neighbors(), codes)) == pytest.approx(-0.5 * math.log(1 - rho**2), abs=0.06)


def test_posteriors_with_a_width_are_read_at_a_draw_and_agree_with_quadrature():
    noise = row_draws.randn((3000, 2), 2, "test/means").double()
    values = torch.arange(3000) % 3
    codes = Codes(
        torch.stack([values + 0.3 * noise[:, 0], noise[:, 1]], dim=1),
        torch.tensor([[0.5, 0.1]]).double().expand(3000, 2),
        factors=(Labels("v", values),),
    )
    score = MIG(Neighbors())(codes)
    assert score.interval[0] < MIG(Exact())(codes).value < score.interval[1]
    assert score.value != MIG(Neighbors(seed=1))(codes).value


def test_points_that_coincide_are_counted():
    """Deterministic codes with a value for each label: the estimate is then the discrete information, exactly."""
    codes = rows(grid(std=0.0), torch.arange(20).repeat(3))
    torch.testing.assert_close(information(Neighbors(2), codes), torch.diag(torch.tensor([4.0, 5.0]).log()).double())
    assert MIG(Neighbors(2))(codes).value == pytest.approx(1)
    angle = Labels("angle", codes.factors[0].values / 7.0)
    found = information(Neighbors(2), replace(codes, factors=(angle,)))[:, 0]
    assert found.tolist() == pytest.approx([math.log(4), 0], abs=1e-12)


def test_a_constant_latent_says_nothing():
    codes = noisy_codes()
    found = information(Neighbors(), replace(codes, mean=torch.zeros_like(codes.mean)))
    torch.testing.assert_close(found, torch.zeros_like(found))


@pytest.mark.parametrize("scale", [1e-6, 1e6])
def test_scale_and_offset_of_a_latent_do_not_matter(scale):
    codes = noisy_codes()
    moved = replace(codes, mean=codes.mean * scale + 3 * scale)
    torch.testing.assert_close(information(Neighbors(), moved), information(Neighbors(), codes), atol=1e-9, rtol=0)


def test_a_factor_is_read_where_it_is_known():
    codes = noisy_codes(200)
    known = torch.arange(200) % 3 > 0
    partly = replace(codes, factors=tuple(replace(f, known=known) for f in codes.factors))
    kept = replace(
        codes, mean=codes.mean[known], factors=tuple(replace(f, values=f.values[known]) for f in codes.factors)
    )
    torch.testing.assert_close(information(Neighbors(), partly), information(Neighbors(), kept))
    assert Modularity(Neighbors())(partly).interval == pytest.approx(Modularity(Neighbors())(kept).interval)


def test_an_interval_is_the_spread_over_other_samples_of_images():
    """40 samples of 500 images: their spread, known to 11 %, is the standard error that each claims, to 35 %."""
    scores = [RMIG(Neighbors())(replace(c, factors=c.factors[:1])) for c in (noisy_codes(500, s) for s in range(40))]
    spread = float(torch.tensor([score.value for score in scores]).std())
    claimed = float(torch.tensor([score.value - score.interval[0] for score in scores]).mean()) / 1.96
    assert claimed == pytest.approx(spread, rel=0.35)


def test_fewer_neighbors_say_whether_it_is_settled():
    codes = replace(noisy_codes(2000), factors=noisy_codes(2000).factors[:1])
    assert MIG(Neighbors(4))(codes).settled is True
    score = MIG(Neighbors(400))(codes)
    assert score.settled is False
    assert "200 nearest" in score.notes[0]
    assert MIG(Neighbors(1))(codes).settled is None


@pytest.mark.parametrize("metric", [MIG, RMIG, DCIMIG, MIGSup, MED, Modularity, InfoMEC])
def test_a_value_lies_in_its_bounds_and_in_its_interval(metric):
    values = torch.stack([torch.arange(300) % 3, torch.arange(300) // 3 % 4], dim=1)
    noise = row_draws.randn((300, 2), 0, "test/bounds").double()
    factors = tuple(Labels(name, v) for name, v in zip("ab", values.unbind(1), strict=True))
    for spread in (0.01, 1.0, 30.0):
        score = metric(Neighbors())(Codes(values + spread * noise, factors=factors))
        low, high = score.interval or (score.value, score.value)
        assert 0 <= low <= score.value <= high <= 1


@pytest.mark.parametrize("metric", [MIG, RMIG, DCIMIG])
def test_more_than_there_is_to_say_counts_as_all_of_it(metric):
    """Of groups that never mix, neighbors find psi(N) - psi(N_v), which is more than the entropy."""
    values = torch.arange(300) % 3
    mean = (values + 0.01 * row_draws.randn((300,), 0, "test/bounds")).double()[:, None]
    codes = Codes(mean, factors=(Labels("v", values),))
    assert float(information(Neighbors(), codes)) > math.log(3) + 1e-3
    score = metric(Neighbors())(codes)
    assert (score.value, score.per_factor["v"], score.interval[1]) == (1, 1, 1)


def test_where_clipped_noise_decides_there_is_no_interval_and_a_note():
    """Three latents of noise, of which two seem to say less than nothing: the share of the third is 1, always."""
    found, degenerate = [], []
    for seed in range(20):
        codes = Codes(
            row_draws.randn((200, 3), seed, "test/noise").double(),
            factors=(Labels("v", torch.arange(200) % 4), Labels("w", torch.arange(200) // 4 % 5)),
        )
        score = InfoMEC(Neighbors(), active="range")(codes)
        numbers = (score, score.parts["compactness"])
        found += [number.interval for number in numbers]
        degenerate += [i for i in found if i is not None and i[1] - i[0] < 1e-6]
        is_told = any("interval is unknown" in note for note in score.notes)
        assert is_told == any(number.interval is None for number in numbers)
    assert None in found
    assert degenerate == []


def test_means_are_read_where_that_is_asked_for():
    codes = noisy_codes(100)
    wide = replace(codes, std=torch.ones_like(codes.mean))
    torch.testing.assert_close(information(Neighbors(reads="mean"), wide), information(Neighbors(), codes))
    assert not torch.equal(information(Neighbors(), wide), information(Neighbors(), codes))


def test_draws_stand_for_posteriors_without_a_density():
    codes = noisy_codes(50)
    drawn = replace(codes, mean=torch.zeros_like(codes.mean), samples=torch.stack([codes.mean, 0 * codes.mean]))
    torch.testing.assert_close(information(Neighbors(), drawn), information(Neighbors(), codes))


def test_continuous_factors_are_for_metrics_that_do_not_divide_by_their_entropy():
    codes = noisy_codes()
    assert 0.9 < Modularity(Neighbors())(codes).per_latent[0] <= 1
    with pytest.raises(CodesError, match="MIG"):
        MIG(Neighbors())(codes)


def test_metrics_that_read_entropies_of_latents_refuse_it():
    for metric in (JEMMIG, Informativeness):
        with pytest.raises(SpecError, match="entropies of latents"):
            metric(Neighbors())


def test_weights_are_refused():
    with pytest.raises(CodesError, match="MIG does not support weights"):
        MIG(Neighbors())(replace(random_codes(0), weights=torch.ones(30)))


def test_a_k_that_most_images_have_too_few_kin_for_is_noted():
    rng = np.random.default_rng(0)
    v = rng.integers(0, 3, 90)
    codes = Codes.from_arrays(v[:, None] + 0.1 * rng.normal(size=(90, 1)), factors={"v": v, "w": rng.normal(size=90)})
    assert any(note.startswith("k is 50") and " of v;" in note for note in MED(Neighbors(k=50))(codes).notes)
    assert any(" of v, w;" in note for note in MED(Neighbors(k=90))(codes).notes)
    assert not any("k is" in note for note in MED(Neighbors())(codes).notes)
