"""Three members of five parameters each, and what an optimizer makes of them."""

import torch

from unbraid.training.optimizers.optimizer import StepSize, over_members

LEARNING_RATES = (1e-3, 0.1, 7.0)
START = torch.arange(15, dtype=torch.float64).reshape(3, 5)


def gradients(num_steps):
    """Large and small gradients, and one that is always zero."""
    generator = torch.Generator().manual_seed(0)
    scale = torch.tensor([1e-6, 1e-2, 1.0, 1e3, 0.0], dtype=torch.float64)
    return torch.randn(num_steps, 3, 5, dtype=torch.float64, generator=generator) * scale


def descended(config, weights, steps, learning_rates=LEARNING_RATES, alive=None, state=None):
    """The weights and the state after these gradients, as a fleet would have them."""
    weights = weights.clone()
    alive = torch.ones(len(weights), dtype=torch.bool) if alive is None else alive
    state = state or {name: torch.full_like(weights, value) for name, value in config.state.items()}
    rates = torch.tensor(learning_rates, dtype=weights.dtype)
    for step, gradient in enumerate(steps, start=1):
        config.update_(
            weights,
            torch.where(over_members(alive, gradient), gradient, 0),
            state,
            StepSize(
                rates * alive,
                alive,
                config.step_constants(torch.tensor(step)),
            ),
        )
    return weights, state


def alone_in_torch(optimizer, member, **settings):
    """What an optimizer of torch makes of one member alone in twenty steps."""
    alone = torch.nn.Parameter(START[member].clone())
    steps = optimizer([alone], **settings)
    for gradient in gradients(20):
        alone.grad = gradient[member].clone()
        steps.step()
    return alone.detach()
