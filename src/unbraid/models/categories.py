"""Conversion of relaxed discrete latents to categories."""

from collections.abc import Collection, Sequence

import torch
from jaxtyping import Float, Int64
from torch import Tensor
from torch.nn.functional import one_hot

from unbraid.codes import Codes


def with_categories(
    z: Float[Tensor, "batch column"], widths: Sequence[int], chosen: Collection[int]
) -> Float[Tensor, "batch column"]:
    """Replaces relaxed values by categories for the chosen latents, with a straight-through gradient.

    Categories are one-hot, and binary latents, which have one column, are 0 or 1. `widths` are the numbers of columns
    of the latents. Columns after the latents do not change.
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
    # The difference is exactly 0 and has the gradient of the relaxed value.
    return is_category.to(relaxed.dtype) + (relaxed - relaxed.detach())


def likeliest_code(
    mean: Float[Tensor, "row latent"], probabilities: Sequence[Float[Tensor, "row _category"]], widths: Sequence[int]
) -> Float[Tensor, "row column"]:
    """Returns the likeliest code of each image: means of continuous latents and likeliest categories.

    `widths` are the numbers of columns of all latents (`Latents.widths`).
    """
    of_discrete = widths[mean.shape[1] :]
    chosen = [columns_of(table.argmax(dim=1), width) for table, width in zip(probabilities, of_discrete, strict=True)]
    return torch.cat([mean, *(columns.to(mean) for columns in chosen)], dim=1)


def likeliest(codes: Codes, rows: Int64[Tensor, " row"], widths: Sequence[int]) -> Float[Tensor, "row column"]:
    """Returns the likeliest codes of the images in `rows`."""
    return likeliest_code(codes.mean[rows], [table[rows] for table in codes.probabilities], widths)


def columns_of(categories: Int64[Tensor, " row"], width: int) -> Int64[Tensor, "row column"]:
    """Encodes categories as one-hot columns, or as one column of 0 and 1 if `width` is 1."""
    return categories[:, None] if width == 1 else one_hot(categories, width)
