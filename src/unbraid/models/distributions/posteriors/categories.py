"""Relaxed codes turned into categories."""

from collections.abc import Collection, Sequence

import torch
from jaxtyping import Float
from torch import Tensor


def with_categories(
    z: Float[Tensor, "batch column"], widths: Sequence[int], chosen: Collection[int]
) -> Float[Tensor, "batch column"]:
    """Returns the code with the category of each chosen latent in place of its relaxation: a one among zeros, or, for a
    binary latent in one column, 0 or 1.

    The gradient passes straight through to the relaxation. `widths` are the columns that the latents take; columns
    after those stay as they are.
    """
    if not chosen:
        return z
    pieces = z.split([*widths, z.shape[1] - sum(widths)], dim=1)
    return torch.cat([_category(piece) if latent in chosen else piece for latent, piece in enumerate(pieces)], dim=1)


def _category(relaxed: Float[Tensor, "batch column"]) -> Float[Tensor, "batch column"]:
    if relaxed.shape[1] == 1:
        is_category = relaxed > 0.5
    else:
        is_category = relaxed.argmax(dim=1, keepdim=True) == torch.arange(relaxed.shape[1], device=relaxed.device)
    # The difference is exactly 0, and has the gradient of the relaxation.
    return is_category.to(relaxed.dtype) + (relaxed - relaxed.detach())
