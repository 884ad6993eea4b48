from dataclasses import replace

import pytest
import torch

from tests.training.optimizers.stacks import LEARNING_RATES, START, alone_in_torch, descended, gradients
from tests.training.squares import MLP_SPEC
from unbraid.errors import SpecError
from unbraid.training import Fleet, Member
from unbraid.training.optimizers import Adagrad


@pytest.mark.parametrize("config", [Adagrad(), Adagrad(initial_sum=0.1), Adagrad(epsilon=0.1)], ids=str)
def test_each_member_is_what_torch_makes_of_it_alone(config):
    ours, _ = descended(config, START, gradients(20))
    for member, rate in enumerate(LEARNING_RATES):
        theirs = alone_in_torch(
            torch.optim.Adagrad, member, lr=rate, initial_accumulator_value=config.initial_sum, eps=config.epsilon
        )
        # torch multiplies and divides in another order: a few units in the last place.
        torch.testing.assert_close(ours[member], theirs, rtol=1e-12, atol=1e-12)


def test_under_a_constant_gradient_the_steps_shrink_like_one_over_the_root_of_their_number():
    gradient = torch.full((4, 1, 2), 3.0, dtype=torch.float64)
    weights, state = descended(Adagrad(), torch.zeros(1, 2, dtype=torch.float64), gradient, [0.1])
    expected = -0.1 * sum(step**-0.5 for step in range(1, 5))
    torch.testing.assert_close(weights, torch.full((1, 2), expected, dtype=torch.float64))
    assert state["sum_of_squares"].tolist() == [[36.0, 36.0]]


def test_a_sum_below_zero_is_refused():
    with pytest.raises(SpecError, match="initial_sum is -1.0"):
        Adagrad(initial_sum=-1.0)


def test_in_a_fleet_every_member_goes_as_torch_would_with_its_own_rate():
    spec, images = replace(MLP_SPEC, num_steps=10), MLP_SPEC.dataset.load()
    members = [Member(replace(spec, optimizer=Adagrad(rate)), seed) for rate, seed in ((0.01, 0), (0.1, 1))]
    fleet = Fleet(members, images)
    sums = torch.zeros_like(fleet.weights)
    rates = torch.tensor([[0.01], [0.1]], dtype=sums.dtype)
    for _ in range(3):
        weights, before = fleet.weights.clone(), sums
        fleet.advance()
        sums = _in_a_row(fleet, "sum_of_squares")
        # What is added to the sum is the square of the gradient, and the step is the rate times the gradient over the
        # root of the sum.
        expected = rates * (sums - before).sqrt() / (sums.sqrt() + 1e-10)
        torch.testing.assert_close((fleet.weights - weights).abs(), expected, rtol=1e-6, atol=1e-9)
    assert (sums > 0).double().mean() > 0.5


def _in_a_row(fleet, kind):
    states = [fleet.state(index).tensors.model.optimizer_state[kind] for index in range(2)]
    return torch.stack([torch.cat([each.flatten() for each in state.values()]) for state in states])
