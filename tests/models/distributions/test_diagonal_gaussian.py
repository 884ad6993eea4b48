"""The factorized Gaussian: densities against scipy, the KL against an integral."""

import math

import numpy as np
import pytest
import scipy.integrate
import scipy.stats
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.func import grad, vmap

from unbraid.models.distributions import DiagonalGaussian

MEANS = st.floats(-5, 5)
LOG_VARS = st.floats(-6, 3)


def gaussian(loc, log_var, dtype=torch.float64):
    return DiagonalGaussian(torch.tensor(loc, dtype=dtype), torch.tensor(log_var, dtype=dtype))


def random_gaussian(batch, latents, seed=0):
    generator = torch.Generator().manual_seed(seed)
    loc = torch.randn(batch, latents, dtype=torch.float64, generator=generator)
    log_var = torch.randn(batch, latents, dtype=torch.float64, generator=generator)
    return DiagonalGaussian(loc, log_var), torch.randn(batch, latents, dtype=torch.float64, generator=generator)


# Known answers


def test_the_second_parameter_is_the_log_of_the_variance():
    posterior = gaussian([[0.5]], [[math.log(9.0)]])
    torch.testing.assert_close(posterior.std, torch.tensor([[3.0]], dtype=torch.float64))
    torch.testing.assert_close(posterior.mean, torch.tensor([[0.5]], dtype=torch.float64))


@given(loc=MEANS, log_var=LOG_VARS, z=st.floats(-10, 10))
def test_log_prob_is_scipys(loc, log_var, z):
    found = gaussian([[loc]], [[log_var]]).log_prob(torch.tensor([[z]], dtype=torch.float64))
    assert found.item() == pytest.approx(scipy.stats.norm.logpdf(z, loc, math.exp(log_var / 2)), rel=1e-12, abs=1e-12)


@pytest.mark.parametrize(("loc", "log_var"), [(0.0, 0.0), (1.5, 0.0), (0.0, -4.0), (-3.0, 2.0), (0.2, -1.0)])
def test_kl_is_the_integral_of_q_times_the_log_ratio(loc, log_var):
    q, p = scipy.stats.norm(loc, math.exp(log_var / 2)), scipy.stats.norm()
    span = 12 * q.std()
    expected, _ = scipy.integrate.quad(
        lambda z: q.pdf(z) * (q.logpdf(z) - p.logpdf(z)), loc - span, loc + span, points=[loc]
    )
    assert gaussian([[loc]], [[log_var]]).kl_to_standard_normal().item() == pytest.approx(expected, abs=1e-7)


def test_kl_of_the_prior_to_itself_is_zero():
    assert gaussian([[0.0, 0.0]], [[0.0, 0.0]]).kl_to_standard_normal().tolist() == [[0.0, 0.0]]


def test_nothing_is_summed():
    posterior, z = random_gaussian(4, 3)
    assert posterior.log_prob(z).shape == (4, 3)
    assert posterior.kl_to_standard_normal().shape == (4, 3)


# Laws


@given(loc=MEANS, log_var=LOG_VARS)
def test_kl_is_never_negative(loc, log_var):
    # s^2 - log s^2 - 1 loses to rounding where s is close to 1.
    assert gaussian([[loc]], [[log_var]]).kl_to_standard_normal().item() >= -1e-15


def test_every_pair_is_one_codes_density_under_one_images_posterior():
    posterior, z = random_gaussian(4, 3)
    z = torch.cat([z, z[:1] + 1])  # more codes than images
    pairwise = posterior.pairwise_log_prob(z)
    assert pairwise.shape == (5, 4, 3)
    for i in range(5):
        for n in range(4):
            expected = scipy.stats.norm.logpdf(z[i], posterior.loc[n], posterior.std[n])
            np.testing.assert_allclose(pairwise[i, n], expected, rtol=1e-12)


@given(seed=st.integers(0, 1000))
def test_the_diagonal_of_the_pairs_is_log_prob(seed):
    posterior, z = random_gaussian(5, 2, seed)
    torch.testing.assert_close(posterior.pairwise_log_prob(z).diagonal().T, posterior.log_prob(z))


