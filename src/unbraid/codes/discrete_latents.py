"""Codes without their discrete latents, or with the probabilities of their categories as columns: for metrics that read
means alone.
"""

from collections.abc import Sequence
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from unbraid.codes.latent_prior import LatentPrior
from unbraid.errors import CodesError

Groups = tuple[tuple[int, ...], ...]


def fields_without_discrete(
    num_continuous: int, num_latents: int, groups: Groups, prior: LatentPrior | None
) -> dict[str, Any]:
    """Returns the fields of codes that change when their discrete latents are left out."""
    if num_continuous == 0:
        raise CodesError(
            f"All {num_latents} latents of these codes are discrete, so without them none is left. Take them as "
            "columns: codes.with_discrete_as_columns(), or discrete='columns'."
        )
    kept = (tuple(latent for latent in group if latent < num_continuous) for group in groups)
    return {
        "probabilities": (),
        "groups": tuple(group for group in kept if group),
        "prior": None if prior is None else LatentPrior(prior.mean, prior.covariance, prior.family, prior.flow),
    }


def fields_with_columns(
    mean: Float[Tensor, "image latent"],
    std: Float[Tensor, "image latent"] | None,
    covariance: Float[Tensor, "image latent latent"] | None,
    samples: Float[Tensor, "draw image latent"] | None,
    probabilities: Sequence[Float[Tensor, "image _category"]],
    groups: Groups,
) -> dict[str, Any]:
    """Returns the fields of codes that change when their discrete latents become columns, of no width."""
    num_continuous = mean.shape[1]
    columns = torch.cat([_column(table).to(mean) for table in probabilities], dim=1)
    size = columns.shape[1]
    places = column_places(num_continuous, probabilities)
    has_width = std is not None or (num_continuous == 0 and covariance is None and samples is None)
    narrow = torch.zeros_like(columns)
    return {
        "mean": torch.cat([mean, columns], dim=1),
        "std": torch.cat([mean if std is None else std, narrow], dim=1) if has_width else None,
        "covariance": None if covariance is None else torch.nn.functional.pad(covariance, (0, size, 0, size)),
        "samples": None
        if samples is None
        else torch.cat([samples, columns.to(samples).expand(len(samples), -1, -1)], dim=2),
        "probabilities": (),
        "groups": tuple(tuple(column for latent in group for column in places[latent]) for group in groups),
        "prior": None,
    }


def column_places(num_continuous: int, probabilities: Sequence[Float[Tensor, "image _category"]]) -> list[range]:
    """Returns the columns of each latent, once its probabilities are columns: one for each category, and a single one
    for a latent of two, because the second would say the same.
    """
    places = [range(latent, latent + 1) for latent in range(num_continuous)]
    for table in probabilities:
        start = places[-1].stop if places else 0
        places.append(range(start, start + _column(table).shape[1]))
    return places


def _column(table: Float[Tensor, "image category"]) -> Float[Tensor, "image column"]:
    return table[:, 1:] if table.shape[1] == 2 else table
