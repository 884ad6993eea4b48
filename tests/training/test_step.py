import pytest
import torch

from tests.training.optimizers.stacks import gradients
from unbraid.config.schedule import Cosine, Linear
from unbraid.training.step import Numbers, clipping, gradient_norm

LIKE = torch.empty(0, dtype=torch.float64)


def half():
    return torch.tensor(0.5, dtype=torch.float64)


def test_each_member_has_its_own_number_at_every_moment():
    numbers = Numbers([1.0, Linear(0.0, 8.0), Cosine(2.0, 4.0)], LIKE)
    assert numbers.constant.tolist() == [1.0, 0.0, 0.0]
    assert numbers.at(half(), numbers.constant).tolist() == pytest.approx([1.0, 4.0, 3.0], abs=1e-12)
    assert numbers.at(half() * 2, numbers.constant).tolist() == pytest.approx([1.0, 8.0, 4.0], abs=1e-12)


@pytest.mark.parametrize("weights", [[1.0, 2.0], [1.0, Linear(0.0, 8.0)]], ids=["constant", "with-a-schedule"])
def test_numbers_that_stay_are_read_from_what_is_given(weights):
    numbers = Numbers(weights, LIKE)
    assert numbers.at(half(), torch.tensor([7.0, 5.0], dtype=torch.float64))[0] == 7.0


def test_a_number_is_zero_if_it_is_so_for_everybody_at_every_moment():
    assert Numbers([0.0, 0.0], LIKE).are_zero
    assert not Numbers([0.0, 1e-30], LIKE).are_zero
    assert not Numbers([0.0, Linear(0.0, 1.0)], LIKE).are_zero


def test_the_key_says_what_is_not_in_the_constants():
    rising = Linear(0.0, 1.0)
    weights = [[1.0, 2.0], [0.0, 0.0], [rising, 2.0], [1.0, rising], [Linear(0.0, 2.0), 2.0]]
    assert len({Numbers(each, LIKE).key for each in weights}) == len(weights)
    assert Numbers([1.0, 2.0], LIKE).key == Numbers([0.0, 3.0], LIKE).key
    assert Numbers([rising, 2.0], LIKE).key == Numbers([Linear(0.0, 1.0), 5.0], LIKE).key


def test_they_are_of_the_type_and_on_the_device_of_the_fleet():
    numbers = Numbers([1.0, Linear(0.0, 8.0)], torch.empty(0, dtype=torch.float32, device="meta"))
    assert (numbers.constant.dtype, numbers.constant.device.type) == (torch.float32, "meta")


def clipped(gradient, max_norm):
    scale = clipping(gradient_norm(gradient), max_norm)
    return {name: each * scale.reshape(-1, *[1] * (each.ndim - 1)) for name, each in gradient.items()}


def test_clipping_is_torchs_member_by_member():
    gradient = {"a": gradients(1)[0], "b": gradients(2)[1].reshape(3, 1, 5)}
    ours = clipped(gradient, 10.0)
    for member in range(3):
        alone = {name: torch.nn.Parameter(torch.zeros_like(each[member])) for name, each in gradient.items()}
        for name, parameter in alone.items():
            parameter.grad = gradient[name][member].clone()
        torch.nn.utils.clip_grad_norm_(alone.values(), 10.0)
        for name, parameter in alone.items():
            # torch adds 1e-6 to the norm, lest it divide by zero; we need not.
            torch.testing.assert_close(ours[name][member], parameter.grad, rtol=1e-6, atol=0)


def test_a_long_gradient_is_scaled_to_the_norm_and_a_short_one_is_left_alone():
    gradient = torch.tensor([[3.0, 4.0], [0.3, 0.4], [0.0, 0.0]], dtype=torch.float64)
    ours = clipped({"a": gradient[:, :1], "b": gradient[:, 1:]}, 1.0)
    together = torch.cat(list(ours.values()), dim=1)
    torch.testing.assert_close(together[0], torch.tensor([0.6, 0.8], dtype=torch.float64))
    assert torch.equal(together[1:], gradient[1:])
