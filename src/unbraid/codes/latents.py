"""Transformations of the latents of codes: selection, discrete latents as columns, groups as latents."""

from collections.abc import Sequence
from dataclasses import replace

import torch
from jaxtyping import Float, Float64
from torch import Tensor

from unbraid.codes.codes import Codes
from unbraid.errors import CodesError

_MIN_EXPLAINED = 0.9


def select_latents(codes: Codes, latents: Sequence[int]) -> Codes:
    """Implements `Codes.with_latents`. A group keeps its selected latents."""
    if outside := [latent for latent in latents if not 0 <= latent < codes.num_latents]:
        raise CodesError(f"Latent {outside[0]} does not exist. Pass indices from 0 to {codes.num_latents - 1}.")
    if not latents or len(set(latents)) < len(latents):
        raise CodesError(f"latents is {tuple(latents)}; expected different indices. Pass at least one, each once.")
    num_continuous = codes.mean.shape[1]
    first = [latent for latent in latents if latent < num_continuous]
    discrete = [latent - num_continuous for latent in latents if latent >= num_continuous]
    place = {latent: new for new, latent in enumerate([*first, *(num_continuous + k for k in discrete)])}
    groups = (tuple(place[latent] for latent in group if latent in place) for group in codes.groups)
    return replace(
        codes,
        mean=codes.mean[:, first],
        std=None if codes.std is None else codes.std[:, first],
        covariance=None if codes.covariance is None else codes.covariance[:, first][:, :, first],
        samples=None if codes.samples is None else codes.samples[:, :, first],
        probabilities=tuple(codes.probabilities[k] for k in discrete),
        groups=tuple(group for group in groups if group),
        prior=None if codes.prior is None else codes.prior.marginal(first, discrete),
    )


def without_discrete(codes: Codes) -> Codes:
    """Implements `Codes.without_discrete`."""
    num_continuous = codes.mean.shape[1]
    if num_continuous == 0:
        raise CodesError(
            f"All {codes.num_latents} latents are discrete; expected at least one continuous latent. Use discrete "
            "latents as columns with codes.with_discrete_as_columns() or discrete='columns'."
        )
    return select_latents(codes, range(num_continuous))


def with_discrete_as_columns(codes: Codes) -> Codes:
    """Implements `Codes.with_discrete_as_columns`."""
    columns = torch.cat([_columns_of(table).to(codes.mean) for table in codes.probabilities], dim=1)
    places, size = column_places(codes), columns.shape[1]
    has_width = codes.std is not None or (codes.mean.shape[1] == 0 and codes.covariance is codes.samples is None)
    std = codes.mean if codes.std is None else codes.std
    return replace(
        codes,
        mean=torch.cat([codes.mean, columns], dim=1),
        std=torch.cat([std, torch.zeros_like(columns)], dim=1) if has_width else None,
        covariance=None if codes.covariance is None else torch.nn.functional.pad(codes.covariance, (0, size, 0, size)),
        samples=None
        if codes.samples is None
        else torch.cat([codes.samples, columns.to(codes.samples).expand(len(codes.samples), -1, -1)], dim=2),
        probabilities=(),
        groups=tuple(tuple(column for latent in group for column in places[latent]) for group in codes.groups),
        prior=None,
    )


def column_places(codes: Codes) -> list[range]:
    """Returns the columns of each latent in `with_discrete_as_columns`.

    A latent with two categories has one column, and other discrete latents one column per category.
    """
    places = [range(latent, latent + 1) for latent in range(codes.mean.shape[1])]
    for table in codes.probabilities:
        start = places[-1].stop if places else 0
        places.append(range(start, start + _columns_of(table).shape[1]))
    return places


def _columns_of(table: Float[Tensor, "image category"]) -> Float[Tensor, "image column"]:
    return table[:, 1:] if table.shape[1] == 2 else table


def with_groups_as_latents(codes: Codes, like: Codes) -> Codes:
    """Implements `Codes.with_groups_as_latents`."""
    directions = _group_directions(like, codes)
    std, covariance, samples = codes.std, codes.covariance, codes.samples
    return replace(
        codes,
        mean=(codes.mean.double() @ directions).to(codes.mean.dtype),
        std=None if std is None else (std.double().square() @ directions.square()).sqrt().to(std.dtype),
        covariance=None if covariance is None else (directions.T @ covariance.double() @ directions).to(covariance),
        samples=None if samples is None else (samples.double() @ directions).to(samples.dtype),
        groups=(),
        prior=None,
    )


def lost_variance(codes: Codes) -> tuple[str, ...]:
    """Returns a note with the groups whose first component explains less than 90 % of the variance, if any."""
    directions, units = _group_directions(codes, codes), _units(codes)
    centered, p = _centered(codes)
    along, whole = (p @ table.square() for table in (centered @ directions, centered))
    shares = {group: float(along[units.index(group)] / whole[list(group)].sum()) for group in codes.groups}
    each = "; ".join(
        f"latents {', '.join(map(str, group))} ({100 * share:.0f} %)"
        for group, share in shares.items()
        if share < _MIN_EXPLAINED
    )
    return (f"The first principal component of a group does not explain all of its variance: {each}.",) if each else ()


def _group_directions(like: Codes, codes: Codes) -> Float64[Tensor, "latent unit"]:
    """Returns the first principal component of the means of each group in `like`, with a positive largest entry.

    A latent outside all groups is a separate component. Components are ordered by their first latents.
    """
    num_latents = codes.mean.shape[1]
    if like.mean.shape[1] != num_latents:
        raise CodesError(
            f"`like` has {like.mean.shape[1]} latents; expected {num_latents}, as the codes. Encode both with one "
            "model."
        )
    if discrete := sorted(latent for group in codes.groups for latent in group if latent >= num_latents):
        raise CodesError(
            f"The groups contain the discrete latents {discrete}; expected only continuous latents, because a group is "
            "replaced by a component of its means. Call codes.with_discrete_as_columns() first, or omit these latents."
        )
    centered, p = _centered(like)
    units = _units(codes)
    directions = centered.new_zeros(num_latents, len(units))
    for place, unit in enumerate(units):
        part = centered[:, list(unit)]
        found = torch.linalg.eigh(part.T @ (part * p[:, None])).eigenvectors[:, -1]
        directions[list(unit), place] = found * found[found.abs().argmax()].sign()
    return directions


def _units(codes: Codes) -> list[tuple[int, ...]]:
    """Returns all groups, with the remaining continuous latents as groups of one, ordered by first latent."""
    grouped = {latent for group in codes.groups for latent in group}
    alone = ((latent,) for latent in range(codes.mean.shape[1]) if latent not in grouped)
    return sorted([*codes.groups, *alone])


def _centered(codes: Codes) -> tuple[Float64[Tensor, "image latent"], Float64[Tensor, " image"]]:
    """Returns the centered means and the probability of each image."""
    mean = codes.mean.double()
    p = mean.new_ones(len(mean)) if codes.weights is None else codes.weights.double()
    return mean - (p / p.sum()) @ mean, p / p.sum()
