"""DIP-VAE: codes whose covariance is the identity."""

import math
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.func import grad

from tests.objectives.steps import a_step, distortion_by_hand, rate_by_hand, step_for
from tests.training.squares import MLP_SPEC
from unbraid.config.schedule import Cosine, Cyclic, Linear
from unbraid.errors import SpecError
from unbraid.models.distributions import ConcreteLatents, DiagonalGaussian, GaussianLatents, LaplaceLatents
from unbraid.objectives import DIPVAE, VAE

every_kind = pytest.mark.parametrize("kind", ["i", "ii"])


def covariance_by_hand(step, kind):
    means, variances = step.posterior.mean.numpy(), step.posterior.std.numpy() ** 2
    of_means = np.cov(means, rowvar=False, ddof=0)
    return of_means if kind == "i" else of_means + np.diag(variances.mean(axis=0))


def penalty_by_hand(covariance, off_diagonal, diagonal):
    size = len(covariance)
    pairs = [(i, j) for i in range(size) for j in range(size)]
    return sum(
        diagonal * (covariance[i, j] - 1) ** 2 if i == j else off_diagonal * covariance[i, j] ** 2 for i, j in pairs
    )


def with_means(loc, log_var):
    """A step whose posteriors have these means and log-variances."""
    step, posterior = step_for(DIPVAE(), batch=len(loc), latents=loc.shape[1]), DiagonalGaussian(loc, log_var)
    return replace(step, posterior=posterior, z=loc)


# Known answers


@every_kind
@given(seed=st.integers(0, 1000))
def test_it_is_the_vae_plus_both_penalties_with_every_ordered_pair(kind, seed):
    step = step_for(DIPVAE(), seed=seed)
    expected = (
        distortion_by_hand(step) + rate_by_hand(step) + penalty_by_hand(covariance_by_hand(step, kind), 5.0, 50.0)
    )
    assert DIPVAE(kind, off_diagonal=5.0, diagonal=50.0)(step).total.item() == pytest.approx(expected, rel=1e-10)


def test_the_variance_given_an_image_is_added_to_the_diagonal_alone():
    # Two peers take torch.diag of a (batch, latent) table, and add one number to every entry of C.
    step = step_for(DIPVAE())
    assert DIPVAE("ii")(step).parts["off_diagonal"].item() == pytest.approx(
        DIPVAE("i")(step).parts["off_diagonal"].item(), rel=1e-12
    )
    peer = covariance_by_hand(step, "i") + step.posterior.std.square().diag().mean().item()
    assert abs(penalty_by_hand(peer, 1.0, 0.0) - DIPVAE("ii")(step).parts["off_diagonal"].item()) > 0.1


@pytest.mark.parametrize(("kind", "times"), [("i", 10.0), ("ii", 1.0)])
@pytest.mark.parametrize("off_diagonal", [0.0, 2.0, 10.0])
def test_without_a_diagonal_it_is_a_multiple_of_the_off_diagonal(kind, times, off_diagonal):
    """Kumar et al. fix lambda_d = 10 lambda_od; equal weights are usual for kind II."""
    absent, given_ = (
        DIPVAE(kind, off_diagonal=off_diagonal),
        DIPVAE(kind, off_diagonal=off_diagonal, diagonal=times * off_diagonal),
    )
    step = step_for(absent)
    assert torch.equal(absent(step).total, given_(step).total)
    assert absent.general_form() == given_
    assert given_.general_form() is given_


@pytest.mark.parametrize(("kind", "times"), [("i", 10.0), ("ii", 1.0)])
@pytest.mark.parametrize("schedule", [Linear(0.0, 8.0), Cosine(1.0, 3.0, begin=0.2), Cyclic(0.5, 2.0)], ids=repr)
def test_without_a_diagonal_it_follows_the_schedule_of_the_off_diagonal(kind, times, schedule):
    step, absent = step_for(DIPVAE(kind)), DIPVAE(kind, off_diagonal=schedule)
    for progress in torch.linspace(0, 1, 5, dtype=torch.float64):
        weight = float(schedule.at(progress))
        expected = DIPVAE(kind, off_diagonal=weight, diagonal=times * weight)(step).total
        torch.testing.assert_close(absent.at(progress)(step).total, expected)
        torch.testing.assert_close(absent.general_form().at(progress)(step).total, expected)


