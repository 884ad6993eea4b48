"""Vector-valued latents: each group of latents as one, along its first principal component."""

from typing import Any

import torch
from jaxtyping import Float, Float64
from torch import Tensor

from unbraid.errors import CodesError

Groups = tuple[tuple[int, ...], ...]

_MOST_OF_IT = 0.9


def group_directions(
    mean: Float[Tensor, "image latent"], weights: Float[Tensor, " image"] | None, groups: Groups, num_latents: int
) -> Float64[Tensor, "latent unit"]:
    """Returns a direction of length one for each group, in which its means vary most, with its largest entry positive;
    a latent in no group has its own. They come in the order of their first latents.
    """
    if mean.shape[1] != num_latents:
        raise CodesError(
            f"The directions of groups are those of other codes, which have {mean.shape[1]} latents; these have "
            f"{num_latents}. Encode both with one model."
        )
    grouped = {latent for group in groups for latent in group}
    if discrete := sorted(latent for latent in grouped if latent >= num_latents):
        raise CodesError(
            f"Groups become one latent by the principal component of their means, and latents {discrete} are discrete. "
            "Take them as columns first (codes.with_discrete_as_columns()), or leave them out."
        )
    centred, p = _centred(mean, weights)
    units = _units(groups, num_latents)
    directions = centred.new_zeros(num_latents, len(units))
    for place, unit in enumerate(units):
        part = centred[:, list(unit)]
        found = torch.linalg.eigh(part.T @ (part * p[:, None])).eigenvectors[:, -1]
        directions[list(unit), place] = found * found[found.abs().argmax()].sign()
    return directions


def lost_variance(
    mean: Float[Tensor, "image latent"], weights: Float[Tensor, " image"] | None, groups: Groups
) -> tuple[str, ...]:
    """Returns a note that names the groups of which one direction holds less than nine tenths of the variance."""
    directions, units = group_directions(mean, weights, groups, mean.shape[1]), _units(groups, mean.shape[1])
    centred, p = _centred(mean, weights)
    along, whole = (p @ table.square() for table in (centred @ directions, centred))
    told = []
    for group in groups:
        share = float(along[units.index(group)] / whole[list(group)].sum())
        if share < _MOST_OF_IT:
            told.append(f"latents {', '.join(map(str, group))} ({100 * share:.0f} %)")
    each = "; ".join(told)
    return (f"The first principal component of a group does not hold all of its variance: {each}.",) if told else ()


def fields_along(
    directions: Float64[Tensor, "latent unit"],
    mean: Float[Tensor, "image latent"],
    std: Float[Tensor, "image latent"] | None,
    covariance: Float[Tensor, "image latent latent"] | None,
    samples: Float[Tensor, "draw image latent"] | None,
) -> dict[str, Any]:
    """Returns the fields of codes that change when their latents are replaced by these directions; no prior is known of
    them.
    """

    def along(table: Tensor | None) -> Tensor | None:
        return None if table is None else (table.double() @ directions).to(table.dtype)

    return {
        "mean": along(mean),
        "std": None if std is None else (std.double().square() @ directions.square()).sqrt().to(std.dtype),
        "covariance": None if covariance is None else (directions.T @ covariance.double() @ directions).to(covariance),
        "samples": along(samples),
        "groups": (),
        "prior": None,
    }


def _units(groups: Groups, num_latents: int) -> list[tuple[int, ...]]:
    """Returns the groups, and each latent in none by itself, in the order of their first latents."""
    grouped = {latent for group in groups for latent in group}
    return sorted([*groups, *((latent,) for latent in range(num_latents) if latent not in grouped)])


def _centred(
    mean: Float[Tensor, "image latent"], weights: Float[Tensor, " image"] | None
) -> tuple[Float64[Tensor, "image latent"], Float64[Tensor, " image"]]:
    """Returns the means less their average, and the probability of each image."""
    p = torch.ones(len(mean), dtype=torch.float64, device=mean.device) if weights is None else weights.double()
    return mean.double() - (p / p.sum()) @ mean.double(), p / p.sum()
