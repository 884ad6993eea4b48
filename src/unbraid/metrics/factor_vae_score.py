"""FactorVAE score: the accuracy of predicting the factor whose value is equal in a batch of images."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar, final

import torch
from jaxtyping import Bool, Float, Float64, Int64
from torch import Tensor

from unbraid._internal import row_draws
from unbraid.metrics.intervals import settled_by_half, wilson
from unbraid.metrics.metric import OF_MEANS, QUANTILE, Feature, Interval, Metric, Score, Value
from unbraid.metrics.reductions.gaps import among_factors
from unbraid.metrics.reductions.statistics import Statistics
from unbraid.metrics.reductions.value_groups import (
    check_num_drawn,
    chunks,
    drawn_points,
    of_one_factor,
    varying_factors,
)
from unbraid.metrics.settings import NOT_NEGATIVE


@final
@dataclass(frozen=True)
class FactorVAEScore(Metric):
    """Accuracy of a majority-vote classifier of the common factor of a batch (Kim & Mnih, arXiv:1802.05983v3).

    *Disentangling by Factorizing*, section 4. All images of a batch have the same value of one factor. The variance of
    each latent's means in the batch is divided by the variance over all images. The latent with the smallest ratio
    votes for the factor. Higher is better. Latents whose means have a std below `min_std` do not vote, because the
    ratio of a dead latent is 0 / 0. If all latents are dead, the score is 0. The interval is the interval of a binomial
    proportion for `num_test` votes, without the variance from sampling the images.
    """

    batch_size: int = 64
    """Number of images in a batch."""
    num_train: int = 10_000
    """Number of training votes."""
    num_test: int = 5_000
    """Number of test votes."""
    min_std: float = 0.05
    """Minimum std of the means of a latent that votes."""
    seed: int = 0
    """Seed of all random draws."""

    bounds: ClassVar[tuple[float, float]] = (0.0, 1.0)
    accepts: ClassVar[frozenset[Feature]] = OF_MEANS
    quantity: ClassVar[str] = "FactorVAE score"
    ranges: ClassVar[Mapping[str, Interval]] = MappingProxyType({"min_std": NOT_NEGATIVE})
    groups_by_value: ClassVar[bool] = True
    fits_predictor: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        check_num_drawn("FactorVAEScore", self.num_train + self.num_test, "batch_size", self.batch_size)

    def measure(self, statistics: Statistics) -> Score:
        codes, varying = statistics.codes, varying_factors(statistics)
        fitted = statistics.fitted_part
        variance = weighted_variance(fitted.codes.mean, fitted.codes.weights)
        active = active_latents(variance, self.min_std)
        factor, batches = drawn_points(
            statistics,
            self.num_train,
            self.num_test,
            lambda groups, number, part: row_draws.batches_sharing_a_value(
                groups, number, self.batch_size, self.seed, f"factor_vae_score{part}"
            ),
        )
        vote = votes(normalized_variances(codes.mean, batches, variance), active) if bool(active.any()) else None
        train, test = slice(self.num_train), slice(self.num_train, None)
        table = torch.zeros(codes.mean.shape[1], len(varying), dtype=torch.float64)
        correct, with_half = torch.zeros(self.num_test, dtype=torch.float64), 0.0
        if vote is not None:
            table = vote_table(vote[train], factor[train], codes.mean.shape[1], len(varying))
            correct = vote_is_right(table, vote[test], factor[test])
            half = slice(max(1, self.num_train // 2))
            half_table = vote_table(vote[half], factor[half], codes.mean.shape[1], len(varying))
            with_half = float(vote_is_right(half_table, vote[test], factor[test]).mean())

        value = float(correct.mean())
        interval = wilson(value, self.num_test)
        settled, notes = settled_by_half(value, with_half, interval, "training votes")
        if vote is None:
            notes = (
                *notes,
                f"No latent has means with a std >= {self.min_std:g}, so there are no votes, and the score is 0.",
            )
        else:
            notes = (*notes, *of_one_factor(varying))
        recalls = torch.stack([correct[factor[test] == k].mean() for k in range(len(varying))])
        train_share = float(table.amax(dim=1).sum() / self.num_train)
        num_factors = len(codes.factors)
        return self.score(
            Value(value, interval),
            codes.factor_names,
            parts={
                "train_accuracy": Value(train_share, wilson(train_share, self.num_train)),
                "num_active": Value(float(active.sum()), _num_active_interval(fitted, variance, self.min_std)),
            },
            per_factor=among_factors(recalls, varying, num_factors),
            tables={"votes": among_factors(table, varying, num_factors), "latent_std": variance.sqrt()},
            settled=settled,
            notes=notes,
        )


def weighted_variance(
    latents: Float[Tensor, "image latent"], weights: Float[Tensor, " image"] | None = None
) -> Float64[Tensor, " latent"]:
    """Returns the variance of each latent over all images, on the CPU.

    Without weights, the denominator is n - 1. With weights, the variance is sum_n p(n) (z_n - mean)^2.
    """
    z = latents.double()
    if weights is None:
        return (z.var(dim=0, correction=1) if len(z) > 1 else torch.zeros_like(z[0])).cpu()
    p = weights.double() / weights.double().sum()
    return (p @ (z - p @ z).square()).cpu()


def active_latents(variance: Float64[Tensor, " latent"], min_std: float = 0.05) -> Bool[Tensor, " latent"]:
    """Returns a mask of the latents with a std of at least `min_std`. Constant latents are never active."""
    return (variance.sqrt() >= min_std) & (variance > 0)


def normalized_variances(
    latents: Float[Tensor, "image latent"], batches: Int64[Tensor, "point batch"], variance: Float64[Tensor, " latent"]
) -> Float64[Tensor, "point latent"]:
    """Returns the variance of each latent within each batch divided by its variance over all images, on the CPU.

    The ratio is NaN for a constant latent.
    """
    within = [
        latents[batches[chunk].to(latents.device)].double().var(dim=1, correction=1).cpu()
        for chunk in chunks(*batches.shape)
    ]
    return torch.cat(within) / variance


def votes(variances: Float64[Tensor, "point latent"], active: Bool[Tensor, " latent"]) -> Int64[Tensor, " point"]:
    """Returns the active latent with the smallest variance in each batch; for ties, the first."""
    return torch.where(active, variances, math.inf).argmin(dim=1)


def vote_table(
    vote: Int64[Tensor, " point"], factor: Int64[Tensor, " point"], num_latents: int, num_factors: int
) -> Float64[Tensor, "latent factor"]:
    """Returns the number of votes of each latent for each factor."""
    return (
        torch.bincount(vote * num_factors + factor, minlength=num_latents * num_factors)
        .double()
        .reshape(num_latents, num_factors)
    )


def vote_is_right(
    table: Float64[Tensor, "latent factor"], vote: Int64[Tensor, " point"], factor: Int64[Tensor, " point"]
) -> Float64[Tensor, " point"]:
    """Returns 1 if the factor of a batch is the factor with the most votes of its latent in `table`, and 0 if not."""
    return (table.argmax(dim=1)[vote] == factor).double()


def _num_active_interval(
    statistics: Statistics, variance: Float64[Tensor, " latent"], min_std: float
) -> tuple[float, float]:
    """Returns the numbers of active latents for the lower and the upper limits of the variances."""
    z, p = statistics.codes.mean.double(), statistics.weights
    fourth = (p @ (z - p @ z).pow(4)).cpu()
    half = QUANTILE * ((fourth - variance.square()).clamp(min=0) / statistics.num_effective_images).sqrt()
    low, high = (active_latents(end.clamp(min=0), min_std) for end in (variance - half, variance + half))
    return float(low.sum()), float(high.sum())
