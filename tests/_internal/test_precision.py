"""What a run multiplies in, and what everything else is kept in."""

from dataclasses import dataclass, field, replace
from typing import final

import pytest
import torch
from torch import nn
from torch.utils._pytree import tree_leaves

from tests.training.squares import CONV_SPEC, MLP_SPEC
from unbraid._internal.precision import kept_in, matrix_units, nets_run_in
from unbraid.models import MLP, Architecture, Autoencoder, encode
from unbraid.models.distributions import GaussianLatents, LearnedGaussianPrior
from unbraid.objectives import FactorVAE, Loss, Objective, Step
from unbraid.training import Critic
from unbraid.training.fleet import Fleet
from unbraid.training.optimizers import Adam
from unbraid.training.state import Member


def settings():
    return torch.get_float32_matmul_precision(), torch.backends.cudnn.allow_tf32


@pytest.fixture(params=[("highest", False), ("medium", True)], ids=["none", "all"])
def found(request):
    """Settings that the user may have made before."""
    before = settings()
    products, convolutions = request.param
    torch.set_float32_matmul_precision(products)
    torch.backends.cudnn.allow_tf32 = convolutions
    yield request.param
    torch.set_float32_matmul_precision(before[0])
    torch.backends.cudnn.allow_tf32 = before[1]


@pytest.mark.parametrize(
    ("precision", "device", "within"),
    [
        ("float32", "cuda", ("highest", False)),
        ("float64", "cuda", ("highest", False)),
        ("tf32", "cuda", ("high", True)),
        ("bf16", "cuda", ("high", True)),
        ("tf32", "cpu", ("highest", False)),
        ("bf16", "cpu", ("highest", False)),
    ],
)
def test_products_are_rounded_within_the_block_as_asked_and_as_before_after_it(found, precision, device, within):
    with matrix_units(precision, torch.device(device)):
        assert settings() == within
    assert settings() == found


def test_the_settings_come_back_after_an_error(found):
    with pytest.raises(RuntimeError, match="in between"), matrix_units("tf32", torch.device("cuda")):
        raise RuntimeError("in between")
    assert settings() == found


def test_training_leaves_the_settings_as_it_found_them(found):
    fleet = fleet_of(MLP_SPEC, "tf32")
    fleet.advance()
    fleet.model(0)
    assert settings() == found


def test_what_is_kept_and_what_goes_through_the_nets():
    assert [kept_in(each) for each in ("float32", "tf32", "bf16", "float64")] == [torch.float32] * 3 + [torch.float64]
    nets = [nets_run_in(each) for each in ("float32", "tf32", "bf16", "float64")]
    assert nets == [torch.float32, torch.float32, torch.bfloat16, torch.float64]


# ---- training


def fleet_of(spec, precision, num_steps=0):
    fleet = Fleet([Member(replace(spec, precision=precision), seed) for seed in (0, 1)], spec.dataset.load())
    for _ in range(num_steps):
        fleet.advance()
    return fleet


@pytest.mark.parametrize("spec", [MLP_SPEC, CONV_SPEC], ids=["mlp", "conv"])
def test_on_a_cpu_tf32_is_float32_to_the_bit(spec):
    assert torch.equal(fleet_of(spec, "tf32", 5).weights, fleet_of(spec, "float32", 5).weights)


SEEN: dict[str, list[torch.dtype]] = {}
"""The types that nets and objectives of these tests were shown, by who saw them."""


class _Watched(nn.Module):
    """Notes the type of what comes in and of the weights that it meets."""

    def __init__(self, name: str, num_inputs: int, num_outputs: int) -> None:
        super().__init__()
        self.name, self.linear = name, nn.Linear(num_inputs, num_outputs)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        out = self.linear(x.flatten(1))
        SEEN.setdefault(self.name, []).extend([x.dtype, self.linear.weight.dtype, out.dtype])
        return out


@final
@dataclass(frozen=True)
class WatchedNets(Architecture):
    def make_encoder(self, image_shape, latents):
        return _Watched("encoder", image_shape[1] * image_shape[2], latents.num_parameters)

    def make_decoder(self, num_inputs, image_shape):
        return nn.Sequential(
            _Watched("decoder", num_inputs, image_shape[1] * image_shape[2]), nn.Unflatten(1, image_shape)
        )


@final
@dataclass(frozen=True)
class WatchedFactorVAE(Objective):
    """FactorVAE that notes the types of all that it sees."""

    inner: FactorVAE = field(default_factory=FactorVAE)
    critic_reads = "codes"
    critic_outputs = 2
    needs_other_batch = True

    def draw_shapes(self, batch_size, model, image_shape):
        return self.inner.draw_shapes(batch_size, model, image_shape)

    def __call__(self, step: Step) -> Loss:
        loss = self.inner(step)
        shown = {
            "images": step.x,
            "posterior": step.posterior.mean,
            "codes": step.z,
            "prior": step.prior.log_prob(step.z),
            "likelihood": step.log_likelihood,
            "critic": step.critic(step.z),
            "decoded": step.decode(step.z),
            "loss": loss.total,
        }
        for name, tensor in shown.items():
            SEEN.setdefault(name, []).append(tensor.dtype)
        return loss


