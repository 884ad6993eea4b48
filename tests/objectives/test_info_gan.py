"""InfoGAN: a generator, a critic of images, and an encoder that reads the codes off what was generated."""

import math
from dataclasses import dataclass, replace
from typing import final

import pytest
import torch
from scipy import stats
from torch import nn
from torch.func import grad
from torch.nn.functional import binary_cross_entropy_with_logits

from tests.objectives.steps import encoded, step_for
from tests.training.squares import MLP_SPEC
from unbraid.config.schedule import Linear
from unbraid.errors import SpecError
from unbraid.models import Architecture, Autoencoder
from unbraid.models.distributions import (
    ConcreteLatents,
    DeterministicLatents,
    DiagonalGaussian,
    GaussianLatents,
    GaussianLikelihood,
    GroupedLatents,
    LearnedGaussianLikelihood,
    LearnedGaussianPrior,
    UniformPrior,
)
from unbraid.models.layers.initial_weights import seeded
from unbraid.objectives import AAE, InfoGAN
from unbraid.training import Critic
from unbraid.training.optimizers import Adam

OBJECTIVE = InfoGAN(weight=0.3, discrete_weight=2.0, instance_noise=0.2)


def a_step(objective=OBJECTIVE, **settings):
    return replace(step_for(objective, **settings), prior=UniformPrior(-1.0, 1.0))


def test_its_parts_are_those_of_the_paper_worked_out_one_by_one():
    step = a_step()
    code = torch.from_numpy(2 * stats.norm.cdf(step.draws["code"]) - 1)
    image = torch.sigmoid(step.decode(torch.cat([code, step.draws["noise"]], dim=1)))
    read = encoded(image + 0.2 * step.draws["fake"], 3)
    log_q = stats.norm.logpdf(code, read.mean, read.std).sum(axis=1).mean()
    real, fake = step.critic(step.x + 0.2 * step.draws["real"]), step.critic(image + 0.2 * step.draws["fake"])
    ones, zeros = torch.ones_like(real), torch.zeros_like(real)
    generator = binary_cross_entropy_with_logits(fake, ones).item()
    loss = OBJECTIVE(step)
    assert loss.parts["generator"].item() == pytest.approx(generator)
    assert loss.parts["code_information"].item() == pytest.approx(log_q + 3 * math.log(2))
    assert loss.total.item() == pytest.approx(generator - 0.3 * (log_q + 3 * math.log(2)))
    expected = binary_cross_entropy_with_logits(real, ones) + binary_cross_entropy_with_logits(fake, zeros)
    assert loss.critic.item() == pytest.approx(expected.item())


def test_what_is_read_off_is_never_more_than_the_mutual_information():
    # x = c + noise of variance v, with c ~ N(0, 1): I(c; x) = log(1 + 1 / v) / 2, reached by the true Q(c | x) = N(x /
    # (1 + v), v / (1 + v)).
    v, bound = 0.5, math.log(3) / 2
    step = step_for(OBJECTIVE, batch=40_000, latents=1)
    step = replace(
        step,
        likelihood=GaussianLikelihood(),
        decode=lambda z: (z[:, 0] + math.sqrt(v) * z[:, 1])[:, None, None, None].expand(-1, 1, 2, 2),
    )

    def information(log_var, scale):
        def encode(x):
            x = x[:, 0, 0, :1]
            return DiagonalGaussian(scale * x, torch.full_like(x, log_var))

        silent = replace(OBJECTIVE, instance_noise=0.0)
        return silent(replace(step, encode=encode)).parts["code_information"].item()

    # The error of the mean of 40,000 log densities is 0.005.
    assert information(math.log(v / (1 + v)), 1 / (1 + v)) == pytest.approx(bound, abs=0.025)
    assert information(0.0, 1 / (1 + v)) < bound - 0.05
    assert information(math.log(v / (1 + v)), 0.9) < bound - 0.05


def test_instance_noise_is_on_real_and_generated_images_alike():
    seen = []

    def critic(images):
        seen.append(images)
        return images.flatten(1)[:, :1]

    step = replace(a_step(), critic_in_training=critic)
    OBJECTIVE(step)
    replace(OBJECTIVE, instance_noise=0.0)(step)
    noisy_real, noisy_fake, real, fake = seen
    torch.testing.assert_close(noisy_real - real, 0.2 * step.draws["real"])
    torch.testing.assert_close(noisy_fake - fake, 0.2 * step.draws["fake"])


def test_the_reconstruction_is_logged_and_not_trained():
    step = a_step()
    other = replace(step, log_likelihood=step.log_likelihood - 5)
    assert torch.equal(OBJECTIVE(other).total, OBJECTIVE(step).total)
    assert (OBJECTIVE(other).parts["distortion"] - OBJECTIVE(step).parts["distortion"]).item() == pytest.approx(5)


