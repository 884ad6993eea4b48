"""What only a GPU does: steps that were compiled and are replayed train as the same steps do one by one.

Each case compiles its step, which takes some seconds, so tests share them. This file needs neither the plugins nor the
guards of the other tests:

    python -m pytest -c /dev/null --rootdir . --noconftest tests/training/test_on_the_gpu.py
"""

import functools
import math
from dataclasses import dataclass, replace
from typing import final

import pytest
import torch
from torch import nn
from torch.utils._pytree import tree_leaves

from tests.training.squares import CONV_SPEC, MLP_SPEC
from unbraid.config.schedule import Linear
from unbraid.models import Architecture, Autoencoder
from unbraid.models.distributions import GaussianLatents
from unbraid.objectives import VAE, AnchorVAE, BetaTCVAE, FactorVAE
from unbraid.training import Critic
from unbraid.training.compilation import CompileCache
from unbraid.training.fleet import Fleet
from unbraid.training.optimizers import Adam
from unbraid.training.state import Member, named_leaves

DEVICE = "cuda"
pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")

NUM_STEPS = 20  # over the ends of four epochs
SEEDS = (3, 1, 4)


@final
@dataclass(frozen=True)
class OddNets(Architecture):
    """Nets of somebody's own: torch's convolutions with kernels of 5 and 3, and BatchNorm."""

    def make_encoder(self, image_shape, latents):
        # Without a bias, which BatchNorm would cancel: its gradient is nothing but rounding, and Adam makes full steps
        # of it.
        convolution = nn.Conv2d(image_shape[0], 4, 5, stride=2, padding=2, bias=False)
        return nn.Sequential(
            convolution, nn.BatchNorm2d(4), nn.ReLU(), nn.Flatten(), nn.Linear(4 * 4 * 4, latents.num_parameters)
        )

    def make_decoder(self, num_inputs, image_shape):
        upwards = nn.ConvTranspose2d(4, image_shape[0], 3, stride=2, padding=1, output_padding=1)
        return nn.Sequential(nn.Linear(num_inputs, 4 * 4 * 4), nn.ReLU(), nn.Unflatten(1, (4, 4, 4)), upwards)


def spec_of(spec, **changes):
    return replace(spec, precision="float32", num_steps=NUM_STEPS, **changes)


CASES = {
    "mlp": spec_of(MLP_SPEC, objective=BetaTCVAE(beta=2.0), max_gradient_norm=50.0),
    "conv-weighted": spec_of(CONV_SPEC, objective=BetaTCVAE(beta=Linear(1.0, 4.0), estimator="stratified_pairs")),
    "critic-streamed": spec_of(
        MLP_SPEC, objective=FactorVAE(gamma=5.0), critic=Critic(hidden=(8, 8), optimizer=Adam(1e-3, betas=(0.5, 0.9)))
    ),
    "anchors": spec_of(MLP_SPEC, objective=AnchorVAE()),
    "own-nets": spec_of(MLP_SPEC, objective=VAE(), model=Autoencoder(OddNets(), latents=GaussianLatents(3))),
    "conv-bf16": replace(spec_of(CONV_SPEC, objective=BetaTCVAE()), precision="bf16"),
}
IN_FLOAT32 = [name for name, spec in CASES.items() if spec.precision == "float32"]


@functools.cache
def images_of(case, device=DEVICE):
    images = CASES[case].training_data.open()
    if case == "conv-weighted":
        images = replace(images, weights=torch.linspace(0, 1, len(images)) / torch.linspace(0, 1, len(images)).sum())
    return images.streamed_to(device) if case == "critic-streamed" else images.to(device)


@functools.cache
def programs_of(case):
    del case
    return CompileCache()


def fleet_of(case, device=DEVICE, specs=None, seeds=SEEDS):
    specs = specs or [CASES[case]] * len(seeds)
    members = [Member(spec, seed) for spec, seed in zip(specs, seeds, strict=True)]
    return Fleet(members, images_of(case, device), cache=programs_of(case))