WATCHED = replace(
    MLP_SPEC,
    model=Autoencoder(WatchedNets(), latents=GaussianLatents(3, LearnedGaussianPrior())),
    objective=WatchedFactorVAE(),
    critic=Critic(hidden=(4,)),
)


@pytest.mark.parametrize(
    ("precision", "kept", "inside"),
    [
        ("float32", torch.float32, torch.float32),
        ("bf16", torch.float32, torch.bfloat16),
        ("float64", torch.float64, torch.float64),
    ],
)
def test_nets_run_in_the_type_asked_for_and_all_else_in_that_of_the_weights(precision, kept, inside):
    fleet = fleet_of(WATCHED, precision)
    SEEN.clear()  # of what a spec shows its nets before it accepts them
    losses = fleet.advance()
    types = {name: set(each) for name, each in SEEN.items()}
    assert types.pop("encoder") == types.pop("decoder") == {inside}
    assert types.keys() == {"images", "posterior", "codes", "prior", "likelihood", "critic", "decoded", "loss"}
    assert set().union(*types.values()) == {kept}
    assert {tensor.dtype for tensor in (*losses.values(), *tree_leaves(fleet.state(0).tensors))} == {kept}
    assert {tensor.dtype for tensor in fleet.model(0).state_dict().values()} == {kept}


def test_the_critic_runs_in_bf16_too(monkeypatch):
    types, run = set(), nn.LeakyReLU.forward

    def noted(module, x):
        types.add(x.dtype)
        return run(module, x)

    monkeypatch.setattr(nn.LeakyReLU, "forward", noted)
    fleet_of(replace(MLP_SPEC, objective=FactorVAE(), critic=Critic(hidden=(4,))), "bf16", 1)
    assert types == {torch.bfloat16}


class _Centered(nn.Module):
    """Holds a constant of its own."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("gray", torch.full((64,), 0.5))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x.flatten(1) - self.gray


@final
@dataclass(frozen=True)
class CenteredNets(Architecture):
    def make_encoder(self, image_shape, latents):
        return nn.Sequential(_Centered(), nn.Linear(64, latents.num_parameters))

    def make_decoder(self, num_inputs, image_shape):
        return MLP(hidden=(4,), decoder_hidden=(4,)).make_decoder(num_inputs, image_shape)


def test_a_net_that_holds_constants_runs_in_bf16():
    model = Autoencoder(CenteredNets(), latents=GaussianLatents(3))
    assert bool(fleet_of(replace(MLP_SPEC, model=model), "bf16", 1).alive.all())


def test_a_small_change_of_a_weight_is_not_lost_to_bf16():
    # Ten steps of 1e-5 would each round to nothing beside weights of 0.1, if those were kept in bfloat16.
    spec = replace(MLP_SPEC, optimizer=Adam(1e-5))
    moved = (fleet_of(spec, "bf16", 10).weights - fleet_of(spec, "bf16").weights).abs()
    assert float(moved.median()) > 2e-5


@pytest.mark.parametrize("spec", [MLP_SPEC, CONV_SPEC], ids=["mlp", "conv"])
@pytest.mark.slow
def test_a_model_learns_in_bf16_about_as_well_as_in_float32(spec):
    spec = replace(spec, optimizer=Adam(3e-3))

    def last_losses(precision):
        fleet = fleet_of(spec, precision, 100)
        return torch.stack([fleet.advance()["loss"] for _ in range(10)]).mean(dim=0)

    first = fleet_of(spec, "float32").advance()["loss"]
    coarse, fine = last_losses("bf16"), last_losses("float32")
    assert bool((fine < 0.8 * first).all())
    torch.testing.assert_close(coarse, fine, rtol=0.03, atol=0)
    assert not torch.equal(coarse, fine)


def test_a_fleet_in_bf16_goes_on_from_its_states_to_the_same_bits():
    undisturbed, left, joined = (
        fleet_of(MLP_SPEC, "bf16", 5),
        fleet_of(MLP_SPEC, "bf16", 2),
        fleet_of(MLP_SPEC, "bf16", 1),
    )
    joined.restore([left.state(index) for index in range(2)])
    losses = [joined.advance()["loss"] for _ in range(3)]
    assert torch.equal(joined.weights, undisturbed.weights)
    assert torch.equal(losses[0], left.advance()["loss"])


def test_a_member_that_diverges_in_bf16_keeps_its_last_good_weights():
    specs = [replace(MLP_SPEC, precision="bf16", optimizer=Adam(rate)) for rate in (1e-3, 1e30)]
    fleet = Fleet([Member(spec, 0) for spec in specs], MLP_SPEC.dataset.load())
    fleet.advance()
    last_good = fleet.weights[1]
    losses = [fleet.advance()["loss"] for _ in range(3)]
    assert [fleet.failed_at(index) for index in range(2)] == [None, 2]
    assert torch.equal(fleet.weights[1], last_good)
    assert bool(torch.stack(losses)[:, 0].isfinite().all())


def test_a_model_trained_in_bf16_is_used_in_float32():
    images = MLP_SPEC.dataset.load()
    codes = encode(fleet_of(MLP_SPEC, "bf16", 2).model(0), images)
    assert codes.mean.dtype == torch.float32
