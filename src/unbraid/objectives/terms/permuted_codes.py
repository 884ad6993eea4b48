"""Codes whose latents are independent, made of codes whose latents are not."""

from collections.abc import Sequence

import torch
from jaxtyping import Float
from torch import Tensor


def permuted_codes(
    z: Float[Tensor, "batch column"], noise: Float[Tensor, "batch latent"], widths: Sequence[int] = ()
) -> Float[Tensor, "batch column"]:
    """Returns each latent of the batch in a separate random order: the order of its noise.

    Kim & Mnih, arXiv:1802.05983v3, algorithm 1.

    The result is a draw from prod_j q(z_j), as far as the batch is one from q(z). `widths` are the numbers of columns
    of each latent, which move together: a category is not torn apart. Without them, each latent has one.
    """
    order = noise.argsort(dim=0)
    if any(width != 1 for width in widths):
        order = torch.cat(
            [column[:, None].expand(-1, width) for column, width in zip(order.unbind(dim=1), widths, strict=True)],
            dim=1,
        )
    return z.gather(0, order)
