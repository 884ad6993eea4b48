"""Intermediate results of codes, which are computed once for all metrics."""

import math
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeVar, final

import torch
from jaxtyping import Float64, Int64
from torch import Tensor

from unbraid._internal import row_draws
from unbraid.codes import Codes, Labels
from unbraid.errors import CodesError
from unbraid.information.posteriors import Draws, Posteriors
from unbraid.information.value_table import ValueTable

# Number of images from which the std of influences is estimated, with an error of about 1 %.
MAX_INFLUENCE_ROWS = 4_000
# The standard error is exact to 5 % (1 / sqrt(2 * 200)).
NUM_RESAMPLES = 200
# Maximum number of values of all factors. Tables have a column for each value, and thousands of rows.
MAX_VALUES = 20_000

T = TypeVar("T")


@final
class Statistics:
    """Codes with a cache of quantities computed from the codes.

    If `draws` is given, sampled estimators use these draws. With `num_fitted`, predictors are fitted on the first
    `num_fitted` images and tested on the other images. Without `with_intervals`, metrics compute only values, without
    intervals and without comparisons with half of the data or a finer estimate.
    """

    def __init__(
        self, codes: Codes, draws: Draws | None = None, num_fitted: int | None = None, *, with_intervals: bool = True
    ) -> None:
        if not isinstance(codes, Codes):
            raise CodesError(f"codes is a {type(codes).__name__}; expected unbraid.Codes. {_how_to_score(codes)}")
        self.codes = codes
        self.given_draws = draws
        self.num_fitted = num_fitted
        self.with_intervals = with_intervals
        self._kept: dict[Any, Any] = {}
        # Statistics restricted to some factors share results that do not depend on factors.
        self._whole = self

    @property
    def num_resamples(self) -> int:
        """Number of resamples for an interval; 0 without intervals."""
        return NUM_RESAMPLES if self.with_intervals else 0

    def once(self, key: Any, compute: Callable[[], T]) -> T:
        """Returns the result of `compute`, cached under `key`."""
        if key not in self._kept:
            self._kept[key] = compute()
        return self._kept[key]

    def once_for_all_factors(self, key: Any, compute: Callable[[], T]) -> T:
        """Returns the result of `compute`, cached for all subsets of the factors. It must not depend on factors."""
        return self._whole.once(key, compute)

    def _of(self, codes: Codes, draws: Draws | None = None, num_fitted: int | None = None) -> "Statistics":
        """Returns the statistics of a part of the codes."""
        return Statistics(codes, draws, num_fitted, with_intervals=self.with_intervals)

    def restricted(self, keep: Callable[[Labels], bool]) -> "Statistics":
        """Returns the statistics of the codes with the factors for which `keep` is True."""
        factors = tuple(labels for labels in self.codes.factors if keep(labels))
        names = tuple(labels.name for labels in factors)

        def compute() -> Statistics:
            part = self._of(replace(self.codes, factors=factors), self.given_draws, self.num_fitted)
            part._whole = self._whole
            return part

        return self.once(("restricted", names), compute)

    def of_latents(self, latents: Sequence[int]) -> "Statistics":
        """Returns the statistics of the codes with selected latents, in the given order."""
        if list(latents) == list(range(self.codes.num_latents)):
            return self

        def compute() -> Statistics:
            codes, given = self.codes.with_latents(latents), self.given_draws
            return self._of(codes, None if given is None else given.of_latents(latents), self.num_fitted)

        return self.once(("of_latents", tuple(latents)), compute)

    def subset(self) -> "Statistics":
        """Returns the statistics of at most 4,000 random images, without given draws and training and test parts."""
        if len(self.codes) <= MAX_INFLUENCE_ROWS:
            return self

        def compute() -> Statistics:
            sample = self.influence_sample
            # Unequal weights correct for the unequal sampling probabilities.
            weights = None if bool((sample.weights == sample.weights[0]).all()) else sample.weights
            return Statistics(replace(self.codes[sample.rows], weights=weights))

        return self.once("subset", compute)

    def drawn(self, num_images: int | None, seed: int = 0) -> "Statistics":
        """Returns the statistics of at most `num_images` images (None for all), drawn without replacement."""
        if num_images is None or len(self.codes) <= num_images:
            return self

        def compute() -> Statistics:
            rows = row_draws.permuted_rows(len(self.codes), seed, "drawn images")[:num_images].sort().values
            return self._of(self.codes[rows.to(self.codes.mean.device)])

        return self.once(("drawn", num_images, seed), compute)

    @cached_property
    def fitted_part(self) -> "Statistics":
        """Statistics of the training images of predictors."""
        return self if self.num_fitted is None else self._of(self.codes[: self.num_fitted])

    @cached_property
    def tested_part(self) -> "Statistics":
        """Statistics of the test images of predictors."""
        return self if self.num_fitted is None else self._of(self.codes[self.num_fitted :])

    @cached_property
    def varies(self) -> tuple[bool, ...]:
        """Whether each factor has more than one value, in both parts if there are training and test images."""
        if self.num_fitted is not None:
            parts = (self.fitted_part.varies, self.tested_part.varies)
            return tuple(fitted and tested for fitted, tested in zip(*parts, strict=True))
        return tuple(_varies(labels, self.codes.weights) for labels in self.codes.factors)

    @cached_property
    def factors_unique_per_image(self) -> tuple[str, ...]:
        """Discrete factors with a different value in every image."""
        found = []
        for labels, varies in zip(self.codes.factors, self.varies, strict=True):
            if varies and not labels.is_soft and not labels.is_continuous:
                assignment = labels.assignment()
                if int(assignment.max()) + 1 == int((assignment >= 0).sum()):
                    found.append(labels.name)
        return tuple(found)

    @cached_property
    def values(self) -> ValueTable:
        """Table of the values of all factors, which must be discrete."""
        found = ValueTable.from_assignments(
            tuple(f.assignment() for f in self.codes.factors),
            len(self.codes),
            self.codes.weights,
            self.codes.mean.device,
        )
        if sum(found.sizes) > MAX_VALUES:
            largest, name = max(zip(found.sizes, self.codes.factor_names, strict=True))
            raise CodesError(
                f"The factors have {sum(found.sizes):,} values in total, {largest:,} of them {name!r}; expected at "
                f"most {MAX_VALUES:,}. Leave out this factor, or group its values."
            )
        return found

    @cached_property
    def weights(self) -> Float64[Tensor, " image"]:
        """Image weights p(n), which sum to one."""
        given = self.codes.weights
        p = (
            torch.ones(len(self.codes), dtype=torch.float64, device=self.codes.mean.device)
            if given is None
            else given.double()
        )
        return p / p.sum()

    @cached_property
    def num_effective_images(self) -> float:
        """Effective number of images, 1 / sum_n p(n)^2."""
        return float(1 / self.weights.square().sum())

    @property
    def std(self) -> Tensor:
        """Std of each posterior and latent. Raises CodesError if the codes have none."""
        std = self.codes.marginal_std
        if self.codes.mean.shape[1] == 0:
            return self.codes.mean
        if std is None:
            raise CodesError(
                "The codes have only means or draws; expected the std of each posterior for this estimator. Pass std "
                "or log_var, or use Quantized(), which supports draws and, for deterministic encoders, a std of 0."
            )
        return std

    @cached_property
    def influence_sample(self) -> "InfluenceSample":
        """Images for influences: all images, or 4,000 images drawn with replacement from r(n).

        r(n) is p(n), increased for images with labels of factors with many missing labels.
        """
        num_images, p = len(self.codes), self.weights
        if num_images <= MAX_INFLUENCE_ROWS:
            return InfluenceSample(torch.arange(num_images, device=p.device), p * num_images, torch.ones_like(p))
        known = [labels.known.to(p.device).double() for labels in self.codes.factors if labels.known is not None]
        shares = [each / (p @ each).clamp(min=torch.finfo(torch.float64).tiny) for each in known]
        r = p if not shares else p * (1 + torch.stack(shares).mean(dim=0))
        r = r / r.sum()
        rows = row_draws.draw_rows(MAX_INFLUENCE_ROWS, num_images, 0, "influences", r).to(p.device)
        return InfluenceSample(rows, p[rows] / r[rows], (num_images * r[rows]).sqrt())

    @cached_property
    def posteriors(self) -> Posteriors:
        """Posteriors of the images, for computing densities."""
        return Posteriors(self.codes.mean, self.std, self.weights, self.codes.covariance, self.codes.probabilities)

    def draws(self, num_samples: int, seed: int) -> Draws:
        """Returns draws from the aggregate posterior: points from the posteriors of random images."""
        if self.given_draws is not None:
            return self.given_draws

        def compute() -> Draws:
            device = self.codes.mean.device
            weights = None if self.codes.weights is None else self.weights
            image = row_draws.draw_rows(num_samples, len(self.codes), seed, "draws/images", weights).to(device)
            noise = row_draws.randn((num_samples, self.codes.mean.shape[1]), seed, "draws/noise").to(device)
            uniform = row_draws.rand((num_samples, len(self.codes.probabilities)), seed, "draws/categories").to(device)
            return self.posteriors.draw(image, noise, uniform)

        return self.once_for_all_factors(("draws", num_samples, seed), compute)


