"""Information of each latent about the image and about each factor, relative to shuffled labels."""

import contextlib
import math
from dataclasses import dataclass, replace
from typing import final

import torch
from jaxtyping import Float64
from torch import Tensor

from unbraid._internal import row_draws
from unbraid.codes import Codes
from unbraid.errors import CodesError
from unbraid.metrics.estimators import Estimator, Exact, MeansHistogram
from unbraid.metrics.metric import Score
from unbraid.metrics.mig import MIG
from unbraid.metrics.reductions.statistics import Statistics
from unbraid.metrics.unused_latents import has_width, informativeness, unused_latents

LEAST_SHARE = 0.1
"""Minimum share of the entropy of a factor for a latent that follows the factor."""
MANY_IMAGES = 20_000
"""Number of images above which shares by chance are small, e.g. 3 % for 40 values and a std of 1 % of the range."""
_MOST_SHUFFLES, _SHUFFLED_IMAGES = 8, 4000


@final
@dataclass(frozen=True)
class Reading:
    """Information in one latent about the image and about the factors.

    `nats` is I(x; z_j). `follows` contains one or two factors with the largest shares I(z_j; v_k) / H(v_k), corrected
    for chance if there are few images. The second factor is included if its share is at least half of the first share,
    in which case the latent is entangled. `num_categories` is 0 for a continuous latent.
    """

    latent: int
    nats: float
    follows: tuple[tuple[str, float], ...] = ()
    num_categories: int = 0
    is_unused: bool = False


def read_latents(codes: Codes, mig: Score | None) -> list[Reading]:
    """Returns a reading of every latent, most informative first."""
    known = informativeness(codes, mig)
    nats, unused = known.tolist(), unused_latents(codes, mig, known).tolist()
    names = () if mig is None else tuple(mig.per_factor)
    shares = None if mig is None else known_shares(codes, mig)
    categories = [0] * codes.mean.shape[1] + [table.shape[1] for table in codes.probabilities]
    readings = [
        Reading(
            latent=j,
            nats=max(0.0, nats[j]),
            follows=() if shares is None else _followed(shares[j].tolist(), names),
            num_categories=categories[j],
            is_unused=unused[j],
        )
        for j in range(len(nats))
    ]
    return sorted(readings, key=lambda reading: -reading.nats)


def _followed(shares: list[float], names: tuple[str, ...]) -> tuple[tuple[str, float], ...]:
    pairs = [(name, share) for name, share in zip(names, shares, strict=True) if share >= LEAST_SHARE]
    ranked = sorted(pairs, key=lambda pair: -pair[1])
    return tuple(pair for pair in ranked[:2] if pair[1] >= ranked[0][1] / 2)


def factor_shares(mig: Score) -> Float64[Tensor, "latent factor"]:
    """Returns the shares I(z_j; v_k) / H(v_k), from 0 to 1; NaN for constant factors."""
    information, entropy = mig.tables["mutual_information"].clamp(min=0), mig.tables["factor_entropy"]
    varies = entropy.new_tensor([not math.isnan(gap) for gap in mig.per_factor.values()]).bool()
    return (information / entropy).where(varies, math.nan)


def varying(codes: Codes) -> Codes:
    """Returns the codes of images with a positive weight, with the factors that vary, or all factors if none varies."""
    names = [name for name, varies in zip(codes.factor_names, Statistics(codes).varies, strict=True) if varies]
    likely = codes if codes.weights is None else codes[codes.weights > 0]
    return likely.with_factors(names) if names else likely


def estimator_for(codes: Codes) -> Estimator:
    """Returns the exact estimator, or a histogram of means for codes without a std above 0."""
    return Exact() if has_width(codes) else MeansHistogram()


def shares_by_chance(codes: Codes, estimator: Estimator) -> Float64[Tensor, "latent factor"]:
    """Returns the shares for shuffled labels, averaged over several shuffles if there are few images.

    For many values or small stds, these shares are not close to 0. All factors of the codes must vary.
    """
    shuffles = max(1, min(_MOST_SHUFFLES, _SHUFFLED_IMAGES // len(codes)))
    orders = (row_draws.permuted_rows(len(codes), seed, "shuffled labels") for seed in range(shuffles))
    shuffled = (replace(codes, factors=codes[rows.to(codes.mean.device)].factors) for rows in orders)
    return torch.stack([factor_shares(MIG(estimator)(each)) for each in shuffled]).mean(dim=0)


def above_chance(
    shares: Float64[Tensor, "latent factor"], chance: Float64[Tensor, "latent factor"]
) -> Float64[Tensor, "latent factor"]:
    """Rescales shares so that the share by chance is 0 and the complete information is 1."""
    return ((shares - chance) / (1 - chance).clamp(min=torch.finfo(torch.float64).eps)).clamp(min=0, max=1)


def known_shares(codes: Codes, mig: Score) -> Float64[Tensor, "latent factor"]:
    """Returns the shares of the MIG score of these codes.

    The shares are corrected for chance if there are few images and the estimator is exact or a histogram of means.
    """
    shares, settings = factor_shares(mig), mig.settings
    estimator: Estimator | None = Exact() if settings.get("estimator") == "exact" else None
    if settings.get("estimator") == "means_histogram":
        estimator = MeansHistogram(int(settings["num_bins"]), settings.get("num_samples"))
    places = {name: place for place, name in enumerate(mig.per_factor) if not shares[:, place].isnan().any()}
    if len(codes) >= MANY_IMAGES or estimator is None or not places or not {*places} <= {*codes.factor_names}:
        return shares
    with contextlib.suppress(CodesError):
        among = varying(codes.with_factors(tuple(places)).to("cpu"))
        chance = shares_by_chance(among, estimator).to(shares)
        columns = [places[name] for name in among.factor_names]
        shares[:, columns] = above_chance(shares[:, columns], chance)
    return shares
