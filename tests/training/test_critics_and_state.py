"""Objectives with a critic, with a second batch, with a state and with schedules, in the one loop that trains all
others.
"""

from dataclasses import dataclass, replace
from typing import final

import pytest
import torch
from torch import nn
from torch.distributions import Normal, kl_divergence
from torch.nn.functional import binary_cross_entropy_with_logits, cross_entropy

from tests.slow import slow_but
from tests.training.critic_specs import CRITIC, SPECS, flat, spec_of, tensors
from tests.training.short_runs import stopped
from tests.training.squares import MLP_SPEC, result
from tests.training.trained_fleets import seeds_of, trained
from unbraid._internal import draws
from unbraid.config.schedule import Cosine, Linear
from unbraid.models.layers.initial_weights import seeded
from unbraid.objectives import DIPVAE, FactorVAE, Loss, Objective, Step
from unbraid.training import train
from unbraid.training.fleet import Fleet
from unbraid.training.optimizers import Adam
from unbraid.training.state import Member, fleet_key

every_spec = pytest.mark.parametrize("spec", SPECS.values(), ids=SPECS)


# A critic, a state, and images that the critic reads. The others are in tests/test_every_combination.py.
KINDS = ("factor-vae", "dip-i-moments", "infogan")


one_of_each_kind = pytest.mark.parametrize("spec", [SPECS[name] for name in KINDS], ids=KINDS)


# ---- against a textbook