def prepared(case, **options):
    """A fleet that is compiled, and the seconds that took."""
    fleet = fleet_of(case, **options)
    return fleet, fleet.prepare()


def train(fleet, num_steps=NUM_STEPS):
    return torch.stack([fleet.advance()["loss"] for _ in range(num_steps)]).cpu()


@functools.cache
def step_by_step(case, device=DEVICE):
    """A fleet after its steps, none of them compiled, and its losses. Shared: read it, do not advance it."""
    fleet = fleet_of(case, device)
    return fleet, train(fleet)


@functools.cache
def replayed(case):
    """The same, compiled. The first to be compiled of its case."""
    fleet, seconds = prepared(case)
    assert seconds > 0
    assert fleet.prepare() == 0.0
    return fleet, train(fleet)


def assert_close(ours, theirs, tolerance):
    """What members carry differs by a small share of its length, tensor by tensor. Of weights alone: moments of tiny
    gradients are all rounding.
    """
    for index in range(len(ours.members)):
        states = [named_leaves(fleet.state(index).tensors) for fleet in (ours, theirs)]
        assert states[0].keys() == states[1].keys()
        for name in states[0]:
            if name.startswith(("model.weights.", "critic.weights.")):
                difference, length = float((states[0][name] - states[1][name]).norm()), float(states[1][name].norm())
                # A bias may still be almost 0: beside the length of twenty steps of Adam, then.
                most = tolerance * max(length, 1e-3 * NUM_STEPS * math.sqrt(states[1][name].numel()))
                assert difference <= most, f"{name} of member {index} is {difference:.1e} off, of {length:.1e}"


# ---- the same training


@pytest.mark.parametrize("case", IN_FLOAT32)
def test_compiled_steps_are_the_steps(case):
    (fleet, losses), (reference, expected) = replayed(case), step_by_step(case)
    start = fleet_of(case)
    torch.testing.assert_close(losses, expected, rtol=1e-4, atol=0)
    # 1e-4 of the weights: sums are taken in another order, and Adam divides by the root of small second moments.
    assert_close(fleet, reference, 1e-4)
    assert bool(fleet.alive.all())
    assert not torch.allclose(fleet.weights, start.weights, atol=5e-3)


@pytest.mark.parametrize("case", IN_FLOAT32)
def test_they_are_those_of_a_cpu(case):
    _, expected = step_by_step(case, "cpu")
    torch.testing.assert_close(replayed(case)[1], expected, rtol=1e-3, atol=0)
    torch.testing.assert_close(step_by_step(case)[1], expected, rtol=1e-3, atol=0)


def test_in_bf16_losses_are_about_those_of_float32_and_weights_stay_float32():
    fleet, losses = replayed("conv-bf16")
    reference = Fleet(
        [Member(replace(CASES["conv-bf16"], precision="float32"), seed) for seed in SEEDS], images_of("conv-bf16")
    )
    torch.testing.assert_close(losses, train(reference), rtol=0.02, atol=0)
    assert not torch.equal(fleet.weights, reference.weights)
    assert {tensor.dtype for tensor in (*tree_leaves(fleet.state(0).tensors), losses)} == {torch.float32}


def test_every_part_of_the_loss_is_logged_and_is_not_overwritten_by_the_next_step():
    fleet, _ = prepared("mlp")
    first = fleet.advance()
    kept = {name: value.clone() for name, value in first.items()}
    second = fleet.advance()
    expected = fleet_of("mlp").advance()
    assert first.keys() == second.keys() == expected.keys()
    for name, value in expected.items():
        torch.testing.assert_close(first[name], value, rtol=1e-4, atol=1e-4)
        assert torch.equal(first[name], kept[name])
    assert not torch.equal(first["loss"], second["loss"])


