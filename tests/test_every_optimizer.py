"""Laws of every optimizer, those still to be written among them."""

from dataclasses import replace

import pytest
import torch

from tests.discovery import concrete_subclasses
from tests.training.optimizers.stacks import LEARNING_RATES, START, descended, gradients
from tests.training.squares import MLP_SPEC
from unbraid.config.schedule import Cosine, Linear
from unbraid.errors import SpecError
from unbraid.objectives import FactorVAE
from unbraid.training import Critic, Fleet, Member
from unbraid.training.optimizers import Optimizer

every_optimizer = pytest.mark.parametrize("cls", concrete_subclasses(Optimizer), ids=lambda cls: cls.__name__)


@every_optimizer
def test_a_parameter_without_gradient_stays(cls):
    weights, _ = descended(cls(), torch.ones(3, 5, dtype=torch.float64), gradients(20))
    assert weights[:, 4].tolist() == [1.0, 1.0, 1.0]


@every_optimizer
def test_a_member_that_is_not_alive_keeps_its_weights_and_memory_to_the_bit_whatever_its_gradient(cls):
    start, steps = START / 7, gradients(20)
    steps[5:, 1] = torch.nan
    state = {name: start.clone() for name in cls().state}
    weights, state = descended(cls(), start, steps, alive=torch.tensor([True, False, True]), state=state)
    for kept in (weights, *state.values()):
        assert torch.equal(kept[1], start[1])
        assert not torch.equal(kept[0], start[0])


@every_optimizer
def test_members_do_not_touch_each_other(cls):
    steps = gradients(20)
    together, state = descended(cls(), START, steps)
    for member, rate in enumerate(LEARNING_RATES):
        one = slice(member, member + 1)
        alone, own = descended(cls(), START[one], steps[:, one], [rate])
        assert torch.equal(together[one], alone)
        assert all(torch.equal(state[name][one], tensor) for name, tensor in own.items())


@every_optimizer
def test_it_trains_a_model_and_its_critic_and_goes_on_after_a_break_to_the_bit(cls):
    critic = Critic(hidden=(4,), channels=(2,), optimizer=cls(learning_rate=1e-3))
    spec = replace(MLP_SPEC, objective=FactorVAE(), critic=critic, optimizer=cls(learning_rate=1e-2))
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
    assert set(whole.state(0).tensors.critic.optimizer_state) == set(cls().state)


@every_optimizer
@pytest.mark.parametrize("rate", [0.0, -1e-3, float("nan"), float("inf"), Linear(1e-3, -1e-3), Linear(0.0, 0.0)])
def test_a_learning_rate_with_which_no_step_is_taken_is_refused(cls, rate):
    with pytest.raises(SpecError, match=f"{cls.__name__}: learning_rate is .*; expected a finite number > 0"):
        cls(learning_rate=rate)


@every_optimizer
def test_a_learning_rate_may_follow_a_schedule_that_ends_at_0(cls):
    assert cls(learning_rate=Cosine(1e-3, 0.0)).learning_rate == Cosine(1e-3, 0.0)


@every_optimizer
@pytest.mark.parametrize("epsilon", [0.0, -1.0, float("inf"), float("nan")])
def test_what_is_divided_by_is_above_zero(cls, epsilon):
    with pytest.raises(SpecError, match=f"{cls.__name__}: epsilon is .*; expected a finite number > 0"):
        cls(epsilon=epsilon)