def textbook_factor_vae(spec, seed, num_steps):
    """Kim & Mnih, arXiv:1802.05983v3, algorithm 2, for one model, with two of torch's own Adams.

    Both losses are taken before either optimizer moves, the codes the critic sees are constants, and each step updates
    both nets once: three peers let the critic's loss reach the encoder, one steps the critic before the encoder's loss
    goes back through it, one counts each update as a step.
    """
    images, seeds = spec.dataset.load(), torch.tensor([seed])
    N, B = len(images), spec.batch_size
    model = spec.model.build(images.image_shape, seed).double()
    critic = seeded(spec.make_critic, seed, "critic").double()
    optimizer = torch.optim.Adam(model.parameters(), lr=spec.optimizer.learning_rate)
    critics = torch.optim.Adam(critic.parameters(), lr=CRITIC.optimizer.learning_rate, betas=CRITIC.optimizer.betas)

    def encoded(stream, noise, step):
        epoch, place = divmod(step, N // B)
        rows = draws.permutation(seeds, stream, epoch, N)[0, place * B : (place + 1) * B]
        x = images.pixels[rows].double() / 255
        mean, log_var = model.encoder(x).chunk(2, dim=1)
        posterior = Normal(mean, (log_var / 2).exp())
        return x, posterior, mean + posterior.scale * draws.normal(seeds, noise, step, (B, 3))[0]

    for step in range(num_steps):
        x, posterior, z = encoded("batch", "noise", step)
        rate = kl_divergence(posterior, Normal(0.0, 1.0)).sum() / B
        logits = critic(z)
        loss = binary_cross_entropy_with_logits(model.decoder(z), x, reduction="sum") / B + rate
        loss = loss + spec.objective.gamma * (logits[:, 0] - logits[:, 1]).mean()
        with torch.no_grad():
            _, _, other = encoded("other batch", "other noise", step)
            order = draws.normal(seeds, "objective permutation", step, (B, 3))[0].argsort(dim=0)
            permuted = torch.stack([other[order[:, j], j] for j in range(3)], dim=1)
        labels = torch.zeros(B, dtype=torch.int64)
        critic_loss = (cross_entropy(critic(z.detach()), labels) + cross_entropy(critic(permuted), labels + 1)) / 2
        of_model = torch.autograd.grad(loss, list(model.parameters()))
        of_critic = torch.autograd.grad(critic_loss, list(critic.parameters()))
        for net, gradients, adam in ((model, of_model, optimizer), (critic, of_critic, critics)):
            for parameter, gradient in zip(net.parameters(), gradients, strict=True):
                parameter.grad = gradient
            adam.step()
    return [nn.utils.parameters_to_vector(net.parameters()).detach() for net in (model, critic)]


def test_factor_vae_in_a_fleet_is_the_textbook_loop_with_two_optimizers():
    spec = spec_of(FactorVAE())
    fleet = trained((Member(spec, 3),), 15)
    model, critic = textbook_factor_vae(spec, 3, 15)
    torch.testing.assert_close(fleet.weights[0], model, rtol=0, atol=1e-8)
    torch.testing.assert_close(flat(fleet, 0, "critic.weights"), critic, rtol=0, atol=1e-8)


def test_the_weights_of_critic_and_model_begin_as_different_numbers():
    fleet = trained(seeds_of(SPECS["aae"], 0), 0)
    model, critic = fleet.weights[0], flat(fleet, 0, "critic.weights")
    size = min(len(model), len(critic), 48)
    correlation = torch.corrcoef(torch.stack([model[:size], critic[:size]]))[0, 1]
    assert abs(correlation) < 0.5


# ---- a member is the same in any company


@one_of_each_kind
def test_a_member_is_the_same_alone_and_among_three_in_another_order(spec):
    alone, company = trained(seeds_of(spec, 3)), trained(seeds_of(spec, 0, 3, 1))
    assert bool(company.alive.all())
    for name, tensor in tensors(alone, 0).items():
        torch.testing.assert_close(tensors(company, 1)[name], tensor, rtol=0, atol=1e-8)
    assert not torch.allclose(company.weights[0], company.weights[1], atol=1e-3)


@one_of_each_kind
def test_a_fleet_goes_on_from_its_states_to_the_same_bits(spec):
    members = seeds_of(spec, 0, 1)
    undisturbed, left = trained(members), trained(members, 7)
    joined = Fleet(members, spec.dataset.load())
    joined.restore([left.state(index) for index in range(2)])
    for _ in range(3):
        joined.advance()
    for index in range(2):
        states = tensors(joined, index), tensors(undisturbed, index)
        assert states[0].keys() == states[1].keys()
        assert all(torch.equal(tensor, states[1][name]) for name, tensor in states[0].items())


@one_of_each_kind
def test_every_net_moves_and_every_part_is_a_number(spec):
    start, fleet = trained(seeds_of(spec, 0, 1), 0), trained(seeds_of(spec, 0, 1))
    for name, tensor in tensors(fleet, 0).items():
        assert not torch.equal(tensor, tensors(start, 0)[name]), f"{name} did not change"


def test_what_a_state_holds():
    def held(name):
        return {each: tuple(tensor.shape) for each, tensor in tensors(trained(seeds_of(SPECS[name], 0, 1)), 0).items()}

    def with_moments(which, net):
        shapes = {name: tuple(parameter.shape) for name, parameter in net.named_parameters()}
        kinds = ("weights", "optimizer_state.first_moment", "optimizer_state.second_moment")
        return {f"{which}.{kind}.{name}": shape for kind in kinds for name, shape in shapes.items()}

    spec = SPECS["aae"]
    model = with_moments("model", spec.model.build(spec.dataset.image_shape, 0))
    assert len(model) > 3
    assert held("dip-i") == model
    assert held("aae") == model | with_moments("critic", seeded(spec.make_critic, 0, "critic"))
    assert held("dip-i-moments") == model | {
        "objective.started": (),
        "objective.first_moment": (3,),
        "objective.second_moment": (3, 3),
    }


def test_members_may_differ_in_their_schedules_and_share_a_fleet():
    specs = [spec_of(FactorVAE(gamma)) for gamma in (0.0, Linear(0.0, 50.0), Cosine(5.0, 1.0))]
    assert len({fleet_key(spec) for spec in specs}) == 1
    weights = trained(tuple(Member(spec, 0) for spec in specs)).weights
    for row, spec in zip(weights, specs, strict=True):
        torch.testing.assert_close(row, trained(seeds_of(spec, 0)).weights[0], rtol=0, atol=1e-8)


def test_dip_vaes_with_and_without_a_diagonal_of_their_own_share_a_fleet():
    specs = [spec_of(DIPVAE(diagonal=diagonal)) for diagonal in (None, 100.0, 5.0)]
    assert len({fleet_key(spec) for spec in specs}) == 1
    weights = trained(tuple(Member(spec, 0) for spec in specs)).weights
    torch.testing.assert_close(weights[0], weights[1], rtol=0, atol=1e-12)
    assert not torch.allclose(weights[1], weights[2], atol=1e-3)


# ---- members that fail


@pytest.mark.parametrize("name", ["factor-vae", "dip-ii-ema"])
def test_a_member_that_fails_keeps_its_critic_and_its_state_and_the_others_go_on(name):
    spec = SPECS[name]
    absurd = replace(spec, optimizer=Adam(1e30))
    fleet = Fleet([Member(spec, 0), Member(absurd, 1)], spec.dataset.load())
    fleet.advance()
    last_good = tensors(fleet, 1)
    for _ in range(5):
        fleet.advance()
    assert fleet.alive.tolist() == [True, False]
    kept = [each for each in last_good if each.startswith(("model.weights.", "critic.weights.", "objective."))]
    assert len({each.split(".")[0] for each in kept}) == 2
    for each in kept:
        assert torch.equal(tensors(fleet, 1)[each], last_good[each])
    torch.testing.assert_close(fleet.weights[0], trained(seeds_of(spec, 0), 6).weights[0], rtol=0, atol=1e-12)


# ---- the second batch


@final
@dataclass(frozen=True)
class Watcher(Objective):
    """Tells which images it was shown, by their light."""

    @property
    def needs_other_batch(self) -> bool:
        return True

    def draw_shapes(self, batch_size, model, image_shape):
        return {"a": (batch_size, model.latents.num_columns), "b": (batch_size, 3)}

    def __call__(self, step: Step) -> Loss:
        parts = {f"x{i}": step.x[i].argmax() for i in range(8)} | {
            f"other{i}": step.other.x[i].argmax() for i in range(8)
        }
        parts |= {
            "draw_a": step.draws["a"][0, 0],
            "draw_b": step.draws["b"][0, 0],
            "noise": (step.z - step.posterior.mean).abs().sum(),
        }
        return Loss(-step.log_likelihood.mean(), {name: part.double() for name, part in parts.items()})


@pytest.mark.parametrize("weights", [None, torch.linspace(0, 1, 36) / 18], ids=["unweighted", "weighted"])
def test_the_second_batch_is_another_one_for_every_member_and_step(weights):
    spec = replace(MLP_SPEC, objective=Watcher())
    images = replace(spec.dataset.load(), weights=weights)
    fleet = Fleet(seeds_of(spec, 4, 5), images)
    seen = [fleet.advance() for _ in range(4)]
    first, second = (
        torch.stack([torch.stack([shown[f"{name}{i}"] for i in range(8)]) for shown in seen]) for name in ("x", "other")
    )
    assert not torch.equal(first, second)
    assert not torch.equal(second[:, :, 0], second[:, :, 1])
    assert not torch.equal(second[0], second[1])
    if weights is None:
        # An epoch of four batches shows 32 different images, in an order of its own.
        assert all(len(second[:, :, member].unique()) == 32 for member in (0, 1))
    else:
        assert 0.0 not in second.unique()  # the image at the corner has weight 0


def test_an_objective_has_its_draws_by_name_and_they_are_standard_normal():
    fleet = Fleet(seeds_of(replace(MLP_SPEC, objective=Watcher()), 0), MLP_SPEC.dataset.load())
    losses = fleet.advance()
    seeds = torch.tensor([0])
    assert losses["draw_a"].item() == draws.normal(seeds, "objective a", 0, (8, 3))[0, 0, 0].item()
    assert losses["draw_b"].item() == draws.normal(seeds, "objective b", 0, (8, 3))[0, 0, 0].item()


# ---- on any device


@every_spec
def test_every_tensor_is_made_where_the_images_are(spec):
    # What is made without naming a device lands on "meta", whose tensors hold nothing and mix with no others.
    images = spec.dataset.load()
    with torch.device("meta"):
        fleet = Fleet(seeds_of(spec, 0, 1), images)
        losses = fleet.advance()
        fleet.restore([fleet.state(0), fleet.state(1)])
        losses = fleet.advance()
    assert {tensor.device.type for tensor in (*losses.values(), fleet.weights)} == {"cpu"}


def test_the_critics_initial_weights_come_from_the_seed_and_leave_the_generator_alone():
    before = torch.get_rng_state()
    one, again, other = (seeded(lambda: nn.Linear(2, 2), seed, "critic").weight for seed in (0, 0, 1))
    another = seeded(lambda: nn.Linear(2, 2), 0, "model").weight
    assert torch.equal(one, again)
    assert not torch.equal(one, other)
    assert not torch.equal(one, another)
    assert torch.equal(torch.get_rng_state(), before)


# ---- on disk


@pytest.mark.parametrize("name", slow_but(["dip-i-moments", "infogan"], ["factor-vae", "dip-i-moments", "infogan"]))
def test_a_run_that_was_stopped_resumes_to_the_same_bits_critic_and_state_included(tmp_path, name):
    spec = replace(SPECS[name], num_steps=8, precision="float32")
    undisturbed = train([spec], [0, 1], folder=tmp_path / "undisturbed")
    stopped([spec], [0, 1], tmp_path / "stopped", at=5)
    resumed = train([spec], [0, 1], folder=tmp_path / "stopped", resume=True)
    assert [result(run) for run in resumed] == [result(run) for run in undisturbed]


def test_the_critics_learning_rate_may_follow_a_schedule():
    # From 0: at the first step the critic stays where it was, at the second it does not; the model moves at both.
    critic = replace(CRITIC, optimizer=Adam(Linear(0.0, 1e-2), betas=(0.5, 0.9)))
    spec = replace(SPECS["factor-vae"], critic=critic, num_steps=4)
    fleet = Fleet([Member(spec, 0)], spec.dataset.load())
    begin = {which: flat(fleet, 0, which) for which in ("model.weights", "critic.weights")}
    fleet.advance()
    first = {which: flat(fleet, 0, which) for which in ("model.weights", "critic.weights")}
    fleet.advance()
    second = {which: flat(fleet, 0, which) for which in ("model.weights", "critic.weights")}
    assert torch.equal(first["critic.weights"], begin["critic.weights"])
    assert not torch.equal(second["critic.weights"], first["critic.weights"])
    assert not torch.equal(first["model.weights"], begin["model.weights"])
