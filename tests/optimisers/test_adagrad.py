import pytest
import torch

from tests.optimisers.stacks import LEARNING_RATES, START, alone_in_torch, descended, gradients
from unbraid.errors import SpecError
from unbraid.optimisers import Adagrad


@pytest.mark.parametrize("recipe", [Adagrad(), Adagrad(initial_sum=0.1), Adagrad(epsilon=0.1)], ids=str)
def test_each_member_is_what_torch_makes_of_it_alone(recipe):
    ours, _ = descended(recipe, START, gradients(20))
    for member, rate in enumerate(LEARNING_RATES):
        theirs = alone_in_torch(
            torch.optim.Adagrad, member, lr=rate, initial_accumulator_value=recipe.initial_sum, eps=recipe.epsilon
        )
        # torch multiplies and divides in another order: a few units in the last place.
        torch.testing.assert_close(ours[member], theirs, rtol=1e-12, atol=1e-12)


def test_under_a_constant_gradient_the_steps_shrink_like_one_over_the_root_of_their_number():
    gradient = torch.full((4, 1, 2), 3.0, dtype=torch.float64)
    weights, memory = descended(Adagrad(), torch.zeros(1, 2, dtype=torch.float64), gradient, [0.1])
    expected = -0.1 * sum(step**-0.5 for step in range(1, 5))
    torch.testing.assert_close(weights, torch.full((1, 2), expected, dtype=torch.float64))
    assert memory["sum_of_squares"].tolist() == [[36.0, 36.0]]


def test_a_sum_below_zero_is_refused():
    with pytest.raises(SpecError, match=r"Adagrad: initial_sum is -1.0; expected a finite number from 0 up"):
        Adagrad(initial_sum=-1.0)
