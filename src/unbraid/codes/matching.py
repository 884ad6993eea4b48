"""Matching of the latents of two encoders, by the correlation of their means over the same images."""

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
    """A latent of one encoder, its partner in another, and the correlation of their means."""

    first: int
    second: int
    correlation: float


@final
@dataclass(frozen=True)
class Matching:
    """Pairs of latents of two encoders, ordered by the latent of the first. Excludes unmatched latents."""

    pairs: tuple[MatchedLatents, ...]

    @property
    def agreement(self) -> float:
        """Mean |correlation| over the pairs, or NaN without pairs.

        The agreement is 1 if the latents of both encoders agree up to order, sign and scale.
        """
        return sum(abs(pair.correlation) for pair in self.pairs) / len(self.pairs) if self.pairs else float("nan")

    @property
    def partners(self) -> Mapping[int, MatchedLatents]:
        """Maps each latent of the first encoder to its pair."""
        return {pair.first: pair for pair in self.pairs}


def match_latents(first: Codes, second: Codes, *, min_std: float = 0.05) -> Matching:
    """Returns the matching of the latents of two encoders with the largest sum of |correlation| of their means.

    Row n of both must be of the same image; images are weighted by the first codes. Only continuous latents whose means
    have a std of at least `min_std` are matched: the means of an unused latent are tiny, and may correlate with
    anything. If one encoder has more latents, some of its latents stay unmatched.
    """
    if len(first) != len(second):
        raise CodesError(
            f"Latents are matched over the same images, and the codes are of {len(first)} and {len(second)} images. "
            "Encode the same images with both."
        )
    if not min_std >= 0:
        raise CodesError(f"min_std is {min_std}; expected 0 or more (0.05 is usual).")
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
    """Returns the standardized means of the latents to match, on the CPU, and the latent numbers."""
    mean = codes.mean.double().cpu()
    deviation = mean - weights @ mean
    std = (weights @ deviation.square()).sqrt()
    # Equal numbers differ from their mean by rounding.
    places = ((std >= min_std) & (std > 1e-13 * mean.abs().amax(dim=0))).nonzero()[:, 0].tolist()
    return deviation[:, places] / std[places], places
