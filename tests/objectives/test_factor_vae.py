"""FactorVAE: the total correlation that a critic tells."""

import math
from dataclasses import replace

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn
from torch.func import functional_call, grad

from tests.discovery import concrete_subclasses
from tests.objectives.steps import a_step, distortion_by_hand, rate_by_hand, step_for
from tests.training.squares import MLP_SPEC
from unbraid.errors import SpecError
from unbraid.models import Autoencoder
from unbraid.models.distributions import DeterministicLatents, DiagonalGaussian, GaussianLatents, Latents, UniformPrior
from unbraid.objectives import VAE, EncodedBatch, FactorVAE
from unbraid.objectives.terms.adversary import permuted_codes
from unbraid.training import Critic
from unbraid.training.runs import RunSpec


def with_critic(step, net):
    """The two views of a critic, as a fleet gives them: constant weights, and a constant input."""
    constant = {name: parameter.detach() for name, parameter in net.named_parameters()}
    return replace(
        step, critic=lambda z: functional_call(net, constant, (z,)), critic_in_training=lambda z: net(z.detach())
    )


def a_net(num_latents=3, seed=0):
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return nn.Sequential(nn.Linear(num_latents, 8), nn.LeakyReLU(0.2), nn.Linear(8, 2)).double()


# Known answers


@given(seed=st.integers(0, 1000), gamma=st.floats(0, 100))
def test_it_is_the_vae_plus_gamma_times_the_mean_difference_of_the_logits(seed, gamma):
    step = with_critic(step_for(FactorVAE(), seed=seed), a_net())
    logits = a_net()(step.z).tolist()
    total_correlation = sum(joint - permuted for joint, permuted in logits) / len(logits)
    loss = FactorVAE(gamma)(step)
    assert loss.total.item() == pytest.approx(
        distortion_by_hand(step) + rate_by_hand(step) + gamma * total_correlation, rel=1e-12
    )
    assert loss.parts["critic_total_correlation"].item() == pytest.approx(total_correlation)


@pytest.mark.parametrize("same_batch", [False, True])
def test_the_critic_minimizes_the_mean_cross_entropy_of_both_kinds_of_codes(same_batch):
    objective, net = FactorVAE(same_batch=same_batch), a_net()
    step = with_critic(step_for(objective), net)
    codes = step.z if same_batch else step.other.z
    permuted = torch.stack(
        [codes[order, k] for k, order in enumerate(step.draws["permutation"].argsort(dim=0).T)], dim=1
    )
    cross_entropy = nn.CrossEntropyLoss()
    zeros, ones = torch.zeros(5, dtype=torch.int64), torch.ones(5, dtype=torch.int64)
    expected = (cross_entropy(net(step.z), zeros) + cross_entropy(net(permuted), ones)) / 2
    torch.testing.assert_close(objective(step).critic, expected)


def test_the_best_critic_tells_the_total_correlation_of_a_gaussian():
    # q(z) = N(0, [[1, r], [r, 1]]) has TC = -log(1 - r^2) / 2; the critic is the true log-ratio of q(z) and q(z1)
    # q(z2).
    r, generator = 0.8, torch.Generator().manual_seed(0)
    noise = torch.randn(1000, 2, dtype=torch.float64, generator=generator)
    z = torch.stack([noise[:, 0], r * noise[:, 0] + math.sqrt(1 - r * r) * noise[:, 1]], dim=1)

    def critic(z):
        joint = -0.5 * (z.square().sum(dim=1) - 2 * r * z.prod(dim=1)) / (1 - r * r) - 0.5 * math.log(1 - r * r)
        return torch.stack([joint, -0.5 * z.square().sum(dim=1)], dim=1)

    posterior = DiagonalGaussian(z, torch.zeros_like(z))
    batch = replace(
        a_step(batch=1000, latents=2, dataset_size=2000),
        posterior=posterior,
        z=z,
        critic=critic,
        critic_in_training=critic,
    )
    objective = FactorVAE(same_batch=True)
    shapes = objective.draw_shapes(1000, Autoencoder(latents=GaussianLatents(2)), (1, 8, 8))
    draws = {name: torch.randn(shape, dtype=torch.float64, generator=generator) for name, shape in shapes.items()}
    found = objective(replace(batch, draws=draws)).parts["critic_total_correlation"]
    # sd of the log-ratio is about 0.8, so the error of the mean is about 0.025.
    assert found.item() == pytest.approx(-0.5 * math.log(1 - r * r), abs=0.08)


# Laws


def test_a_critic_that_cannot_tell_gives_a_constant_total_correlation_and_loses_log_2():
    step = step_for(FactorVAE())
    blind = replace(step, critic=lambda z: z.new_zeros(len(z), 2), critic_in_training=lambda z: z.new_zeros(len(z), 2))
    loss = FactorVAE()(blind)
    assert loss.critic.item() == pytest.approx(math.log(2))
    assert torch.equal(loss.total, loss.parts["distortion"] + loss.parts["rate"])


def test_gamma_0_is_the_vae():
    step = step_for(FactorVAE())
    torch.testing.assert_close(FactorVAE(gamma=0.0)(step).total, VAE()(step).total)


