"""Laws of every optimiser, those still to be written among them."""

from dataclasses import replace

import pytest
import torch

from tests.discovery import concrete_subclasses
from tests.optimisers.stacks import LEARNING_RATES, START, descended, gradients
from tests.training.squares import MLP_SPEC
from unbraid.errors import SpecError
from unbraid.models import Critic
from unbraid.objectives import FactorVAE
from unbraid.optimisers import Optimiser
from unbraid.schedule import Cosine, Linear
from unbraid.training import Fleet, Member

every_optimiser = pytest.mark.parametrize("cls", concrete_subclasses(Optimiser), ids=lambda cls: cls.__name__)


@every_optimiser
def test_a_parameter_without_gradient_stays(cls):
    weights, _ = descended(cls(), torch.ones(3, 5, dtype=torch.float64), gradients(20))
    assert weights[:, 4].tolist() == [1.0, 1.0, 1.0]


@every_optimiser
def test_a_member_that_is_not_alive_keeps_its_weights_and_memory_to_the_bit_whatever_its_gradient(cls):
    start, steps = START / 7, gradients(20)
    steps[5:, 1] = torch.nan
    memory = {name: start.clone() for name in cls().memory}
    weights, memory = descended(cls(), start, steps, alive=torch.tensor([True, False, True]), memory=memory)
    for kept in (weights, *memory.values()):
        assert torch.equal(kept[1], start[1])
        assert not torch.equal(kept[0], start[0])


@every_optimiser
def test_members_do_not_touch_each_other(cls):
    steps = gradients(20)
    together, memory = descended(cls(), START, steps)
    for member, rate in enumerate(LEARNING_RATES):
        one = slice(member, member + 1)
        alone, own = descended(cls(), START[one], steps[:, one], [rate])
        assert torch.equal(together[one], alone)
        assert all(torch.equal(memory[name][one], tensor) for name, tensor in own.items())


@every_optimiser
def test_it_trains_a_model_and_its_critic_and_goes_on_after_a_break_to_the_bit(cls):
    critic = Critic(hidden=(4,), channels=(2,), optimiser=cls(learning_rate=1e-3))
    spec = replace(MLP_SPEC, objective=FactorVAE(), critic=critic, optimiser=cls(learning_rate=1e-2))
    members, images = [Member(spec, 0), Member(spec, 1)], spec.training_data.load()
    whole, left, joined = (Fleet(members, images) for _ in range(3))
    losses = [whole.advance()["loss"] for _ in range(20)]
    assert bool((losses[-1] < losses[0]).all())
    for _ in range(5):
        left.advance()
    joined.restore([left.state(index) for index in range(2)])
    for _ in range(15):
        joined.advance()
    assert torch.equal(joined.weights, whole.weights)
    assert set(whole.state(0).carried.critic.memory) == set(cls().memory)


@every_optimiser
@pytest.mark.parametrize("rate", [0.0, -1e-3, float("nan"), float("inf"), Linear(1e-3, -1e-3), Linear(0.0, 0.0)])
def test_a_learning_rate_with_which_no_step_is_taken_is_refused(cls, rate):
    with pytest.raises(SpecError, match=f"{cls.__name__}: learning_rate is .*; expected a positive, finite number"):
        cls(learning_rate=rate)


@every_optimiser
def test_a_learning_rate_may_follow_a_schedule_that_ends_at_0(cls):
    assert cls(learning_rate=Cosine(1e-3, 0.0)).learning_rate == Cosine(1e-3, 0.0)


@every_optimiser
@pytest.mark.parametrize("epsilon", [0.0, -1.0, float("inf"), float("nan")])
def test_what_is_divided_by_is_above_zero(cls, epsilon):
    with pytest.raises(SpecError, match=f"{cls.__name__}: epsilon is .*; expected a positive, finite number"):
        cls(epsilon=epsilon)
