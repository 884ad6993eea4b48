"""The flow prior is a density wherever learning takes its weights."""

import pytest
import torch
from torch.func import grad, vmap

from tests.models.distributions.families import seeded
from unbraid.errors import SpecError
from unbraid.models.distributions import Flow, FlowPrior, StandardNormalPrior
from unbraid.models.distributions.priors.flow_prior import rising


def wild_flow(num_steps=8, size=3, scale=2.0, seed=0):
    """A flow with large weights, many of which would fold the line without the constraint."""
    module = seeded(lambda: FlowPrior(num_steps).make(size)).double()
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.copy_(scale * torch.randn(parameter.shape, dtype=torch.float64, generator=generator))
    assert bool((module.scale * module.weight < -1).any())
    return module


@pytest.mark.parametrize("scale", [1.0, 2.0, 4.0])
def test_the_density_integrates_to_one(scale):
    # Without the constraint these do not: the test below.
    flow = wild_flow(scale=scale)()
    z = torch.linspace(-40, 40, 200_001, dtype=torch.float64)[:, None].expand(-1, 3)
    mass = torch.trapezoid(flow.log_prob(z).exp(), dx=4e-4, dim=0)
    torch.testing.assert_close(mass, torch.ones(3, dtype=torch.float64), atol=1e-4, rtol=0)


def test_without_the_constraint_it_would_not():
    """The authors' code does not enforce that each step rises."""
    z = torch.linspace(-10, 10, 200_001, dtype=torch.float64)[:, None]
    u, w, b = (torch.tensor([[value]], dtype=torch.float64) for value in (-2.0, 2.0, 0.3))
    x = z + u * torch.tanh(w * z + b)
    slope = (1 + u * w * (1 - torch.tanh(w * z + b).square())).abs()
    mass = torch.trapezoid((StandardNormalPrior().log_prob(x) + slope.log()).exp(), dx=1e-4, dim=0)
    assert mass.item() > 1.5


def test_it_is_the_change_of_variables():
    flow = wild_flow()()
    z = torch.linspace(-3, 3, 15, dtype=torch.float64).reshape(5, 3)
    slope = grad(lambda z: flow._forward(z)[0].sum())(z)
    torch.testing.assert_close(flow.log_prob(z), StandardNormalPrior().log_prob(flow._forward(z)[0]) + slope.log())


def test_without_bends_it_is_the_standard_normal():
    zeros = torch.zeros(4, 2, dtype=torch.float64)
    z = torch.linspace(-3, 3, 8, dtype=torch.float64).reshape(4, 2)
    torch.testing.assert_close(Flow(zeros, zeros, zeros).log_prob(z), StandardNormalPrior().log_prob(z))


def test_it_starts_near_the_standard_normal():
    module = seeded(lambda: FlowPrior().make(500))
    assert [parameter.shape for parameter in module.parameters()] == [(32, 500)] * 3
    for parameter in module.parameters():
        assert parameter.std().item() == pytest.approx(0.02, rel=0.02)
    z = torch.linspace(-3, 3, 500).expand(1, -1)
    torch.testing.assert_close(module().log_prob(z), StandardNormalPrior().log_prob(z), atol=0.1, rtol=0)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_a_draw_is_what_the_steps_take_to_the_noise(dtype):
    flow = wild_flow(num_steps=4, scale=1.5).to(dtype)()
    noise = torch.linspace(-3, 3, 15, dtype=dtype).reshape(5, 3)
    torch.testing.assert_close(
        flow._forward(flow.sample(noise))[0], noise, atol=1e-4 if dtype == torch.float32 else 1e-9, rtol=0
    )


def test_a_draw_has_the_gradients_of_the_implicit_function():
    flow = wild_flow(num_steps=4, scale=1.0)()
    noise = torch.linspace(-1, 1, 6, dtype=torch.float64).reshape(2, 3)
    u, w, b = flow.u.detach(), flow.w.detach(), flow.b.detach()
    found = grad(lambda u: Flow(u, w, b).sample(noise).sum())(u)
    for step, latent in ((0, 0), (3, 2)):
        nudge = torch.zeros_like(u)
        nudge[step, latent] = 1e-5
        slope = (Flow(u + nudge, w, b).sample(noise) - Flow(u - nudge, w, b).sample(noise)).sum() / 2e-5
        assert found[step, latent].item() == pytest.approx(slope.item(), rel=1e-5)


@pytest.mark.parametrize("in_dims", [(0, 0, 0, 0), (None, 0, None, 0), (0, None, 0, None)])
def test_its_gradients_are_those_of_plain_steps_in_a_fleet_too(in_dims):
    def plain(z, u, w, b):
        x, log_slope = z, torch.zeros_like(z)
        for u_t, w_t, b_t in zip(u, w, b, strict=True):
            bend = torch.tanh(w_t * x + b_t)
            x, log_slope = x + u_t * bend, log_slope + torch.log1p(u_t * w_t * (1 - bend.square()))
        return x, log_slope

    def gradients(forward):
        def loss(*inputs):
            x, log_slope = forward(*inputs)
            return (x.sin() + inputs[0].cos() * log_slope).sum()

        return vmap(grad(loss, argnums=(0, 1, 2, 3)), in_dims)(*inputs)

    flows, z = (
        [wild_flow(seed=seed)() for seed in range(2)],
        torch.linspace(-3, 3, 30, dtype=torch.float64).reshape(2, 5, 3),
    )
    members = (z, *(torch.stack([getattr(flow, name).detach() for flow in flows]) for name in "uwb"))
    inputs = [each[0] if dim is None else each for each, dim in zip(members, in_dims, strict=True)]
    if in_dims != (0, 0, 0, 0):  # weights of different flows: small ones, so that every step rises
        inputs[1:] = [0.2 * each for each in inputs[1:]]
    torch.testing.assert_close(gradients(lambda z, u, w, b: Flow(u, w, b)._forward(z)), gradients(plain))


def test_the_constraint_leaves_rising_steps_as_they_are_and_is_smooth():
    product = torch.tensor([-30.0, -1.0, 0.0, 1.0, 30.0], dtype=torch.float64)
    assert bool((product * rising(product) > -1).all())
    assert rising(product)[2:].tolist() == [1.0, 1.0, 1.0]
    slopes = grad(lambda p: (p * rising(p)).sum())(torch.tensor([-1e-9, 1e-9], dtype=torch.float64))
    torch.testing.assert_close(slopes, torch.ones(2, dtype=torch.float64))


def test_no_steps_are_refused():
    with pytest.raises(SpecError, match="num_steps is 0"):
        FlowPrior(0)


@pytest.mark.parametrize("product", [-1e3, -1e4, -1e6, -1e20])
def test_no_step_rounds_to_a_slope_of_zero(product):
    scale, weight = torch.full((1, 1), product / 2), torch.full((1, 1), 2.0)
    flow = Flow(scale * rising(scale * weight), weight, torch.zeros(1, 1))
    assert bool(flow.log_prob(torch.zeros(1, 1)).isfinite().all())
    flow.for_codes(1)  # its slopes are above 0 in float64 as well


def test_weights_of_usual_size_are_divided_by_the_root_only():
    product = -torch.logspace(-8, 2.6, 200)
    assert torch.equal(rising(product), torch.rsqrt(1 + product.square()))
