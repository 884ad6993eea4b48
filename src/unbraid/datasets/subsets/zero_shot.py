"""The extremes of a feature: what zero-shot tests take away."""

from typing import Literal

import torch
from jaxtyping import Bool, Float, Int64
from torch import Tensor

from unbraid.datasets.subsets.subset import whole_share
from unbraid.errors import DataError, SpecError


def outer_rows(
    feature: Float[Tensor, " image"],
    among: Bool[Tensor, " image"],
    fraction: float = 0.2,
    side: Literal["high", "low"] = "high",
) -> Int64[Tensor, " row"]:
    """Returns, in order, the rows of the images `among` which one looks that have the greatest feature, or the least:
    that fraction of them, rounded down.

    Esmaeili et al., arXiv:1804.02086v1, section 6.4: thick sevens are the images among the sevens that are high in the
    latent of a first model which shows thickness, narrow zeros those among the zeros that are low in the one which
    shows width. They are left out (`all_but`), a second model is trained on the rest, and asked to reconstruct them.
    The paper does not give the number left out. Of images with equal features, the earlier are taken.
    """
    if not 0 < fraction < 1:
        raise SpecError(f"outer_rows: fraction is {fraction}; expected a number between 0 and 1.")
    rows = among.nonzero()[:, 0]
    looked_at = feature[rows.to(feature.device)]
    count = whole_share(fraction, len(rows))
    if count == 0:
        raise DataError(
            f"outer_rows: {fraction:g} of the {len(rows):,} images looked at is not one image. Look at more, or take "
            "a larger fraction."
        )
    if not bool(looked_at.isfinite().all()):
        raise DataError(
            f"outer_rows: the feature is NaN or infinite in {int((~looked_at.isfinite()).sum()):,} of the images "
            "looked at."
        )
    order = looked_at.argsort(descending=side == "high", stable=True).to(rows.device)
    return rows[order[:count]].sort().values


def all_but(rows: Int64[Tensor, " row"], num_images: int) -> Int64[Tensor, " kept"]:
    """Returns the rows of all other images, in order."""
    kept = torch.ones(num_images, dtype=torch.bool, device=rows.device)
    kept[rows] = False
    return kept.nonzero()[:, 0]