def test_the_second_batch_is_used_unless_the_same_one_is_asked_for():
    two, same = FactorVAE(), FactorVAE(same_batch=True)
    assert (two.needs_other_batch, same.needs_other_batch) == (True, False)
    step = step_for(two)
    others = replace(step, other=EncodedBatch(step.x, step.posterior, step.z))
    assert not torch.equal(two(step).critic, two(others).critic)
    torch.testing.assert_close(two(others).critic, same(replace(step, other=None)).critic)


def test_its_losses_reach_what_they_are_minimized_over_and_nothing_else():
    # Three peers leave the critic's input attached, and step the encoder after the critic's loss went back through it.
    objective, net, step = FactorVAE(), a_net(), step_for(FactorVAE())
    noise = torch.full_like(step.z, 0.3)

    def losses(loc, weights):
        posterior = DiagonalGaussian(loc, step.posterior.log_var)
        constant = {name: weight.detach() for name, weight in weights.items()}
        loss = objective(
            replace(
                step,
                posterior=posterior,
                z=posterior.rsample(noise),
                other=EncodedBatch(step.x, posterior, posterior.rsample(-noise)),
                critic=lambda z: functional_call(net, constant, (z,)),
                critic_in_training=lambda z: functional_call(net, weights, (z.detach(),)),
            )
        )
        return loss.total, loss.critic

    weights = {name: parameter.detach() for name, parameter in net.named_parameters()}
    of_total = grad(lambda loc, w: losses(loc, w)[0], argnums=(0, 1))(step.posterior.loc, weights)
    of_critic = grad(lambda loc, w: losses(loc, w)[1], argnums=(0, 1))(step.posterior.loc, weights)
    assert bool((of_total[0] != 0).any())
    assert all(not bool(gradient.any()) for gradient in of_total[1].values())
    assert not bool(of_critic[0].any())
    assert any(bool(gradient.any()) for gradient in of_critic[1].values())


# Permuted codes


@given(seed=st.integers(0, 1000), widths=st.lists(st.integers(1, 4), min_size=1, max_size=4))
def test_permuting_keeps_every_latent_and_moves_its_columns_together(seed, widths):
    generator = torch.Generator().manual_seed(seed)
    z = torch.randn(6, sum(widths), generator=generator)
    permuted = permuted_codes(z, torch.randn(6, len(widths), generator=generator), widths)
    assert permuted.shape == z.shape
    for before, after in zip(z.split(widths, dim=1), permuted.split(widths, dim=1), strict=True):
        assert sorted(before.tolist()) == sorted(after.tolist())


def test_every_latent_has_an_order_of_its_own_and_every_order_is_as_likely():
    noise = torch.randn(6000, 3, 2, generator=torch.Generator().manual_seed(0))
    z = torch.arange(3.0)[:, None].expand(3, 2)
    orders = [permuted_codes(z, each) for each in noise]
    assert any(not torch.equal(order[:, 0], order[:, 1]) for order in orders)
    counts = {}
    for order in orders:
        counts[tuple(order[:, 0].tolist())] = counts.get(tuple(order[:, 0].tolist()), 0) + 1
    # 1000 each; the standard deviation is sqrt(6000 * 1/6 * 5/6) = 29, and 5 of those are 145.
    assert len(counts) == 6
    assert max(abs(count - 1000) for count in counts.values()) < 145


@pytest.mark.parametrize("cls", concrete_subclasses(Latents), ids=lambda cls: cls.__name__)
def test_every_family_tells_the_columns_of_its_latents(cls):
    latents = cls()
    assert len(latents.widths) == latents.num_latents
    assert sum(latents.widths) == latents.num_columns


# Settings


def test_its_default_is_that_of_the_authors():
    assert FactorVAE() == FactorVAE(gamma=35.0, same_batch=False)


@pytest.mark.parametrize("gamma", [-1.0, math.nan, math.inf])
def test_a_gamma_that_is_negative_or_not_finite_is_refused_by_name(gamma):
    with pytest.raises(SpecError, match=f"FactorVAE: gamma is {gamma}"):
        FactorVAE(gamma)


def spec(latents, **changes):
    return replace(MLP_SPEC, model=replace(MLP_SPEC.model, latents=latents), objective=FactorVAE(), **changes)


def test_codes_that_have_no_density_or_no_second_latent_or_no_finite_rate_are_refused_when_the_spec_is_built():
    with pytest.raises(SpecError, match="density"):
        spec(DeterministicLatents(3))
    with pytest.raises(SpecError, match="1 latent"):
        spec(GaussianLatents(1))
    with pytest.raises(SpecError, match="finite KL"):
        spec(GaussianLatents(3, prior=UniformPrior()))


def test_a_batch_of_one_is_refused_when_the_spec_is_built():
    with pytest.raises(SpecError, match="batch_size is 1"):
        spec(GaussianLatents(3), batch_size=1)


def test_a_critic_is_refused_where_there_is_none_and_taken_where_there_is():
    assert spec(GaussianLatents(3), critic=Critic(hidden=(4,))).critic == Critic(hidden=(4,))
    with pytest.raises(SpecError, match="VAE"):
        RunSpec(MLP_SPEC.dataset, batch_size=8, objective=VAE(), critic=Critic())
