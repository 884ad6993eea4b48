"""IRS: the robustness of a latent to changes of other factors while one factor is constant."""

import math
from dataclasses import dataclass
from typing import ClassVar, Literal, final

import torch
from jaxtyping import Bool, Float64, Int64
from torch import Tensor

from unbraid._internal import row_draws
from unbraid.errors import SpecError
from unbraid.metrics.intervals import settled_by_half, spread
from unbraid.metrics.metric import OF_MEANS, Feature, Metric, Score, Value
from unbraid.metrics.reductions.statistics import MAX_INFLUENCE_ROWS, Statistics

ValueWeights = Literal["frequency", "uniform"]
# The rounding error of the mean of equal numbers, relative to them.
_ROUNDING = 1e-13
# The relative error of the standard error is 7 % (1 / sqrt(2 * 100)).
_NUM_RESAMPLES = 100


@final
@dataclass(frozen=True)
class IRS(Metric):
    """Interventional robustness score (Suter et al., *Robustly Disentangled Causal Mechanisms*, arXiv:1811.00007v2).

    IRS_ik = 1 - sum_v w(v) Q_n:v(|z_ni - m_iv|) / max_n |z_ni - m_i|. The score is the mean of max_k IRS_ik over
    latents. z_ni is the posterior mean of latent i for image n, and m_i the mean of z_ni over all images. m_iv is the
    mean of z_ni over the images for which factor k has the value v. Q is the `quantile` over these images, interpolated
    linearly; 1 is the maximum, as in the paper. The mean over latents is weighted by max_n |z_ni - m_i|, so the weight
    of a constant latent is 0. disentanglement_lib uses `value_weights="uniform"`. The score is at most 1 and may be
    negative. With weights p(n), image n of N counts as N p(n) images.
    """

    quantile: float = 0.99
    """Quantile of distances over images; 1 is the maximum, as in the paper."""
    value_weights: ValueWeights = "frequency"
    """Weights w(v): the frequency p(v), as in the paper, or equal weights."""

    bounds: ClassVar[tuple[float, float]] = (-1.0, 1.0)
    accepts: ClassVar[frozenset[Feature]] = OF_MEANS
    groups_by_value: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 < self.quantile <= 1:
            raise SpecError(
                f"IRS: quantile is {self.quantile}; expected a number > 0 and <= 1. Pass e.g. 0.99, or 1 for the "
                "maximum."
            )

    def measure(self, statistics: Statistics) -> Score:
        codes = statistics.codes
        counts = None if codes.weights is None else statistics.weights * len(codes)
        # Images with a weight of 0 are excluded, because they must not determine the largest deviation.
        every = torch.arange(len(codes), device=codes.mean.device) if counts is None else counts.nonzero()[:, 0]
        # Latent by image, so that latents are contiguous for sorting.
        z, unit = _normalized(codes.mean[every].double().T.contiguous())
        factors = [
            f.assignment()[every] if varies else None
            for f, varies in zip(codes.factors, statistics.varies, strict=True)
        ]
        counts = None if counts is None else counts[every]

        def robustness_of(rows: Int64[Tensor, "resample row"]) -> _Robustness:
            """Computes the robustness for each resample in `rows`. Counts are scaled to sum to the number of images."""
            some, count = z[:, rows], None if counts is None else counts[rows]
            if count is not None and rows.shape != (1, len(every)):
                count = count * (rows.shape[1] / count.sum(dim=1, keepdim=True))
            center = some.mean(dim=2) if count is None else (some * count).sum(dim=2) / count.sum(dim=1)
            max_deviation = (some - center[:, :, None]).abs().amax(dim=2)
            active = max_deviation > _ROUNDING * some.abs().amax(dim=2)
            matrix = some.new_full((*max_deviation.shape, len(factors)), math.nan)
            for k, values in enumerate(factors):
                if values is not None:
                    held = self._held_deviation(some, values[rows], count)
                    matrix[:, :, k] = 1 - held / torch.where(active, max_deviation, math.nan)
            return _Robustness(matrix, torch.where(active, max_deviation * unit[:, None], 0.0), active)

        robustness = robustness_of(torch.arange(len(every), device=z.device)[None])
        value, unweighted = Value(float(robustness.value)), Value(float(robustness.unweighted))
        settled: bool | None = None
        notes: tuple[str, ...] = ()
        if statistics.with_intervals:
            resampled = robustness_of(_resampled_rows(len(every)).to(z.device))
            value = Value.from_standard_error(value.value, spread(resampled.value), self.bounds)
            unweighted = Value.from_standard_error(unweighted.value, spread(resampled.unweighted), self.bounds)
            half = row_draws.permuted_rows(len(every), 0, "irs/half")[: max(1, len(every) // 2)].to(z.device)
            with_half = robustness_of(half[None])
            settled, notes = settled_by_half(value.value, float(with_half.value), value.interval, "images")
        still = (~robustness.active[:, 0]).nonzero()[:, 0].tolist()
        if still:
            notes = (*notes, f"Latents {still} have constant means and therefore no score.")
        return self.score(
            value,
            parts={"unweighted": unweighted},
            per_latent=robustness.per_latent[:, 0],
            tables={"irs": robustness.matrix[:, 0], "max_deviation": robustness.max_deviation[:, 0]},
            settled=settled,
            notes=notes,
        )

    def _held_deviation(
        self,
        z: Float64[Tensor, "latent resample row"],
        values: Int64[Tensor, "resample row"],
        counts: Float64[Tensor, "resample row"] | None,
    ) -> Float64[Tensor, "latent resample"]:
        """Returns the quantile of |z - m_v| over the images of each value v, averaged over the occurring values.

        The result is NaN if no value is known.
        """
        shape = (len(values), int(values.max()) + 1)
        known = values.flatten() >= 0
        # Separate value indices for each resample.
        value = (values + shape[1] * torch.arange(len(values), device=values.device)[:, None]).flatten()
        z, counts = z.flatten(1), None if counts is None else counts.flatten()
        if not bool(known.all()):
            z, value, counts = z[:, known], value[known], None if counts is None else counts[known]
        num_images = torch.bincount(value, minlength=shape[0] * shape[1])
        masses = num_images if counts is None else torch.bincount(value, counts, minlength=len(num_images))
        sums = z.new_zeros(len(z), len(masses)).index_add_(1, value, z if counts is None else z * counts)
        means = sums / torch.where(num_images > 0, masses, 1)
        deviations = (z - means[:, value]).abs()
        if counts is None or self.quantile == 1:
            quantiles = _quantiles(deviations, value, num_images, self.quantile)
        else:
            quantiles = _quantiles_of_counts(deviations, value, counts, num_images, masses, self.quantile)
        shares = (masses if self.value_weights == "frequency" else num_images > 0).double().unflatten(0, shape)
        return torch.where(num_images > 0, quantiles, 0.0).unflatten(1, shape).mul(shares).sum(dim=2) / shares.sum(
            dim=1
        )


@final
@dataclass(frozen=True)
class _Robustness:
    """IRS_ik and the largest deviations. Constant latents are not `active`; their IRS is NaN and their deviation 0."""

    matrix: Float64[Tensor, "latent resample factor"]
    max_deviation: Float64[Tensor, "latent resample"]
    active: Bool[Tensor, "latent resample"]

    @property
    def per_latent(self) -> Float64[Tensor, "latent resample"]:
        """Largest IRS of each latent; NaN for constant latents."""
        best = self.matrix.nan_to_num(-math.inf).amax(dim=2)
        return torch.where(self.active & best.isfinite(), best, math.nan)

    @property
    def value(self) -> Float64[Tensor, " resample"]:
        """Weighted average over latents; 0 if all latents are constant."""
        return self._average(self.max_deviation)

    @property
    def unweighted(self) -> Float64[Tensor, " resample"]:
        return self._average(self.active.double())

    def _average(self, weights: Float64[Tensor, "latent resample"]) -> Float64[Tensor, " resample"]:
        total = weights.sum(dim=0)
        averages = torch.where(self.active, self.per_latent * weights, 0.0).sum(dim=0) / total
        return torch.where(total > 0, averages, 0.0)


def _normalized(
    z: Float64[Tensor, "latent image"],
) -> tuple[Float64[Tensor, "latent image"], Float64[Tensor, " latent"]]:
    """Scales each latent to [0, 1], which does not change IRS, and returns the ranges; constant latents become 0."""
    low, unit = z.amin(dim=1), z.amax(dim=1) - z.amin(dim=1)
    unit = torch.where(unit > _ROUNDING * z.abs().amax(dim=1), unit, 0.0)
    return torch.where(unit[:, None] > 0, (z - low[:, None]) / torch.where(unit > 0, unit, 1.0)[:, None], 0.0), unit


def _resampled_rows(num_images: int) -> Int64[Tensor, "resample row"]:
    """Returns resamples of a fixed subset of the images, because the maximum does not converge like an average."""
    some = row_draws.permuted_rows(num_images, 0, "irs/rows")[:MAX_INFLUENCE_ROWS]
    return some[row_draws.randint(len(some), (_NUM_RESAMPLES, len(some)), 0, "irs/resamples")]


def _quantiles(
    deviations: Float64[Tensor, "latent image"],
    values: Int64[Tensor, " image"],
    counts: Int64[Tensor, " value"],
    quantile: float,
) -> Float64[Tensor, "latent value"]:
    """Returns the quantile of the deviations of each latent for each value.

    The quantile is interpolated linearly between images. It is NaN for a value without images.
    """
    if quantile == 1:
        greatest = deviations.new_full((len(deviations), len(counts)), -math.inf)
        greatest = greatest.scatter_reduce(1, values.expand_as(deviations), deviations, "amax")
        return torch.where(counts > 0, greatest, math.nan)
    # One sort for all values: deviations of value v are shifted to [v s, (v + 1) s), where s is a power of two above
    # all deviations. Then v s is exact, and the rounding error of a deviation is a unit in the last place of v s.
    scale = 2.0 ** (math.frexp(float(deviations.max()))[1] + 1)
    keys = _sorted(values.double() * scale + deviations)
    place = quantile * (counts - 1).clamp(min=0).double()
    first = counts.cumsum(0) - counts
    low = (first + place.floor().long()).clamp(max=keys.shape[1] - 1)
    high = (first + place.ceil().long()).clamp(max=keys.shape[1] - 1)
    base = torch.arange(len(counts), dtype=torch.float64, device=keys.device) * scale
    below, above = keys[:, low] - base, keys[:, high] - base
    return torch.where(counts > 0, below + (place - place.floor()) * (above - below), math.nan)


def _quantiles_of_counts(
    deviations: Float64[Tensor, "latent image"],
    values: Int64[Tensor, " image"],
    counts: Float64[Tensor, " image"],
    num_images: Int64[Tensor, " value"],
    masses: Float64[Tensor, " value"],
    quantile: float,
) -> Float64[Tensor, "latent value"]:
    """Computes `_quantiles` for images with counts. An integer count is equivalent to repeating the image."""
    scale = 2.0 ** (math.frexp(float(deviations.max()))[1] + 1)
    order = (values.double() * scale + deviations).argsort(dim=1)
    passed = counts[order].cumsum(dim=1)
    place = quantile * (masses - 1).clamp(min=0)
    first = num_images.cumsum(0) - num_images
    last = (first + num_images - 1).clamp(min=0)
    before = masses.cumsum(0) - masses

    def at(whole_place: Float64[Tensor, " value"]) -> Float64[Tensor, "latent value"]:
        # The offset exceeds the rounding errors of sums of integer counts.
        found = torch.searchsorted(
            passed, (before + whole_place + 1e-6).expand(len(passed), -1).contiguous(), right=True
        )
        return deviations.gather(1, order.gather(1, torch.minimum(torch.maximum(found, first), last)))

    below, above = at(place.floor()), at(place.ceil())
    return torch.where(num_images > 0, below + (place - place.floor()) * (above - below), math.nan)


def _sorted(keys: Float64[Tensor, "latent image"]) -> Float64[Tensor, "latent image"]:
    if keys.device.type == "cpu":
        # torch.sort also sorts the indices and is several times slower than numpy.
        keys.numpy().sort(axis=1)
        return keys
    return keys.sort(dim=1).values