@final
@dataclass(frozen=True)
class InfluenceSample:
    """Rows of images drawn from r(n), with the weights w = p / r and the corrections c = sqrt(N r).

    With M draws n_m, the estimate of sum_n p(n)^2 f(n)^2 is sum_m (w_m c_m f(n_m))^2 / (N M).
    """

    rows: Int64[Tensor, " row"]
    weights: Float64[Tensor, " row"]
    correction: Float64[Tensor, " row"]


def unseen_note(statistics: Statistics, seen: Statistics) -> tuple[str, ...]:
    """Returns a note on factors that vary in `statistics` but are constant in `seen`."""
    if seen is statistics:
        return ()
    names = [
        name
        for name, in_all, in_seen in zip(statistics.codes.factor_names, statistics.varies, seen.varies, strict=True)
        if in_all and not in_seen
    ]
    return (f"{', '.join(names)} are left out, because they are constant in the selected images.",) if names else ()


def _varies(labels: Labels, weights: Tensor | None) -> bool:
    counts = labels.is_known if weights is None else labels.is_known & (weights > 0)
    given = labels.values[counts]
    if len(given) == 0:
        return False
    if labels.is_soft:
        # As in `gaps.varies`.
        p = given.double().mean(dim=0)
        return float(-torch.xlogy(p, p).sum()) > 1e-13 * math.e
    return bool((given != given[0]).any())


def _how_to_score(given: Any) -> str:
    """Returns advice for an argument that is not an instance of Codes."""
    if isinstance(given, (str, os.PathLike)):
        return "Load codes from a file with Codes.load(path)."
    if hasattr(given, "score"):
        return "Score a run with run.score(...)."
    return "Create codes with Codes.from_arrays(mean, std, factors=labels)."