# Laws


def test_the_penalty_is_0_where_the_covariance_is_the_identity_and_only_there():
    square = torch.tensor([[1.0, 1.0], [1.0, -1.0], [-1.0, 1.0], [-1.0, -1.0]]).double()
    step = with_means(square, torch.zeros_like(square))
    assert torch.equal(DIPVAE()(step).total, DIPVAE()(step).parts["distortion"] + DIPVAE()(step).parts["rate"])
    stretched = with_means(square * torch.tensor([2.0, 1.0]).double(), torch.zeros_like(square))
    sheared = with_means(square @ torch.tensor([[1.0, 0.5], [0.0, math.sqrt(0.75)]]).double(), torch.zeros_like(square))
    assert DIPVAE()(stretched).parts["diagonal"] > 1
    assert DIPVAE()(sheared).parts["off_diagonal"] > 0.1


def test_with_constant_means_and_unit_variance_kind_ii_is_satisfied_and_kind_i_pays_for_every_latent():
    constant = torch.full((5, 3), 0.7, dtype=torch.float64)
    step = with_means(constant, torch.zeros_like(constant))
    assert DIPVAE("ii")(step).parts["diagonal"].item() == pytest.approx(0, abs=1e-20)
    assert DIPVAE("ii")(step).parts["off_diagonal"].item() == pytest.approx(0, abs=1e-20)
    of_i = DIPVAE("i", diagonal=7.0)(step)
    assert (of_i.total - of_i.parts["distortion"] - of_i.parts["rate"]).item() == pytest.approx(7.0 * 3)


def test_without_penalties_it_is_the_vae():
    step = step_for(DIPVAE())
    torch.testing.assert_close(DIPVAE(off_diagonal=0.0, diagonal=0.0)(step).total, VAE()(step).total)


# The running estimate


def run(objective, steps):
    """The losses of an objective that carries its state from step to step."""
    state, losses = step_for(objective).state, []
    for step in steps:
        losses.append(objective(replace(step, state=state)))
        state = losses[-1].state
    return losses


STEPS = [a_step(seed, batch=6) for seed in range(4)]


@every_kind
def test_ema_averages_the_covariances_of_the_batches_from_the_first_on(kind):
    # No peer keeps the running estimate that the paper describes.
    running = covariance_by_hand(STEPS[0], kind)
    losses = run(DIPVAE(kind, mode="ema", decay=0.9), STEPS)
    for step, loss in zip(STEPS, losses, strict=True):
        running = 0.9 * running + 0.1 * covariance_by_hand(step, kind)
        np.testing.assert_allclose(loss.state["covariance"].numpy(), running, rtol=1e-12)
        assert loss.parts["diagonal"].item() == pytest.approx(penalty_by_hand(running, 0.0, 1.0))


@every_kind
def test_moments_averages_first_and_second_moments_and_so_sees_that_batches_have_different_means(kind):
    def moments(step):
        mean, variance = step.posterior.mean.numpy(), step.posterior.std.numpy() ** 2
        second = mean.T @ mean / len(mean)
        return mean.mean(axis=0), second if kind == "i" else second + np.diag(variance.mean(axis=0))

    first, second = moments(STEPS[0])
    losses = run(DIPVAE(kind, mode="moments", decay=0.9), STEPS)
    for step, loss in zip(STEPS, losses, strict=True):
        of_batch = moments(step)
        first, second = 0.9 * first + 0.1 * of_batch[0], 0.9 * second + 0.1 * of_batch[1]
        covariance = second - np.outer(first, first)
        assert loss.parts["diagonal"].item() == pytest.approx(penalty_by_hand(covariance, 0.0, 1.0))
        assert loss.parts["off_diagonal"].item() == pytest.approx(penalty_by_hand(covariance, 1.0, 0.0))
    assert np.linalg.eigvalsh(covariance).min() > 0


