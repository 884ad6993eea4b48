import torch

from tests.training.optimizers.stacks import gradients
from unbraid.training.gradients import clipping, gradient_norm


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
