"""What latents seem to know of labels that have nothing to do with them: the zero of every share on few images."""

import contextlib
import math
from dataclasses import replace

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

MANY_IMAGES = 20_000
"""With as many images, chance is a few percent at most: a latent of 100 widths seems to know 3 % of 40 values."""
_MOST_SHUFFLES, _SHUFFLED_IMAGES = 8, 4000


def factor_shares(mig: Score) -> Float64[Tensor, "latent factor"]:
    """Returns I(z_j; v_k) / H(v_k), from 0 to 1. It is NaN where a factor never varies."""
    information, entropy = mig.tables["mutual_information"].clamp(min=0), mig.tables["factor_entropy"]
    varies = entropy.new_tensor([not math.isnan(gap) for gap in mig.per_factor.values()]).bool()
    return (information / entropy).where(varies, math.nan)


def varying(codes: Codes) -> Codes:
    """Returns the codes with the factors that vary among images that may be drawn, and these images alone; all of them
    if none varies.
    """
    names = [name for name, varies in zip(codes.factor_names, Statistics(codes).varies, strict=True) if varies]
    likely = codes if codes.weights is None else codes[codes.weights > 0]
    return likely.with_factors(names) if names else likely


def estimator_for(codes: Codes) -> Estimator:
    """Returns how information is estimated: exactly, or in bins where posteriors have no width."""
    std = codes.marginal_std
    has_width = codes.mean.shape[1] == 0 or (std is not None and bool((std > 0).all()))
    return Exact() if has_width else MeansHistogram()


def shares_by_chance(codes: Codes, estimator: Estimator) -> Float64[Tensor, "latent factor"]:
    """Returns the share that latents seem to know of the labels of other images, as a mean over several shuffles where
    there are few images: with many values or narrow posteriors it is far from 0. Every factor of the codes varies.
    """
    shuffles = max(1, min(_MOST_SHUFFLES, _SHUFFLED_IMAGES // len(codes)))
    orders = (row_draws.permuted_rows(len(codes), seed, "shuffled labels") for seed in range(shuffles))
    shuffled = (replace(codes, factors=codes[rows.to(codes.mean.device)].factors) for rows in orders)
    return torch.stack([factor_shares(MIG(estimator)(each)) for each in shuffled]).mean(dim=0)


def above_chance(
    shares: Float64[Tensor, "latent factor"], chance: Float64[Tensor, "latent factor"]
) -> Float64[Tensor, "latent factor"]:
    """Returns the shares on a scale on which chance is 0 and all there is to know stays 1."""
    return ((shares - chance) / (1 - chance).clamp(min=torch.finfo(torch.float64).eps)).clamp(min=0, max=1)


def known_shares(codes: Codes, mig: Score) -> Float64[Tensor, "latent factor"]:
    """Returns the shares of a MIG of these codes, above chance where there are few images and the MIG was estimated in
    a way that is at hand here.
    """
    shares, estimator = factor_shares(mig), _estimator_of(mig)
    places = {name: place for place, name in enumerate(mig.per_factor) if not shares[:, place].isnan().any()}
    if len(codes) >= MANY_IMAGES or estimator is None or not places or not {*places} <= {*codes.factor_names}:
        return shares
    with contextlib.suppress(CodesError):
        among = varying(codes.with_factors(tuple(places)).to("cpu"))
        chance = shares_by_chance(among, estimator).to(shares)
        columns = [places[name] for name in among.factor_names]
        shares[:, columns] = above_chance(shares[:, columns], chance)
    return shares


def _estimator_of(mig: Score) -> Estimator | None:
    """Returns the estimator of a score, if it is one of those that reports ask for."""
    match mig.settings.get("estimator"):
        case "exact":
            return Exact()
        case "means_histogram":
            return MeansHistogram(int(mig.settings["num_bins"]), mig.settings.get("num_samples"))
        case _:
            return None
