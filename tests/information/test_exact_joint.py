"""The joint entropy of two latents by quadrature: closed forms, Lemma 2, and a slow computation."""

import math

import numpy as np
import pytest
import torch
from scipy import special, stats

from unbraid.errors import CodesError
from unbraid.information.exact import exact_information
from unbraid.information.exact_joint import MAX_JOINT_IMAGES, exact_joint_entropy
from unbraid.information.posteriors import Posteriors
from unbraid.information.value_table import ValueTable


def posteriors(mean, std, rho=None, weights=None):
    mean, std = torch.as_tensor(mean, dtype=torch.float64), torch.as_tensor(std, dtype=torch.float64)
    p = torch.ones(len(mean), dtype=torch.float64) if weights is None else torch.as_tensor(weights, dtype=torch.float64)
    correlation = None if rho is None else torch.tensor([[1.0, rho], [rho, 1.0]], dtype=torch.float64)
    covariance = None if rho is None else std[:, :, None] * correlation * std[:, None]
    return Posteriors(mean, std, p / p.sum(), covariance)


def gaussian_entropy(*stds, rho=0.0):
    return sum(0.5 * math.log(2 * math.pi * math.e * s**2) for s in stds) + 0.5 * math.log(1 - rho**2)


# Closed forms


@pytest.mark.parametrize("rho", [None, 0.0, 0.9, -0.99])
def test_equal_posteriors_have_the_entropy_of_one(rho):
    found = exact_joint_entropy(posteriors([[0.3, -2.0]] * 3, [[0.7, 4.0]] * 3, rho))
    assert float(found) == pytest.approx(gaussian_entropy(0.7, 4.0, rho=rho or 0.0), abs=1e-9)


def test_posteriors_far_apart_add_the_entropy_of_the_image():
    found = exact_joint_entropy(posteriors([[0.0, 0.0], [500.0, 0.0]], [[0.01, 2.0]] * 2, weights=[1, 3]))
    of_image = -0.25 * math.log(0.25) - 0.75 * math.log(0.75)
    assert float(found) == pytest.approx(gaussian_entropy(0.01, 2.0) + of_image, abs=1e-9)


def test_it_agrees_with_a_fine_grid():
    mean, std = np.array([[0.0, 0.0], [1.0, -0.5]]), np.array([[0.5, 1.0], [1.0, 0.4]])
    x, step = np.linspace(-9, 10, 1000, retstep=True)
    # The trapezoidal rule: all but exact for a smooth function that vanishes at both ends.
    q = (
        sum(
            np.outer(stats.norm.pdf(x, m[0], s[0]), stats.norm.pdf(x, m[1], s[1]))
            for m, s in zip(mean, std, strict=True)
        )
        / 2
    )
    expected = -float(special.xlogy(q, q).sum()) * step**2
    assert float(exact_joint_entropy(posteriors(mean, std))) == pytest.approx(expected, abs=1e-9)


# Laws


@pytest.mark.parametrize("seed", range(3))
def test_independent_latents_have_the_sum_of_their_entropies(seed):
    """A full factorial grid: TC is 0 and I(x, z) = sum_i I(x, z_i)."""
    generator = torch.Generator().manual_seed(seed)
    first, second = (
        torch.randn(4, generator=generator, dtype=torch.float64),
        torch.randn(5, generator=generator, dtype=torch.float64),
    )
    mean = torch.cartesian_prod(first, second)
    std = torch.cartesian_prod(*(torch.rand(n, generator=generator, dtype=torch.float64) + 0.1 for n in (4, 5)))
    each = exact_information(mean, std, ValueTable.from_assignments((), 20)).entropy
    assert float(exact_joint_entropy(posteriors(mean, std))) == pytest.approx(float(each.sum()), abs=1e-8)


def test_an_uncorrelated_covariance_changes_nothing():
    generator = torch.Generator().manual_seed(0)
    mean, std = torch.randn(20, 2, generator=generator), torch.rand(20, 2, generator=generator) + 0.1
    assert float(exact_joint_entropy(posteriors(mean, std))) == pytest.approx(
        float(exact_joint_entropy(posteriors(mean, std, 0.0))), abs=1e-9
    )


def test_turning_the_plane_changes_nothing():
    """Posteriors of one round width stay so; the mixture is turned as a whole."""
    generator = torch.Generator().manual_seed(1)
    mean, std = torch.randn(15, 2, generator=generator, dtype=torch.float64), torch.full((15, 2), 0.2)
    turn = torch.tensor([[0.6, -0.8], [0.8, 0.6]], dtype=torch.float64)
    assert float(exact_joint_entropy(posteriors(mean @ turn, std))) == pytest.approx(
        float(exact_joint_entropy(posteriors(mean, std))), abs=1e-9
    )


# Refusals


def test_other_than_two_latents_are_refused():
    with pytest.raises(CodesError, match="3 continuous"):
        exact_joint_entropy(posteriors(torch.zeros(4, 3), torch.ones(4, 3)))


def test_too_many_images_are_refused():
    num = MAX_JOINT_IMAGES + 1
    with pytest.raises(CodesError, match="most 1,000"):
        exact_joint_entropy(posteriors(torch.zeros(num, 2), torch.ones(num, 2)))
