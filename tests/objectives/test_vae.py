"""The VAE: distortion plus rate."""

from dataclasses import replace

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from tests.objectives.steps import a_step, distortion_by_hand, rate_by_hand
from unbraid.models.distributions import DiagonalGaussian
from unbraid.objectives import VAE


def test_loss_of_a_batch_by_hand():
    """Two images, one latent: distortion (3 + 5) / 2, rate (KL(N(1, 1)) + KL(N(0, 1))) / 2 = (1/2 + 0) / 2."""
    step = replace(
        a_step(batch=2, latents=1, dtype=torch.float32),
        posterior=DiagonalGaussian(torch.tensor([[1.0], [0.0]]), torch.tensor([[0.0], [0.0]])),
        log_likelihood=torch.tensor([-3.0, -5.0]),
    )
    loss = VAE()(step)
    assert loss.total.item() == 4.25
    assert (loss.parts["distortion"].item(), loss.parts["rate"].item()) == (4.0, 0.25)


@given(seed=st.integers(0, 1000))
def test_it_is_the_sum_over_pixels_and_latents_and_the_mean_over_images(seed):
    step = a_step(seed)
    assert VAE()(step).total.item() == pytest.approx(distortion_by_hand(step) + rate_by_hand(step), rel=1e-12)


def test_twice_the_batch_has_the_same_loss():
    step = a_step()
    twice = replace(
        step,
        posterior=DiagonalGaussian(step.posterior.loc.repeat(2, 1), step.posterior.log_var.repeat(2, 1)),
        x=step.x.repeat(2, 1, 1, 1),
        z=step.z.repeat(2, 1),
        log_likelihood=step.log_likelihood.repeat(2),
    )
    torch.testing.assert_close(VAE()(twice).total, VAE()(step).total)


def test_a_latent_that_equals_its_prior_adds_nothing():
    step = a_step()
    posterior = DiagonalGaussian(
        *(torch.cat([t, torch.zeros(5, 1, dtype=t.dtype)], dim=1) for t in (step.posterior.loc, step.posterior.log_var))
    )
    z = torch.cat([step.z, torch.linspace(-1, 1, 5, dtype=torch.float64)[:, None]], dim=1)
    torch.testing.assert_close(VAE()(replace(step, posterior=posterior, z=z)).total, VAE()(step).total)


def test_it_has_no_hyperparameters():
    assert VAE().hyperparameters == {}
