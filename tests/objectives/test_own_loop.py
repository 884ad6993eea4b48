"""Objectives in a training loop of one's own: any module, the same numbers as in a fleet."""

from dataclasses import replace

import pytest
import torch
from torch import nn

from tests.discovery import concrete_subclasses
from tests.training.squares import MLP_MODEL, MLP_SPEC
from unbraid import VAE, Autoencoder, BetaTCVAE, BetaVAE
from unbraid.config.schedule import Linear
from unbraid.errors import SpecError
from unbraid.models.distributions import ConcreteLatents, GaussianLikelihood
from unbraid.models.layers.initial_weights import seeded
from unbraid.objectives import DIPVAE, FactorVAE, InfoGAN, Objective
from unbraid.objectives.composite import Composite
from unbraid.training import Critic, Fleet, Member
from unbraid.training.state import of_member

OBJECTIVES = {cls.__name__: cls() for cls in concrete_subclasses(Objective)}
OBJECTIVES |= {
    "InfoGAN": InfoGAN(shared_trunk=False),
    "DIPVAE, running": DIPVAE("ii", mode="moments"),
    "Composite with a critic": Composite(critic=True, critic_total_correlation=2.0),
    "a schedule": BetaVAE(Linear(0.0, 8.0)),
}

MODEL = MLP_MODEL.build((1, 8, 8), seed=0)
IMAGES = torch.rand(6, 1, 8, 8, generator=torch.Generator().manual_seed(0))
NOISE = {"noise": IMAGES[:, 0, 0, :3]}


class Plain(nn.Module):
    """An encoder and a decoder as a user writes them."""

    def __init__(self, model):
        super().__init__()
        self.encoder, self.decoder = model.encoder, model.decoder

    def encode(self, x):
        return self.encoder(x).chunk(2, dim=1)

    def decode(self, z):
        return self.decoder(z)


def in_a_fleet(objective):
    """A fleet of one model and its first inputs."""
    model = replace(MLP_MODEL, noise_inputs=2) if objective.generates else MLP_MODEL
    critic = None if objective.critic_reads is None else Critic(hidden=(8,), channels=(4,))
    spec = replace(MLP_SPEC, objective=objective, model=model, critic=critic)
    fleet = Fleet([Member(spec, 3)], spec.training_data.load())
    return fleet, fleet._steps.step_inputs(fleet._static_inputs()), spec


def loss_of(objective, model, fleet, given, spec):
    """The loss with the draws of the fleet, and the critic."""
    inputs = fleet._steps._loss_inputs(given)
    critic = seeded(spec.make_critic, 0, "critic")
    if critic is not None:
        weights = of_member(fleet._state.tensors, 0).nets["critic"].weights
        critic = critic.to(spec.dtype)
        critic.load_state_dict(weights)
    noise = {"z": given.noise["first"][0]} | {name: draw[0] for name, draw in given.draws.items()}
    other = None
    if "other" in inputs.x:
        noise["other"], other = given.noise["other"][0], inputs.x["other"][0]
    loss = objective.loss(
        model,
        inputs.x["first"][0],
        dataset_size=36,
        progress=given.progress,
        noise=noise,
        other=other,
        critic=critic,
    )
    return loss, critic


