"""Adversarial losses. A logit is that of the probability that the input of the critic is real."""

from collections.abc import Callable

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn.functional import softplus


def judged(
    critic: Callable[[Tensor], Tensor], first: Float[Tensor, "batch ..."], second: Float[Tensor, "batch ..."]
) -> tuple[Float[Tensor, "batch logit"], Float[Tensor, "batch logit"]]:
    """Returns the logits of two batches."""
    # In one go: its weights, many more than the model's, are read once, and so is their gradient written.
    of_first, of_second = critic(torch.cat([first, second])).chunk(2)
    return of_first, of_second


def critic_loss(real: Float[Tensor, "batch 1"], fake: Float[Tensor, "batch 1"]) -> Float[Tensor, ""]:
    """Returns -log D(real) - log(1 - D(fake)), averaged over each, in nats; 2 log 2 is chance.

    Goodfellow et al., arXiv:1406.2661v1, eq. 1.
    """
    return softplus(-real).mean() + softplus(fake).mean()


def generator_loss(fake: Float[Tensor, "batch 1"]) -> Float[Tensor, ""]:
    """Returns -log D(fake), in nats: the form whose gradient does not fade while the critic wins.

    Goodfellow et al., arXiv:1406.2661v1, section 3.
    """
    return softplus(-fake).mean()