def test_discrete_codes_have_a_weight_of_their_own():
    latents = GroupedLatents((GaussianLatents(2, prior=UniformPrior()), ConcreteLatents(4)))
    model, generator = Autoencoder(latents=latents), torch.Generator().manual_seed(0)
    step = step_for(OBJECTIVE)
    draws = {
        name: torch.randn(shape, dtype=torch.float64, generator=generator)
        for name, shape in OBJECTIVE.draw_shapes(5, model, (1, 2, 2)).items()
    }
    parameters = torch.randn(5, latents.num_parameters, dtype=torch.float64, generator=generator)
    at_the_end = torch.ones((), dtype=torch.float64)
    step = replace(
        step,
        draws=draws,
        prior=latents.make_prior()(at_the_end),
        encode=lambda x: latents.posterior(parameters, at_the_end),
    )
    code = step.prior.sample(draws["code"])
    log_q = latents.posterior(parameters, at_the_end).log_prob(code).mean(dim=0)
    entropy = torch.tensor([math.log(2), math.log(2), math.log(4)]).double()
    weights = torch.tensor([0.3, 0.3, 2.0]).double()
    loss = OBJECTIVE(step)
    torch.testing.assert_close(
        loss.total, loss.parts["generator"] - (weights * (log_q + entropy)).sum(), rtol=1e-6, atol=0
    )


def test_the_encoder_learns_from_generated_images_alone():
    step = a_step()

    def total(scale, where):
        def encode(x):
            return DiagonalGaussian(scale * x.flatten(1)[:, :3], torch.zeros(5, 3).double())

        posterior = encode(step.x) if where == "real" else step.posterior
        return OBJECTIVE(
            replace(step, posterior=posterior, encode=encode if where == "generated" else step.encode)
        ).total

    one = torch.ones((), dtype=torch.float64)
    assert grad(total)(one, "real") == 0
    assert grad(total)(one, "generated") != 0


# Settings


def test_its_defaults():
    assert InfoGAN() == InfoGAN(weight=0.1, discrete_weight=1.0, instance_noise=Linear(0.1, 0.0), shared_trunk=True)


@pytest.mark.parametrize("name", ["weight", "discrete_weight", "instance_noise"])
@pytest.mark.parametrize("value", [-1.0, math.nan])
def test_a_weight_that_is_negative_or_not_finite_is_refused_by_name(name, value):
    with pytest.raises(SpecError, match=f"InfoGAN: {name} is {value}"):
        InfoGAN(**{name: value})


def spec(latents):
    return replace(
        MLP_SPEC,
        model=replace(MLP_SPEC.model, latents=latents, noise_inputs=5),
        objective=InfoGAN(),
        critic=Critic(hidden=(8,), channels=(4,)),
    )


def test_codes_that_cannot_be_drawn_or_read_are_refused_when_the_spec_is_built():
    assert spec(GaussianLatents(3, prior=UniformPrior())).objective == InfoGAN()
    with pytest.raises(SpecError, match="density"):
        spec(DeterministicLatents(3))
    with pytest.raises(SpecError, match="InfoGAN"):
        spec(GaussianLatents(3, prior=LearnedGaussianPrior()))


def test_the_critic_reads_what_the_encoder_makes_of_an_image_before_its_last_layer():
    critic = seeded(spec(GaussianLatents(3)).make_critic, 0)
    assert [layer.in_features for layer in critic if isinstance(layer, nn.Linear)] == [12, 8]
    apart = replace(spec(GaussianLatents(3)), objective=InfoGAN(shared_trunk=False))
    assert isinstance(seeded(apart.make_critic, 0)[0], nn.Conv2d)


def test_a_critic_behind_a_shared_trunk_is_small_and_slow_unless_one_is_given():
    shared = replace(spec(GaussianLatents(3)), critic=None)
    assert shared.critic_or_default == Critic(hidden=(128,), optimizer=Adam(2e-4, betas=(0.5, 0.999)))
    assert replace(shared, objective=AAE()).critic_or_default == Critic()
    assert spec(GaussianLatents(3)).critic_or_default == Critic(hidden=(8,), channels=(4,))


@final
@dataclass(frozen=True)
class OneLayer(Architecture):
    """A net without a trunk."""

    def make_encoder(self, image_shape, latents):
        return nn.Sequential(nn.Sequential(nn.Flatten(), nn.Linear(math.prod(image_shape), latents.num_parameters)))

    def make_decoder(self, num_inputs, image_shape):
        return nn.Sequential(nn.Linear(num_inputs, math.prod(image_shape)), nn.Unflatten(1, image_shape))


def test_an_encoder_without_a_trunk_is_refused_unless_the_critic_is_apart():
    model = replace(MLP_SPEC.model, encoder=OneLayer())
    with pytest.raises(SpecError, match="last layer.*shared_trunk=False"):
        replace(MLP_SPEC, model=model, objective=InfoGAN())
    assert replace(
        MLP_SPEC, model=model, objective=InfoGAN(shared_trunk=False), critic=Critic(hidden=(8,), channels=(4,))
    )


def test_a_variance_that_nothing_would_teach_is_refused_when_the_spec_is_built():
    with pytest.raises(SpecError, match="GaussianLikelihood"):
        replace(
            spec(GaussianLatents(3)),
            model=Autoencoder(latents=GaussianLatents(3), likelihood=LearnedGaussianLikelihood()),
        )