@pytest.mark.parametrize("mode", ["ema", "moments"])
@every_kind
def test_the_first_batch_and_a_decay_of_0_are_the_batch_estimate(mode, kind):
    batch = DIPVAE(kind)
    for loss, step in zip(run(DIPVAE(kind, mode=mode, decay=0.0), STEPS), STEPS, strict=True):
        torch.testing.assert_close(loss.total, batch(step).total)
    torch.testing.assert_close(run(DIPVAE(kind, mode=mode), STEPS[:1])[0].total, batch(STEPS[0]).total)


def covariance_gradient(objective, state, loc):
    """The gradient of an entry of the running estimate, with respect to the means of the batch."""

    def entry(loc):
        posterior = DiagonalGaussian(loc, torch.zeros_like(loc))
        covariance, _ = objective._covariance(replace(STEPS[0], posterior=posterior, z=loc, state=state))
        return covariance[0, 1]

    return grad(entry)(loc)


def test_the_past_is_constant_so_the_gradient_is_a_share_of_that_of_the_batch_unless_it_is_rescaled():
    state = run(DIPVAE(mode="ema"), STEPS)[-1].state
    loc = STEPS[0].posterior.loc
    of = partial(covariance_gradient, state=state, loc=loc)
    whole = of(DIPVAE())
    torch.testing.assert_close(of(DIPVAE(mode="ema", decay=0.9)), 0.1 * whole)
    torch.testing.assert_close(of(DIPVAE(mode="ema", decay=0.9, rescale=True)), whole)


@pytest.mark.parametrize("mode", ["ema", "moments"])
def test_rescaling_changes_no_value(mode):
    plain, rescaled = (run(DIPVAE(mode=mode, rescale=rescale), STEPS) for rescale in (False, True))
    for one, other in zip(plain, rescaled, strict=True):
        torch.testing.assert_close(one.total, other.total)
        for name, value in one.state.items():
            torch.testing.assert_close(value, other.state[name])


def test_the_state_carries_no_gradient():
    loc = STEPS[0].posterior.loc.clone().requires_grad_()
    objective = DIPVAE(mode="moments")
    step = replace(
        STEPS[0], posterior=DiagonalGaussian(loc, STEPS[0].posterior.log_var), state=step_for(objective).state
    )
    assert not any(value.requires_grad for value in objective(step).state.values())


# Settings


def test_its_defaults_are_those_of_the_paper():
    assert DIPVAE() == DIPVAE(kind="i", off_diagonal=10.0, diagonal=None, mode="batch", decay=0.9, rescale=False)


@pytest.mark.parametrize("value", [-1.0, math.nan, math.inf])
@pytest.mark.parametrize("name", ["off_diagonal", "diagonal", "decay"])
def test_a_weight_that_is_negative_or_not_finite_is_refused_by_name(name, value):
    with pytest.raises(SpecError, match=f"DIPVAE: {name} is {value}"):
        DIPVAE(**{name: value})


@pytest.mark.parametrize("decay", [1.0, 1.5, Linear(0.5, 1.0)])
def test_a_decay_at_which_no_batch_counts_is_refused(decay):
    with pytest.raises(SpecError, match="DIPVAE: decay"):
        DIPVAE(decay=decay)


def spec(latents, kind):
    return replace(MLP_SPEC, model=replace(MLP_SPEC.model, latents=latents), objective=DIPVAE(kind))


def test_latents_whose_covariance_it_cannot_know_are_refused_when_the_spec_is_built():
    assert spec(LaplaceLatents(3), "i").objective == DIPVAE("i")
    assert spec(GaussianLatents(3), "ii").objective == DIPVAE("ii")
    with pytest.raises(SpecError, match="LaplaceLatents.*variance"):
        spec(LaplaceLatents(3), "ii")
    with pytest.raises(SpecError, match="ConcreteLatents"):
        spec(ConcreteLatents(3), "i")
