"""Posteriors: entropies in closed form, and draws."""

import dataclasses
import math

import pytest
import torch
from torch.distributions import Categorical, MultivariateNormal, Normal

from unbraid.errors import CodesError
from unbraid.information.posteriors import Draws, Posteriors


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


def posteriors(num_images=6, num_latents=3, correlated=False, num_categories=()):
    """Of random means and stds; the covariances of positive definite matrices."""
    mean = torch.randn(num_images, num_latents, dtype=torch.float64, generator=generator())
    root = torch.randn(num_images, num_latents, num_latents, dtype=torch.float64, generator=generator(1))
    covariance = root @ root.mT + 0.1 * torch.eye(num_latents, dtype=torch.float64)
    weights = torch.arange(1.0, num_images + 1, dtype=torch.float64)
    tables = [torch.rand(num_images, size, dtype=torch.float64, generator=generator(2)) for size in num_categories]
    return Posteriors(
        mean,
        covariance.diagonal(dim1=1, dim2=2).sqrt(),
        weights / weights.sum(),
        covariance if correlated else None,
        tuple(table / table.sum(dim=1, keepdim=True) for table in tables),
    )


def test_entropies_are_those_of_normal_distributions():
    p = posteriors(num_categories=(3,))
    each, joint, without = p.entropy_of_images()
    expected = torch.cat([Normal(p.mean, p.std).entropy(), Categorical(p.probabilities[0]).entropy()[:, None]], dim=1)
    torch.testing.assert_close(each, expected)
    torch.testing.assert_close(joint, expected.sum(dim=1))
    torch.testing.assert_close(without[:, 1], expected[:, [0, 2, 3]].sum(dim=1))


def test_entropies_of_correlated_latents_are_those_of_multivariate_normals():
    p = posteriors(correlated=True, num_categories=(3,))
    discrete = Categorical(p.probabilities[0]).entropy()
    each, joint, without = p.entropy_of_images()
    torch.testing.assert_close(each[:, :3], Normal(p.mean, p.std).entropy())
    torch.testing.assert_close(joint, MultivariateNormal(p.mean, p.covariance).entropy() + discrete)
    for latent in range(3):
        rest = [i for i in range(3) if i != latent]
        marginal = MultivariateNormal(p.mean[:, rest], p.covariance[:, rest][:, :, rest])
        torch.testing.assert_close(without[:, latent], marginal.entropy() + discrete)
    torch.testing.assert_close(without[:, 3], MultivariateNormal(p.mean, p.covariance).entropy())


def test_the_average_is_weighted():
    p = posteriors()
    torch.testing.assert_close(p.entropy().each, p.weights @ Normal(p.mean, p.std).entropy())
    torch.testing.assert_close(p.entropy().joint, p.weights @ Normal(p.mean, p.std).entropy().sum(dim=1))


def test_equal_correlations_have_their_closed_form():
    """Sigma = (1 - r) I + r 11': log det = (L - 1) log(1 - r) + log(1 + (L - 1) r)."""
    r, n = 0.9, 4
    covariance = ((1 - r) * torch.eye(n) + r).double()[None]
    p = Posteriors(torch.zeros(1, n).double(), torch.ones(1, n).double(), torch.ones(1).double(), covariance)
    log_det = (n - 1) * math.log(1 - r) + math.log(1 + (n - 1) * r)
    assert float(p.entropy().each.sum() - p.entropy().joint) == pytest.approx(-0.5 * log_det)


def test_draws_are_means_plus_scaled_noise():
    p = posteriors()
    image, noise = torch.tensor([4, 0, 4]), torch.randn(3, 3, dtype=torch.float64, generator=generator(3))
    draws = p.draw(image, noise, noise[:, :0])
    torch.testing.assert_close(draws.z, p.mean[image] + p.std[image] * noise)
    assert draws.image.tolist() == [4, 0, 4]
    assert draws.rows(torch.tensor([1])).image.tolist() == [0]


def test_correlated_draws_have_their_covariance():
    p = posteriors(num_images=1, correlated=True)
    noise = torch.randn(40_000, 3, dtype=torch.float64, generator=generator(4))
    draws = p.draw(torch.zeros(40_000, dtype=torch.int64), noise, noise[:, :0])
    # The relative error of a variance from 40,000 draws is 0.7 %.
    torch.testing.assert_close(draws.z.T.cov(), p.covariance[0], atol=0.03 * float(p.covariance.max()), rtol=0)


def test_categories_are_drawn_by_their_probabilities():
    table = torch.tensor([[0.25, 0.0, 0.75]], dtype=torch.float64)
    p = dataclasses.replace(posteriors(num_images=1), probabilities=(table,))
    uniform = (torch.arange(1000, dtype=torch.float64)[:, None] + 0.5) / 1000
    draws = p.draw(torch.zeros(1000, dtype=torch.int64), torch.zeros(1000, 3), uniform)
    assert torch.bincount(draws.categories[:, 0]).tolist() == [250, 0, 750]


def test_draws_of_continuous_latents_have_no_categories():
    draws = Draws.of(torch.zeros(5, 2), torch.arange(5))
    assert len(draws) == 5
    assert draws.categories.shape == (5, 0)


def test_a_std_of_zero_is_refused_with_advice():
    with pytest.raises(CodesError, match=r"latents \[1\].*quantized"):
        Posteriors(torch.zeros(2, 2), torch.tensor([[1.0, 1.0], [1.0, 0.0]]), torch.full((2,), 0.5).double())


def test_a_covariance_without_full_rank_is_refused():
    p = Posteriors(torch.zeros(1, 2), torch.ones(1, 2), torch.ones(1).double(), torch.ones(1, 2, 2))
    with pytest.raises(CodesError, match="1 of 1"):
        p.entropy()


def test_a_std_too_narrow_for_the_numbers_is_refused():
    with pytest.raises(CodesError, match="too small"):
        Posteriors(torch.ones(1, 2), torch.tensor([[1.0, 1e-30]]), torch.ones(1).double())


def test_images_without_full_rank_are_counted_once_however_often_they_are_drawn():
    covariance = torch.stack([torch.eye(2), torch.ones(2, 2)])
    p = Posteriors(torch.zeros(2, 2), torch.ones(2, 2), torch.full((2,), 0.5).double(), covariance)
    with pytest.raises(CodesError, match="1 of 2"):
        p.draw(torch.tensor([0, 1, 1, 1]), torch.zeros(4, 2), torch.zeros(4, 0))
