"""Losses of critics, with one logit (real or fake inputs) or two (joint or permuted codes)."""

from collections.abc import Callable, Sequence

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn.functional import softplus


def both_logits(
    critic: Callable[[Tensor], Tensor], first: Float[Tensor, "batch ..."], second: Float[Tensor, "batch ..."]
) -> tuple[Float[Tensor, "batch logit"], Float[Tensor, "batch logit"]]:
    """Returns the critic's logits for two batches, computed in one call."""
    # One call reads the weights of the critic and writes their gradient only once.
    of_first, of_second = critic(torch.cat([first, second])).chunk(2)
    return of_first, of_second


def critic_loss(real: Float[Tensor, "batch 1"], fake: Float[Tensor, "batch 1"]) -> Float[Tensor, ""]:
    """Returns the loss of the critic, -log D(real) - log(1 - D(fake)) with D = sigmoid(logit), in nats.

    Goodfellow et al., arXiv:1406.2661v1, eq. 1. Each term is averaged over its batch. At chance level: 2 log 2.
    """
    return softplus(-real).mean() + softplus(fake).mean()


def generator_loss(fake: Float[Tensor, "batch 1"]) -> Float[Tensor, ""]:
    """Returns the loss of the generator, -log D(fake), in nats.

    Goodfellow et al., arXiv:1406.2661v1, section 3. Its gradient does not vanish when the critic is accurate.
    """
    return softplus(-fake).mean()


def permuted_codes(
    z: Float[Tensor, "batch column"], noise: Float[Tensor, "batch latent"], widths: Sequence[int] = ()
) -> Float[Tensor, "batch column"]:
    """Permutes each latent over the batch by the argsort of its noise, for draws from prod_j q(z_j).

    Kim & Mnih, arXiv:1802.05983v3, algorithm 1. `widths` are the numbers of columns of the latents, 1 by default. The
    columns of a latent are permuted together.
    """
    order = noise.argsort(dim=0)
    if any(width != 1 for width in widths):
        order = torch.cat(
            [column[:, None].expand(-1, width) for column, width in zip(order.unbind(dim=1), widths, strict=True)],
            dim=1,
        )
    return z.gather(0, order)


def density_ratio_loss(joint: Float[Tensor, "batch 2"], permuted: Float[Tensor, "batch 2"]) -> Float[Tensor, ""]:
    """Returns the cross-entropy of a classifier of codes and permuted codes, in nats; log 2 at chance level."""
    # With two logits a and b, -log softmax(a) is softplus(b - a).
    return 0.5 * (softplus(-log_ratio(joint)).mean() + softplus(log_ratio(permuted)).mean())


def log_ratio(logits: Float[Tensor, "batch 2"]) -> Float[Tensor, " batch"]:
    """Returns the log-odds log D / (1 - D) that a code is from q(z)."""
    return logits[:, 0] - logits[:, 1]
