import pytest
import torch

from unbraid.training.adam import AdamMoments, adam_step_, bias_correction, clipping, gradient_norm

LEARNING_RATES = (1e-3, 0.1, 7.0)


def gradients(num_steps):
    """Three members of five parameters: large and small, and one gradient that is always zero."""
    generator = torch.Generator().manual_seed(0)
    scale = torch.tensor([1e-6, 1e-2, 1.0, 1e3, 0.0], dtype=torch.float64)
    return torch.randn(num_steps, 3, 5, dtype=torch.float64, generator=generator) * scale


def adam(weights, gradients, learning_rates, beta1=0.9, beta2=0.999):
    weights, moments = weights.clone(), AdamMoments(torch.zeros_like(weights), torch.zeros_like(weights))
    for step, gradient in enumerate(gradients, start=1):
        adam_step_(
            weights,
            gradient,
            moments,
            correction=bias_correction(torch.tensor(step), beta1, beta2).to(weights.dtype),
            learning_rate=torch.tensor(learning_rates, dtype=weights.dtype),
            alive=torch.tensor([rate > 0 for rate in learning_rates]),
            beta1=beta1,
            beta2=beta2,
        )
    return weights, moments


@pytest.mark.parametrize(("beta1", "beta2"), [(0.9, 0.999), (0.5, 0.9), (0.0, 0.0)])
def test_each_member_is_what_torch_makes_of_it_alone(beta1, beta2):
    start = torch.arange(15, dtype=torch.float64).reshape(3, 5)
    ours, _ = adam(start, gradients(20), LEARNING_RATES, beta1, beta2)
    for member, learning_rate in enumerate(LEARNING_RATES):
        alone = torch.nn.Parameter(start[member].clone())
        optimiser = torch.optim.Adam([alone], lr=learning_rate, betas=(beta1, beta2), eps=1e-8)
        for gradient in gradients(20):
            alone.grad = gradient[member].clone()
            optimiser.step()
        # torch multiplies and divides in another order: a few units in the last place.
        torch.testing.assert_close(ours[member], alone.detach(), rtol=1e-12, atol=1e-12)


def test_the_first_step_is_as_long_as_the_learning_rate_whatever_the_gradient():
    # At step 1 both moments are unbiased, so the update is lr g / (|g| + epsilon).
    weights, _ = adam(
        torch.zeros(1, 3, dtype=torch.float64), torch.tensor([[[1e5, -3.0, 1e-3]]], dtype=torch.float64), [0.1]
    )
    torch.testing.assert_close(weights, torch.tensor([[-0.1, 0.1, -0.1]], dtype=torch.float64), rtol=1e-4, atol=0)


def test_a_parameter_without_gradient_stays():
    weights, _ = adam(torch.ones(3, 5, dtype=torch.float64), gradients(20), LEARNING_RATES)
    assert weights[:, 4].tolist() == [1.0, 1.0, 1.0]


def test_a_member_that_is_not_alive_keeps_its_weights_and_moments_to_the_bit_whatever_its_gradient():
    start, steps = torch.arange(15, dtype=torch.float64).reshape(3, 5) / 7, gradients(20)
    steps[5:, 1] = torch.nan
    weights, moments = start.clone(), AdamMoments(start.clone(), start.clone())
    for step, gradient in enumerate(steps, start=1):
        adam_step_(
            weights,
            gradient,
            moments,
            correction=bias_correction(torch.tensor(step), 0.9, 0.999),
            learning_rate=torch.tensor([0.1, 0.0, 0.1], dtype=torch.float64),
            alive=torch.tensor([True, False, True]),
            beta1=0.9,
            beta2=0.999,
        )
    for kept in (weights, moments.first, moments.second):
        assert torch.equal(kept[1], start[1])
        assert not torch.equal(kept[0], start[0])


def test_members_do_not_touch_each_other():
    start, steps = torch.arange(15, dtype=torch.float64).reshape(3, 5), gradients(20)
    together, moments = adam(start, steps, LEARNING_RATES)
    for member, learning_rate in enumerate(LEARNING_RATES):
        one = slice(member, member + 1)
        alone, alone_moments = adam(start[one], steps[:, one], [learning_rate])
        assert torch.equal(together[one], alone)
        assert torch.equal(moments.first[one], alone_moments.first)
        assert torch.equal(moments.second[one], alone_moments.second)


# ---- clipping


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
