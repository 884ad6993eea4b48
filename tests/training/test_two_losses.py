"""Model and critic learn from two losses, and neither from the other's but where they share a trunk."""

from dataclasses import dataclass, replace
from typing import final

import pytest
import torch
from torch import nn

from tests.training.critic_specs import CRITIC, SPECS, flat, tensors
from tests.training.trained_fleets import seeds_of
from unbraid.objectives import Objective
from unbraid.training import member_loss
from unbraid.training.fleet import Fleet
from unbraid.training.optimizers import Adagrad, Adam
from unbraid.training.state import layout

# ---- nobody learns from another's loss


APART = {name: spec for name, spec in SPECS.items() if spec.critic and spec.objective.critic_reads != "features"}


@pytest.mark.parametrize("spec", APART.values(), ids=APART)
def test_what_the_critic_learns_changes_nothing_for_the_model_within_a_step(spec):
    """The first step of the models is the same whatever the critic minimizes, and the critics' whatever the models
    do.
    """
    images = spec.dataset.load()
    plain, muted = (
        Fleet(seeds_of(spec, 0, 1), images),
        Fleet(seeds_of(replace(spec, objective=_Half(spec.objective, "model")), 0, 1), images),
    )
    deaf = Fleet(seeds_of(replace(spec, objective=_Half(spec.objective, "critic")), 0, 1), images)
    start = {which: flat(plain, 0, which) for which in ("model.weights", "critic.weights")}
    for fleet in (plain, muted, deaf):
        fleet.advance()
    assert torch.equal(plain.weights, muted.weights)
    assert torch.equal(flat(plain, 0, "critic.weights"), flat(deaf, 0, "critic.weights"))
    assert torch.equal(flat(muted, 0, "critic.weights"), start["critic.weights"])
    assert torch.equal(flat(deaf, 0, "model.weights"), start["model.weights"])


@final
@dataclass(frozen=True)
class _Half(Objective):
    """One of the two losses of another objective, and nothing for the other to learn from."""

    whole: Objective
    half: str

    @property
    def critic_reads(self):
        return self.whole.critic_reads

    @property
    def critic_outputs(self):
        return self.whole.critic_outputs

    @property
    def needs_other_batch(self):
        return self.whole.needs_other_batch

    def check(self, model):
        self.whole.check(model)

    def draw_shapes(self, batch_size, model, image_shape):
        return self.whole.draw_shapes(batch_size, model, image_shape)

    def __call__(self, step):
        loss = self.whole.at(torch.zeros((), dtype=torch.float64))(step)
        if self.half == "model":
            return replace(loss, critic=0 * loss.critic.detach())
        return replace(loss, total=0 * loss.total.detach())


def test_where_critic_and_encoder_share_a_trunk_the_encoder_learns_from_both_losses_and_the_generator_from_its_own():
    """After one step: what the critic minimizes moves the encoder's trunk and nothing else of the model; the decoder
    moves as it would without.
    """
    spec = SPECS["infogan"]
    images = spec.dataset.load()
    plain, muted, deaf = (
        Fleet(seeds_of(replace(spec, objective=objective), 0), images)
        for objective in (spec.objective, *(_Half(spec.objective, half) for half in ("model", "critic")))
    )
    start = tensors(plain, 0)
    for fleet in (plain, muted, deaf):
        fleet.advance()

    def moved(fleet, than):
        now = tensors(fleet, 0)
        return {name.removeprefix("model.weights.") for name in now if not torch.equal(now[name], than[name])}

    weights = {name.removeprefix("model.weights.") for name in start if name.startswith("model.weights.")}
    trunk, head = ({name for name in weights if name.startswith(f"encoder.{layer}.")} for layer in (1, 3))
    decoder = {name for name in weights if name.startswith("decoder.")}
    assert weights == trunk | head | decoder
    assert moved(deaf, start) & weights == trunk
    assert moved(muted, start) & weights == weights
    assert moved(plain, tensors(muted, 0)) & weights == trunk


@pytest.mark.parametrize("kind", ["model", "critic"])
def test_where_they_share_a_trunk_the_encoder_learns_at_the_rate_of_the_critic(kind):
    """A step of Adam is the rate long: the first one, with a constant learning rate, in every weight."""
    spec = SPECS["infogan"]
    rates = {"model": 1e-3, "critic": 1e-3} | {kind: 1e-5}
    spec = replace(
        spec,
        optimizer=Adam(rates["model"]),
        critic=replace(CRITIC, optimizer=Adam(rates["critic"])),
    )
    fleet = Fleet(seeds_of(spec, 0), spec.dataset.load())
    start = tensors(fleet, 0)
    fleet.advance()
    for name, tensor in tensors(fleet, 0).items():
        if ".weights." in name:
            rate = rates["model" if "decoder" in name else "critic"]
            assert (tensor - start[name]).abs().max().item() == pytest.approx(rate, rel=1e-3)


def test_an_encoder_that_learns_with_a_critic_of_another_optimizer_remembers_what_that_one_does():
    spec = replace(SPECS["infogan"], critic=replace(CRITIC, optimizer=Adagrad(1e-3)))
    names = layout(spec).model.optimizer_state
    assert {name.split(".")[0] for name in names["sum_of_squares"]} == {"encoder"}
    assert {name.split(".")[0] for name in names["first_moment"]} == {"decoder"}
    fleet = Fleet(seeds_of(spec, 0), spec.dataset.load())
    fleet.advance()
    assert bool(fleet.alive.all())


def test_the_encoder_of_an_infogan_whose_critic_is_apart_does_not_see_real_images():
    """Its weights move, in a fleet whose real images differ, in the same way for as long as the critic has not learned
    from them.
    """
    spec = SPECS["infogan-apart"]
    images = spec.dataset.load()
    dark = replace(images, pixels=255 - images.pixels)
    one, other = (Fleet(seeds_of(spec, 0), each) for each in (images, dark))
    one.advance(), other.advance()
    assert torch.equal(one.weights, other.weights)
    assert not torch.equal(flat(one, 0, "critic.weights"), flat(other, 0, "critic.weights"))


def test_where_they_share_a_trunk_the_encoder_takes_no_pass_of_its_own_and_learns_the_same(monkeypatch):
    """Images go through the trunk twice if they were generated, once if they are real, and once to be logged."""
    spec, passes = SPECS["infogan"], []
    images = spec.dataset.load()
    through = member_loss.MemberLoss._through

    def noted(self, net, parameters, inputs):
        is_trunk = isinstance(net, nn.Sequential) and isinstance(net[0], nn.Flatten)
        passes.append(is_trunk)
        return through(self, net, parameters, inputs)

    shared, plain = (Fleet(seeds_of(spec, 0, 1), images) for _ in range(2))
    with monkeypatch.context() as patch:
        patch.setattr(member_loss.MemberLoss, "_through", noted)
        shared.advance()
    assert sum(passes) == 4
    with monkeypatch.context() as patch:
        patch.setattr(member_loss._SharedTrunk, "encoded", lambda self, x: None)
        plain.advance()
    for which in (
        "model.optimizer_state.first_moment",
        "critic.optimizer_state.first_moment",
    ):
        torch.testing.assert_close(flat(shared, 1, which), flat(plain, 1, which), rtol=1e-9, atol=1e-9)
