import pytest
import torch

from tests.training.optimizers.stacks import LEARNING_RATES, START, alone_in_torch, descended, gradients
from unbraid.errors import SpecError
from unbraid.training.optimizers import Adam


@pytest.mark.parametrize(
    "config",
    [Adam(), Adam(betas=(0.5, 0.9)), Adam(betas=(0.0, 0.0)), Adam(epsilon=0.1)],
    ids=str,
)
def test_each_member_is_what_torch_makes_of_it_alone(config):
    ours, _ = descended(config, START, gradients(20))
    for member, rate in enumerate(LEARNING_RATES):
        theirs = alone_in_torch(torch.optim.Adam, member, lr=rate, betas=config.betas, eps=config.epsilon)
        # torch multiplies and divides in another order: a few units in the last place.
        torch.testing.assert_close(ours[member], theirs, rtol=1e-12, atol=1e-12)


def test_the_first_step_is_as_long_as_the_learning_rate_whatever_the_gradient():
    # At step 1 both moments are unbiased, so the update is lr g / (|g| + epsilon).
    gradient = torch.tensor([[[1e5, -3.0, 1e-3]]], dtype=torch.float64)
    weights, _ = descended(Adam(), torch.zeros(1, 3, dtype=torch.float64), gradient, [0.1])
    torch.testing.assert_close(weights, torch.tensor([[-0.1, 0.1, -0.1]], dtype=torch.float64), rtol=1e-4, atol=0)


@pytest.mark.parametrize("betas", [(0.9,), (0.9, 1.0), (-0.1, 0.9), (0.9, float("nan"))])
def test_betas_are_two_numbers_below_one(betas):
    with pytest.raises(SpecError, match="0 <= beta < 1"):
        Adam(betas=betas)