@given(seed=st.integers(0, 1000))
def test_a_draw_is_the_mean_plus_noise_in_units_of_the_std(seed):
    posterior, noise = random_gaussian(5, 2, seed)
    torch.testing.assert_close((posterior.rsample(noise) - posterior.mean) / posterior.std, noise)


def test_a_draw_has_the_gradients_of_the_reparameterisation():
    """dz / d loc = 1 and dz / d log_var = std * noise / 2."""
    posterior, noise = random_gaussian(4, 3)
    by_loc = grad(lambda loc: DiagonalGaussian(loc, posterior.log_var).rsample(noise).sum())(posterior.loc)
    by_log_var = grad(lambda log_var: DiagonalGaussian(posterior.loc, log_var).rsample(noise).sum())(posterior.log_var)
    torch.testing.assert_close(by_loc, torch.ones_like(by_loc))
    torch.testing.assert_close(by_log_var, posterior.std * noise / 2)


def test_mean_log_ratio_of_draws_is_the_kl():
    posterior = gaussian([[1.0, -0.5]], [[-1.0, 0.7]])
    quantiles = (torch.arange(20_000, dtype=torch.float64) + 0.5) / 20_000
    noise = torch.special.ndtri(quantiles)[:, None].expand(
        -1, 2
    )  # draws spread evenly, so that nothing is left to chance
    many = DiagonalGaussian(posterior.loc.expand(20_000, 2), posterior.log_var.expand(20_000, 2))
    z = many.rsample(noise)
    log_prior = -0.5 * (z.square() + math.log(2 * math.pi))
    # What the outermost 1 / 20,000 of the mass adds to the variance.
    torch.testing.assert_close(
        (many.log_prob(z) - log_prior).mean(0, keepdim=True), posterior.kl_to_standard_normal(), atol=1e-3, rtol=0
    )


# Numbers and transformations


def test_a_narrow_posterior_has_a_finite_density_far_away():
    # One peer's exp, sum, log gives -inf here: 5 units from a mean with std e^-4.5.
    found = gaussian([[0.0]], [[-9.0]], torch.float32).pairwise_log_prob(torch.tensor([[5.0]]))
    assert found.item() == pytest.approx(scipy.stats.norm.logpdf(5.0, 0.0, math.exp(-4.5)), rel=1e-6)


@pytest.mark.parametrize("log_var", [-80.0, 80.0])
def test_extreme_scales_stay_finite_in_float32(log_var):
    posterior = gaussian([[0.3]], [[log_var]], torch.float32)
    z = posterior.rsample(torch.tensor([[1.0]]))
    assert posterior.std.item() > 0
    for value in (posterior.log_prob(z), posterior.pairwise_log_prob(z), posterior.kl_to_standard_normal()):
        assert bool(value.isfinite().all())


def test_it_lives_under_vmap_and_grad():
    generator = torch.Generator().manual_seed(0)
    locs, log_vars, noise = (torch.randn(3, 4, 2, dtype=torch.float64, generator=generator) for _ in range(3))

    def loss(loc, log_var, noise):
        posterior = DiagonalGaussian(loc, log_var)
        z = posterior.rsample(noise)
        return (
            posterior.pairwise_log_prob(z).logsumexp(1).sum()
            + posterior.log_prob(z).sum()
            + posterior.kl_to_standard_normal().sum()
        )

    together = vmap(grad(loss, argnums=(0, 1)))(locs, log_vars, noise)
    for member in range(3):
        alone = grad(loss, argnums=(0, 1))(locs[member], log_vars[member], noise[member])
        torch.testing.assert_close(tuple(g[member] for g in together), alone)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_it_keeps_the_precision_it_is_given(dtype):
    posterior = gaussian([[0.3, 1.0]], [[-1.0, 2.0]], dtype)
    z = posterior.rsample(torch.ones(1, 2, dtype=dtype))
    for value in (
        posterior.std,
        z,
        posterior.log_prob(z),
        posterior.pairwise_log_prob(z),
        posterior.kl_to_standard_normal(),
    ):
        assert value.dtype == dtype
