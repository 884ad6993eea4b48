"""Matching of the latents of two encoders by the correlation of their means."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import final

import scipy
import torch
from jaxtyping import Float64
from torch import Tensor

from unbraid.codes.codes import Codes
from unbraid.errors import CodesError


@final
@dataclass(frozen=True)
class MatchedLatents:
    """A latent of one encoder, the matched latent of another encoder, and the correlation of their means."""

    first: int
    second: int
    correlation: float


@final
@dataclass(frozen=True)
class Matching:
    """Matched latents of two encoders, ordered by the latent of the first encoder."""

    pairs: tuple[MatchedLatents, ...]

    @property
    def agreement(self) -> float:
        """Mean |correlation| over the pairs; NaN without pairs.

        The agreement is 1 if the latents of both encoders are equal up to order, sign and scale.
        """
        return sum(abs(pair.correlation) for pair in self.pairs) / len(self.pairs) if self.pairs else float("nan")

    @property
    def partners(self) -> Mapping[int, MatchedLatents]:
        """Mapping from latents of the first encoder to their pairs."""
        return {pair.first: pair for pair in self.pairs}


def match_latents(first: Codes, second: Codes, *, min_std: float = 0.05) -> Matching:
    """Matches the latents of two encoders by maximizing the sum of |correlation| of their means.

    Both codes must have the same images in the same order. The weights of `first` weight the images. Only continuous
    latents whose means have a std of at least `min_std` are matched, because the small means of unused latents may
    correlate by chance. If one encoder has more latents, some of its latents are not matched.
    """
    if len(first) != len(second):
        raise CodesError(
            f"The codes have {len(first)} and {len(second)} images; expected the same images. Encode the same images "
            "with both encoders."
        )
    if not min_std >= 0:
        raise CodesError(f"min_std is {min_std}; expected a number >= 0. Pass e.g. min_std=0.05.")
    given = torch.ones(len(first)) if first.weights is None else first.weights
    weights = given.double().cpu() / given.double().cpu().sum()
    (ours, our_places), (theirs, their_places) = (
        _standardized(codes, weights, float(min_std)) for codes in (first, second)
    )
    table = (ours.T @ (theirs * weights[:, None])).clamp(-1, 1).numpy()
    rows, columns = scipy.optimize.linear_sum_assignment(abs(table), maximize=True)
    return Matching(
        tuple(
            MatchedLatents(our_places[row], their_places[column], float(table[row, column]))
            for row, column in zip(rows.tolist(), columns.tolist(), strict=True)
        )
    )


def _standardized(
    codes: Codes, weights: Float64[Tensor, " image"], min_std: float
) -> tuple[Float64[Tensor, "image latent"], list[int]]:
    """Returns the standardized means of the latents to match, on the CPU, and the latent indices."""
    mean = codes.mean.double().cpu()
    deviation = mean - weights @ mean
    std = (weights @ deviation.square()).sqrt()
    # The second condition excludes constant latents, which differ from their mean by rounding errors.
    places = ((std >= min_std) & (std > 1e-13 * mean.abs().amax(dim=0))).nonzero()[:, 0].tolist()
    return deviation[:, places] / std[places], places