@pytest.mark.parametrize("case", ["mlp", "critic-streamed"])
def test_without_a_log_training_is_the_same(case):
    logged, _ = replayed(case)
    silent, _ = prepared(case)
    for _ in range(NUM_STEPS):
        assert silent.advance(log=False) == {}
    assert silent.step == logged.step
    assert_close(silent, logged, 1e-6)


# ---- leaving and joining


@pytest.mark.parametrize("case", ["mlp", "critic-streamed"])
def test_a_compiled_fleet_goes_on_from_states(case):
    whole, losses = replayed(case)
    left, _ = prepared(case)
    train(left, 7)
    joined, _ = prepared(case)
    train(joined, 2)  # to be forgotten
    joined.restore([left.state(index) for index in range(len(SEEDS))])
    assert joined.step == 7
    torch.testing.assert_close(train(joined, NUM_STEPS - 7), losses[7:], rtol=1e-5, atol=0)
    assert_close(joined, whole, 1e-6)


def test_what_was_trained_compiled_goes_on_step_by_step_and_the_other_way_round():
    _, expected = step_by_step("mlp")
    for first, second in ((prepared("mlp")[0], fleet_of("mlp")), (fleet_of("mlp"), prepared("mlp")[0])):
        train(first, 9)
        second.restore([first.state(index) for index in range(len(SEEDS))])
        torch.testing.assert_close(train(second, NUM_STEPS - 9), expected[9:], rtol=1e-4, atol=0)


def test_a_member_can_be_taken_out_as_a_plain_model():
    fleet, _ = replayed("own-nets")
    model = fleet.model(1)
    assert torch.equal(nn.utils.parameters_to_vector(model.parameters()).detach(), fleet.weights[1])
    assert bool(model.encode(images_of("own-nets").batch(torch.arange(4, device=DEVICE))).mean.isfinite().all())


# ---- one program, many fleets


def test_a_second_fleet_of_the_same_programs_is_not_compiled_and_becomes_what_it_is_alone():
    replayed("mlp")
    specs = [
        replace(CASES["mlp"], objective=BetaTCVAE(beta=beta), optimizer=Adam(rate))
        for beta, rate in ((1.0, 1e-3), (8.0, 1e-3), (8.0, 3e-3))
    ]
    fleet, seconds = prepared("mlp", specs=specs, seeds=(7, 7, 8))
    assert seconds == 0.0
    reference = fleet_of("mlp", specs=specs, seeds=(7, 7, 8))
    torch.testing.assert_close(train(fleet), train(reference), rtol=1e-4, atol=0)
    assert_close(fleet, reference, 1e-4)


def test_fleets_of_the_same_programs_can_be_trained_in_turns():
    ours, theirs = prepared("mlp")[0], prepared("mlp", seeds=(8, 9, 10))[0]
    for _ in range(NUM_STEPS):
        ours.advance(), theirs.advance()
    assert_close(ours, replayed("mlp")[0], 1e-6)


# ---- members that fail


def test_a_member_that_diverges_is_stopped_alone():
    absurd = replace(CASES["mlp"], optimizer=Adam(1e30))
    fleet, _ = prepared("mlp", specs=[CASES["mlp"], absurd, CASES["mlp"]])
    fleet.advance()
    last_good = fleet.weights[1].clone()
    losses = train(fleet, NUM_STEPS - 1)
    assert [fleet.failed_at(index) for index in range(3)] == [None, 2, None]
    assert not bool(losses[0, 1].isfinite())
    assert torch.equal(fleet.weights[1], last_good)
    assert bool(last_good.isfinite().all())
    whole, _ = replayed("mlp")
    torch.testing.assert_close(fleet.weights[[0, 2]], whole.weights[[0, 2]], rtol=0, atol=1e-6)
    assert fleet.state(1).failed_at == 2


@pytest.fixture(scope="module", autouse=True)
def _memory_is_given_back():
    yield
    for cached in (images_of, programs_of, step_by_step, replayed):
        cached.cache_clear()
    if torch.cuda.is_available():
        torch.cuda.empty_cache()
