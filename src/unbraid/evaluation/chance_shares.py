"""What latents seem to know of labels that have nothing to do with them: the zero of every share on few images."""

import math
from collections.abc import Sequence
from dataclasses import replace

import torch
from jaxtyping import Float64
from torch import Tensor

from unbraid import sampling
from unbraid.codes import Codes
from unbraid.metrics.estimators import Exact, MeansHistogram
from unbraid.metrics.metric import Score
from unbraid.metrics.mig import MIG
from unbraid.metrics.reductions.statistics import Statistics

MANY_IMAGES = 20_000
"""With as many images, chance is a few percent at most: a latent of 100 widths seems to know 3 % of 40 values."""
_MOST_SHUFFLES, _SHUFFLED_IMAGES = 8, 4000


def factor_shares(mig: Score) -> Float64[Tensor, "latent factor"]:
    """Returns I(z_j; v_k) / H(v_k), from 0 to 1. It is NaN where a factor never varies."""
    information, entropy = mig.tables["mutual_information"].clamp(min=0), mig.tables["factor_entropy"]
    varies = entropy.new_tensor([not math.isnan(gap) for gap in mig.per_factor.values()]).bool()
    return (information / entropy).where(varies, math.nan)


def information_with_factors(codes: Codes) -> Score:
    """Returns the MIG of the codes over the factors that vary, whose tables hold I(z_j; v_k): exact, or in bins where
    posteriors have no width.
    """
    names = [name for name, varies in zip(codes.factor_names, Statistics(codes).varies, strict=True) if varies]
    codes, std = codes.with_factors(names) if names else codes, codes.marginal_std
    has_width = codes.mean.shape[1] == 0 or (std is not None and bool((std > 0).all()))
    return MIG(Exact() if has_width else MeansHistogram())(codes)


def shares_by_chance(codes: Codes) -> Float64[Tensor, "latent factor"]:
    """Returns the share that latents seem to know of the labels of other images, as a mean over several shuffles where
    there are few images: with many values or narrow posteriors it is far from 0.
    """
    shuffles = max(1, min(_MOST_SHUFFLES, _SHUFFLED_IMAGES // len(codes)))
    orders = (sampling.permuted_rows(len(codes), seed, "shuffled labels") for seed in range(shuffles))
    shuffled = (replace(codes, factors=codes.rows(rows.to(codes.mean.device)).factors) for rows in orders)
    return torch.stack([factor_shares(information_with_factors(each)) for each in shuffled]).mean(dim=0)


def above_chance(
    shares: Float64[Tensor, "latent factor"], chance: Float64[Tensor, "latent factor"]
) -> Float64[Tensor, "latent factor"]:
    """Returns the shares on a scale on which chance is 0 and all there is to know stays 1."""
    return ((shares - chance) / (1 - chance).clamp(min=torch.finfo(torch.float64).eps)).clamp(min=0, max=1)


def known_shares(codes: Codes, mig: Score, factors: Sequence[str]) -> Float64[Tensor, "latent factor"]:
    """Returns the shares of a MIG of these factors, above chance where there are few images."""
    shares = factor_shares(mig)
    varying = [place for place in range(shares.shape[1]) if not shares[:, place].isnan().any()]
    names = [factors[place] for place in varying]
    if len(codes) >= MANY_IMAGES or not names or not {*names} <= {*codes.factor_names}:
        return shares
    chance = shares_by_chance(codes.with_factors(names).to("cpu")).to(shares)
    shares[:, varying] = above_chance(shares[:, varying], chance)
    return shares