@pytest.mark.parametrize("name", OBJECTIVES)
def test_the_loss_and_its_gradients_are_those_of_a_fleet(name):
    objective = OBJECTIVES[name]
    fleet, given, spec = in_a_fleet(objective)
    weights = of_member(fleet._state.tensors, 0).nets["model"].weights
    model = spec.model.build(spec.dataset.image_shape, seed=3).to(spec.dtype)
    model.load_state_dict(model.state_dict() | weights)
    loss, critic = loss_of(objective, model, fleet, given, spec)
    gradient, (logged, _) = fleet._steps._gradients[True](
        given.learned, fleet._steps._loss_inputs(given), given.progress
    )
    torch.testing.assert_close(loss.shown, logged["loss"][0], rtol=1e-6, atol=1e-6)
    for part, value in loss.parts.items():
        torch.testing.assert_close(value, logged[part][0], rtol=1e-6, atol=1e-6)
    (loss.total if loss.critic is None else loss.total + loss.critic).backward()
    for module, which in ((model, "model"), (critic, "critic")):
        for key, parameter in [] if module is None else module.named_parameters():
            found = torch.zeros_like(parameter) if parameter.grad is None else parameter.grad
            torch.testing.assert_close(found, gradient[which][key][0], rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("objective", [VAE(), BetaVAE(4.0), BetaTCVAE()], ids=lambda each: type(each).__name__)
def test_a_plain_module_has_the_loss_of_the_model_with_its_nets(objective):
    model = MLP_MODEL.build((1, 8, 8), seed=0)
    x, noise = IMAGES, IMAGES[:, 0, 0, :3]
    plain = objective.loss(Plain(model), x, dataset_size=100, noise=noise)
    torch.testing.assert_close(plain.total, objective.loss(model, x, dataset_size=100, noise=noise).total)


def test_ten_lines_of_pytorch_train_the_model_of_a_fleet():
    spec = replace(MLP_SPEC, objective=BetaTCVAE(beta=4.0), num_steps=20)
    fleet = Fleet([Member(spec, 0)], spec.training_data.load())
    model = spec.model.build(spec.dataset.image_shape, seed=0).to(spec.dtype)
    optimizer = torch.optim.Adam(model.parameters(), lr=spec.optimizer.learning_rate)
    for _ in range(spec.num_steps):
        given = fleet._steps.step_inputs(fleet._static_inputs())
        x, noise = fleet._steps._loss_inputs(given).x["first"][0], given.noise["first"][0]
        loss = spec.objective.loss(model, x, dataset_size=36, progress=given.progress, noise=noise)
        optimizer.zero_grad()
        loss.total.backward()
        optimizer.step()
        fleet.advance()
    trained = of_member(fleet._state.tensors, 0).nets["model"].weights
    for name, parameter in model.named_parameters():
        torch.testing.assert_close(parameter.detach(), trained[name], rtol=1e-6, atol=1e-6)


def test_the_loss_of_vectors_is_that_of_images_of_one_row():
    class OfVectors(nn.Module):
        def encode(self, x):
            return x[:, :3], x[:, 3:6]

        def decode(self, z):
            return z @ IMAGES[0, 0, :3]

    class OfRows(OfVectors):
        def encode(self, x):
            return super().encode(x[:, 0, 0])

        def decode(self, z):
            return super().decode(z)[:, None, None]

    x, inputs = IMAGES[:, 0, 0], {"dataset_size": 70, "likelihood": GaussianLikelihood()} | NOISE
    of_rows = VAE().loss(OfRows(), x[:, None, None], **inputs)
    torch.testing.assert_close(VAE().loss(OfVectors(), x, **inputs).total, of_rows.total)


def test_a_generator_repeats_the_draws():
    model, x = MLP_MODEL.build((1, 8, 8), seed=0), IMAGES
    first, second, other = (
        VAE().loss(model, x, dataset_size=9, generator=torch.Generator().manual_seed(seed)).total for seed in (1, 1, 2)
    )
    assert first == second
    assert first != other


def test_the_state_of_a_loss_is_that_of_the_next():
    objective, model = DIPVAE("i", mode="ema"), MLP_MODEL.build((1, 8, 8), seed=0)
    first = objective.loss(model, IMAGES, dataset_size=9, **NOISE)
    alone = objective.loss(model, IMAGES / 2, dataset_size=9, **NOISE).state["covariance"]
    second = objective.loss(model, IMAGES / 2, dataset_size=9, state=first.state, **NOISE).state["covariance"]
    torch.testing.assert_close(second, objective.decay * first.state["covariance"] + (1 - objective.decay) * alone)


class NoDecoder(nn.Module):
    def encode(self, x):
        return x.flatten(1)


class OneTensor(NoDecoder):
    def decode(self, z):
        return z


class WrongLogits(Plain):
    def decode(self, z):
        return self.decoder(z)[:, :, 1:]


@pytest.mark.parametrize(
    ("objective", "model", "inputs", "words"),
    [
        (VAE(), NoDecoder(), {}, "NoDecoder.* decode"),
        (VAE(), OneTensor(), {}, r"encode\(x\) returned a Tensor"),
        (VAE(), WrongLogits(MODEL), NOISE, r"decode\(z\) returned shape \(6, 1, 7, 8\)"),
        (VAE(), MODEL, {"dataset_size": 0}, "dataset_size is 0"),
        (VAE(), MODEL, {"x": IMAGES.byte()}, "torch.uint8"),
        (VAE(), MODEL, {"noise": torch.zeros(6, 4)}, r"'z' of shape \(6, 4\)"),
        (VAE(), MODEL, {"likelihood": GaussianLikelihood()}, "GaussianLikelihood"),
        (FactorVAE(), MODEL, {}, "other is None"),
        (FactorVAE(), MODEL, {"other": IMAGES}, "2 outputs.*codes"),
        (InfoGAN(), MODEL, {"critic": nn.Identity()}, "shared_trunk=False"),
    ],
)
def test_missing_or_wrong_inputs_are_named(objective, model, inputs, words):
    with pytest.raises(SpecError, match=words):
        objective.loss(model, **({"x": IMAGES, "dataset_size": 36} | inputs))


def test_a_critic_learns_from_its_own_loss_alone():
    objective = FactorVAE(10.0)
    critic = objective.build_critic(3, hidden=(8,))
    inputs = {"dataset_size": 36, "other": IMAGES.flip(0), "critic": critic, "generator": torch.Generator()}
    of_critic = torch.autograd.grad(
        objective.loss(MODEL, IMAGES, **inputs).critic, [*MODEL.parameters(), *critic.parameters()], allow_unused=True
    )
    num_of_model = len(list(MODEL.parameters()))
    assert all(each is None for each in of_critic[:num_of_model])
    assert all(each is not None for each in of_critic[num_of_model:])
    of_model = torch.autograd.grad(
        objective.loss(MODEL, IMAGES, **inputs).total, list(critic.parameters()), allow_unused=True
    )
    assert all(each is None for each in of_model)


def test_critics_that_cannot_be_built_are_refused():
    with pytest.raises(SpecError, match="VAE"):
        VAE().build_critic(3)
    with pytest.raises(SpecError, match="image_shape"):
        InfoGAN(shared_trunk=False).build_critic(3)
    critic = InfoGAN(shared_trunk=False).build_critic(3, hidden=(8,), image_shape=(1, 8, 8), channels=(4,))
    assert critic(IMAGES).shape == (6, 1)


def test_models_with_discrete_latents():
    latents = ConcreteLatents(3)
    model = Autoencoder(MLP_MODEL.encoder, latents=latents).build((1, 8, 8), seed=0)
    generator = torch.Generator().manual_seed(0)
    assert VAE().loss(model, IMAGES, dataset_size=36, generator=generator).total.isfinite()
