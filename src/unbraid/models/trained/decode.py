"""Codes as a decoder takes them."""

from collections.abc import Sequence

import torch
from jaxtyping import Float, Int64
from torch import Tensor
from torch.nn.functional import one_hot

from unbraid.codes import Codes


def likeliest(codes: Codes, rows: Int64[Tensor, " row"], widths: Sequence[int]) -> Float[Tensor, "row column"]:
    """Returns the code that stands for each of these images, as `likeliest_code` makes it."""
    return likeliest_code(codes.mean[rows], [table[rows] for table in codes.probabilities], widths)


def likeliest_code(
    mean: Float[Tensor, "row latent"], probabilities: Sequence[Float[Tensor, "row _category"]], widths: Sequence[int]
) -> Float[Tensor, "row column"]:
    """Returns the code of each posterior: means of continuous latents, likeliest categories of discrete ones.

    `widths` is how many columns each latent takes, as `Latents.widths` says.
    """
    of_discrete = widths[mean.shape[1] :]
    chosen = [columns_of(table.argmax(dim=1), width) for table, width in zip(probabilities, of_discrete, strict=True)]
    return torch.cat([mean, *(columns.to(mean) for columns in chosen)], dim=1)


def columns_of(categories: Int64[Tensor, " row"], width: int) -> Int64[Tensor, "row column"]:
    """Returns a one for the category and zeros for the others.

    A latent of one column is binary, and has its category there.
    """
    return categories[:, None] if width == 1 else one_hot(categories, width)
