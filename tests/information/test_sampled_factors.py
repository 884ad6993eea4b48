"""Information on factors, averaged over draws: against plain sums over all pairs, and against quadrature."""

import pytest
import torch
from torch.distributions import Normal

from unbraid.errors import CodesError
from unbraid.information import exact, sampled_factors
from unbraid.information.exact import exact_information
from unbraid.information.posteriors import Posteriors
from unbraid.information.sampled_factors import sampled_information
from unbraid.information.value_table import ValueTable


def case(num_images=40, num_draws=30, *, weighted=False, missing=False, seed=0):
    generator = torch.Generator().manual_seed(seed)
    labels = [torch.arange(num_images) % size for size in (2, 5)]
    mean = torch.randn(num_images, 2, dtype=torch.float64, generator=generator) / 2
    mean += torch.stack(labels, dim=1) / 2
    std = torch.exp(torch.randn(num_images, 2, dtype=torch.float64, generator=generator) - 1.5)
    if missing:
        labels[1] = torch.where(torch.arange(num_images) % 3 > 0, labels[1], -1)
    weights = torch.rand(num_images, dtype=torch.float64, generator=generator) if weighted else None
    values = ValueTable.from_assignments(tuple(labels), num_images, weights)
    posteriors = Posteriors(mean, std, values.weights)
    image = torch.randint(0, num_images, (num_draws,), generator=generator)
    noise = torch.randn(num_draws, 2, dtype=torch.float64, generator=generator)
    return posteriors, posteriors.draw(image, noise, noise[:, :0]), values


@pytest.mark.parametrize("missing", [False, True], ids=["complete", "missing labels"])
@pytest.mark.parametrize("weighted", [False, True], ids=["uniform", "weighted"])
def test_it_matches_plain_sums_over_all_pairs(weighted, missing):
    posteriors, draws, values = case(weighted=weighted, missing=missing)
    found, _ = sampled_information(posteriors, draws, values)
    density = Normal(posteriors.mean, posteriors.std).log_prob(draws.z[:, None]).exp()  # draw, image, latent
    for k, labels in enumerate(values.assignments):
        known, own = labels >= 0, labels[draws.image]
        p = values.weights * known / values.weights[known].sum()
        used = own >= 0
        same = (labels[None] == own[:, None]).double()
        joint = torch.einsum("dnl,n,dn->dl", density, p, same)[used].log()
        marginal = torch.einsum("dnl,n->dl", density, p)[used].log()
        masses = torch.stack([p[labels == v].sum() for v in range(int(labels.max()) + 1)])
        h_y = -(masses * masses.log()).sum()
        torch.testing.assert_close(found.factor_entropy[k], h_y)
        torch.testing.assert_close(found.joint_entropy[:, k], -joint.mean(dim=0))
        torch.testing.assert_close(found.mutual_information[:, k], -marginal.mean(dim=0) + h_y + joint.mean(dim=0))
        given_value = joint - masses[own[used]].log()[:, None]
        of_values = torch.stack([-given_value[own[used] == v].mean(dim=0) for v in own[used].unique()])
        torch.testing.assert_close(found.entropy_given_value[:, k], of_values.mean(dim=0))
    torch.testing.assert_close(found.entropy, -torch.einsum("dnl,n->dl", density, values.weights).log().mean(dim=0))


@pytest.mark.parametrize("missing", [False, True], ids=["complete", "missing labels"])
def test_it_approaches_quadrature_within_its_own_error(missing):
    posteriors, draws, values = case(num_draws=20_000, missing=missing)
    found, deviations = sampled_information(posteriors, draws, values)
    truth = exact_information(posteriors.mean, posteriors.std, values)
    for name in ("entropy", "joint_entropy", "mutual_information", "entropy_given_value"):
        error = deviations[name].square().mean(dim=0).sqrt() / 20_000**0.5
        assert bool(((getattr(found, name) - getattr(truth, name)).abs() < 4 * error).all()), name
        assert bool((error > 0).all())
    torch.testing.assert_close(found.factor_entropy, truth.factor_entropy)
    torch.testing.assert_close(found.num_values, truth.num_values)
    torch.testing.assert_close(found.entropy_given_image, truth.entropy_given_image)


def test_deviations_average_to_nothing():
    _, deviations = sampled_information(*case(weighted=True, missing=True))
    for deviation in deviations.values():
        torch.testing.assert_close(deviation.mean(dim=0), torch.zeros_like(deviation[0]), atol=1e-12, rtol=0)


def test_cells_in_place_of_images_change_little(monkeypatch):
    posteriors, draws, values = case(num_images=3000, num_draws=50)
    posteriors = Posteriors(posteriors.mean, posteriors.std.clamp(0.2, 0.4), posteriors.weights)
    direct, _ = sampled_information(posteriors, draws, values)
    monkeypatch.setattr(exact, "MAX_DIRECT_IMAGES", 100)
    cells, _ = sampled_information(posteriors, draws, values)
    torch.testing.assert_close(cells.mutual_information, direct.mutual_information, atol=1e-5, rtol=0)
    assert not torch.equal(cells.mutual_information, direct.mutual_information)


def test_a_discrete_latent_counts_by_its_masses(monkeypatch):
    """A latent whose categories are the values themselves tells everything, and given its value nothing is left."""
    posteriors, draws, values = case()
    table = torch.nn.functional.one_hot(values.assignments[0]).double()
    posteriors = Posteriors(posteriors.mean, posteriors.std, posteriors.weights, None, (table,))
    draws = posteriors.draw(draws.image, draws.z, torch.full((len(draws), 1), 0.5))
    monkeypatch.setattr(sampled_factors, "_ROWS_PER_BLOCK", 7)
    found, _ = sampled_information(posteriors, draws, values)
    torch.testing.assert_close(found.mutual_information[2, 0], torch.tensor(2.0).log().double())
    assert float(found.mutual_information[2, 1]) == pytest.approx(
        0, abs=1e-12
    )  # 40 images: the factors are independent
    assert float(found.entropy_given_value[2, 0]) == pytest.approx(0, abs=1e-12)


def test_without_factors_there_are_still_entropies():
    posteriors, draws, _ = case()
    found, _ = sampled_information(posteriors, draws, ValueTable.from_assignments((), 40))
    assert found.mutual_information.shape == (2, 0)
    assert bool(found.entropy.isfinite().all())


def test_soft_labels_are_refused_with_advice():
    posteriors, draws, _ = case()
    with pytest.raises(CodesError, match="Quantized"):
        sampled_information(posteriors, draws, ValueTable.from_assignments((torch.full((40, 2), 0.5),), 40))


def test_blocks_of_draws_give_what_all_at_once_give(monkeypatch):
    posteriors, draws, values = case(missing=True)
    whole, of_draws = sampled_information(posteriors, draws, values)
    monkeypatch.setattr(sampled_factors, "_BLOCK_DENSITIES", 7 * values.num_columns)
    taken = []
    densities = sampled_factors.mixture_densities
    monkeypatch.setattr(
        sampled_factors, "mixture_densities", lambda *given: taken.append(len(given[1])) or densities(*given)
    )
    found, in_blocks = sampled_information(posteriors, draws, values)
    assert max(taken) == 7
    torch.testing.assert_close(vars(found), vars(whole))
    torch.testing.assert_close(in_blocks, of_draws)
