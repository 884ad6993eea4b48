"""Entropies and mutual information of quantized latents.

Do & Tran, arXiv:1908.09961v4, appendices A.10 and A.14. `quantize` computes the masses of posteriors in bins of fixed
width, and `quantize_draws` estimates the masses from draws. `statistics_of_masses` sums the masses over the images, and
`information_of_tables` computes entropies from the sums. The bins of a discrete latent are its categories. `influences`
computes the contribution of each image to the entropies.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, assert_never, final

import numpy as np
import torch
from jaxtyping import Float, Float64, Int64
from torch import Tensor

from unbraid.config import Config
from unbraid.errors import CodesError, SpecError
from unbraid.information.latent_information import (
    LatentInformation,
    entropy,
    information_of_tables,
    joined,
    occurring_values,
    stacked,
)
from unbraid.information.value_table import ValueTable

Masses = Literal["erf_edge", "erf_renorm", "rectangle"]
"""Method for the mass of a Gaussian in a bin; see `Bins`."""
# As in Do & Tran's code: if the density at all centers is below this value, all mass is in the bin of the mean.
_RECTANGLE_FLOOR = 1e-5
# Above this number of masses (images times latents times bins), masses are float32, which changes an entropy by less
# than 1e-6 nats. Sums are always float64.
MAX_FLOAT64_MASSES = 20_000_000
# Approximate number of masses per block of images: 4 MB in float32, which fits in the cache of a CPU. A GPU is faster
# with larger blocks.
_BLOCK_MASSES = {"cpu": 1_000_000, "cuda": 64_000_000}
# Maximum number of entries in the table of factor values of a block: 128 MB and 1 GB.
_BLOCK_VALUES = {"cpu": 16_000_000, "cuda": 128_000_000}
# Maximum number of entries in the table of sums (latents by bins by values): 1 GB for each of a few copies.
_MAX_SUMS = 128_000_000

# H(v_k), H(z_i, v_k), I(z_i; v_k) and the mean of H(z_i | v) over values, for one factor.
_OfFactor = tuple[
    Float64[Tensor, " row"], Float64[Tensor, "row latent"], Float64[Tensor, "row latent"], Float64[Tensor, "row latent"]
]

Quantizer = Callable[[Int64[Tensor, " row"]], Float[Tensor, "row latent bin"]]


@final
@dataclass(frozen=True)
class Bins(Config):
    """Bins [a, b) of equal width from `low` to `high`. Points outside are in the first or last bin.

    `masses` selects the mass of N(mean, std^2) in each bin. "erf_edge" is the exact mass, with the tails in the first
    and last bin. This is quantization (eq. 15 of Do & Tran), which never increases information. "erf_renorm" drops the
    tails and scales the remaining mass to one. "rectangle" is the scaled density at the center of each bin, as in the
    code of Do & Tran. It is closer to the unquantized information if the range contains nearly all mass.
    """

    num_bins: int = 100
    low: float = -4.0
    high: float = 4.0
    masses: Masses = "erf_edge"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.num_bins < 1:
            raise SpecError(f"Bins: num_bins is {self.num_bins}; expected an integer >= 1. Pass e.g. num_bins=100.")
        if not (self.low < self.high and math.isfinite(self.high - self.low)):
            raise SpecError(
                f"Bins: low is {self.low} and high is {self.high}; expected finite numbers with low < high and a "
                "finite difference. Pass e.g. low=-4.0, high=4.0."
            )

    def edges(self, device: torch.device | None = None) -> Float64[Tensor, " edge"]:
        # numpy.linspace, because torch.linspace rounds some edges differently, which changes the bin of a mean on an
        # edge.
        return torch.from_numpy(np.linspace(self.low, self.high, self.num_bins + 1)).to(device)


@final
@dataclass(frozen=True)
class QuantizedStatistics:
    """Sums over images, weighted by p(n), from which the quantized entropies are computed.

    `joints` has a table for each factor, with the mass of each bin and value for each latent. The table of a latent
    sums to the fraction of images with a known value.
    """

    marginal: Float64[Tensor, "latent bin"]
    joints: tuple[Float64[Tensor, "latent bin _value"], ...]
    entropy_given_image: Float64[Tensor, " latent"]


def quantize(
    mean: Float[Tensor, "image latent"],
    std: Float[Tensor, "image latent"],
    bins: Bins,
    dtype: torch.dtype = torch.float64,
) -> Float[Tensor, "image latent bin"]:
    """Returns Q(s | x), the mass of each posterior in each bin. Rows sum to one.

    If a std is 0 or too small for the dtype, all mass is in the bin of the mean.
    """
    given, mean, std = mean, mean.to(dtype), std.to(dtype)
    exact_edges = bins.edges(mean.device)
    edges = exact_edges.to(dtype)
    # The reciprocal of a subnormal number may be infinite.
    is_point = std < torch.finfo(dtype).tiny
    match bins.masses:
        case "erf_edge":
            masses, lost = _gaussian_masses(mean, std, edges), is_point
            masses[:, :, 0] += _upper_tail((mean - edges[0]) / std)
            masses[:, :, -1] += _upper_tail((edges[-1] - mean) / std)
        case "erf_renorm":
            masses = _gaussian_masses(mean, std, edges)
            lost = is_point | (masses.sum(dim=2) == 0)
            masses = masses / masses.sum(dim=2, keepdim=True)
        case "rectangle":
            masses = ((edges[:-1] + edges[1:]) / 2 - mean[:, :, None]).div_(std[:, :, None])
            masses = masses.square_().mul_(-0.5).exp_().div_((std * math.sqrt(2 * math.pi))[:, :, None])
            lost = is_point | (masses.amax(dim=2) < _RECTANGLE_FLOOR)
            masses = masses / masses.sum(dim=2, keepdim=True)
        case _:
            assert_never(bins.masses)
    if bool(lost.any()):
        # The given mean, because a rounded mean on an edge might be in another bin.
        masses[lost] = 0
        masses[lost] = masses[lost].scatter_(1, own_bin(given[lost], exact_edges)[:, None], 1.0)
    return masses


def quantize_draws(samples: Float[Tensor, "draw image latent"], bins: Bins) -> Float64[Tensor, "image latent bin"]:
    """Returns Q(s | x) estimated from draws, the fraction of draws of an image in each bin."""
    draws = own_bin(samples, bins.edges(samples.device)).permute(1, 2, 0)
    masses = torch.zeros(*draws.shape[:2], bins.num_bins, dtype=torch.float64, device=samples.device)
    return masses.scatter_add_(2, draws, torch.ones_like(draws, dtype=torch.float64)) / len(samples)


def own_bin(points: Float[Tensor, "*axes"], edges: Float64[Tensor, " edge"]) -> Int64[Tensor, "*axes"]:
    """Returns the index of the bin [a, b) of each point. Points outside are in the first or last bin."""
    return (torch.searchsorted(edges, points.double().contiguous(), right=True) - 1).clamp(0, len(edges) - 2)


def quantized_statistics(
    mean: Float[Tensor, "image latent"], std: Float[Tensor, "image latent"], values: ValueTable, bins: Bins
) -> QuantizedStatistics:
    """Computes the quantized statistics of Gaussian posteriors."""
    if mean.shape != std.shape or bool((std < 0).any()):
        raise CodesError(
            f"std has shape {tuple(std.shape)} and minimum {float(std.min()):g}; expected the shape "
            f"{tuple(mean.shape)} of mean and values >= 0. Convert log-variances with exp(log_var / 2)."
        )
    # Scaling to one amplifies rounding errors in the tails, so "erf_renorm" always uses float64.
    is_small = mean.numel() * bins.num_bins <= MAX_FLOAT64_MASSES or bins.masses == "erf_renorm"
    dtype = torch.float64 if is_small else torch.float32
    return statistics_of_masses(
        lambda rows: quantize(mean[rows], std[rows], bins, dtype), mean.shape[1], bins.num_bins, values
    )


def statistics_of_masses(
    quantizer: Quantizer, num_latents: int, num_bins: int, values: ValueTable
) -> QuantizedStatistics:
    """Computes Q(s) = sum_n p(n) Q(s | n), Q(s, v_k) = sum_n p(n) Q(s | n) p(v_k | n), and the mean of H(Q(. | x))."""
    weights, kind = values.weights, "cpu" if values.weights.device.type == "cpu" else "cuda"
    if num_latents * num_bins * values.num_columns > _MAX_SUMS:
        raise CodesError(
            f"{num_latents:,} latents, {num_bins:,} bins and {values.num_columns - 1:,} values of factors need a table "
            f"of {8e-9 * num_latents * num_bins * values.num_columns:.1f} GB; expected at most "
            f"{8e-9 * _MAX_SUMS:.1f} GB. Use fewer latents or bins, or omit the factor with the most values."
        )
    joint = torch.zeros(num_latents * num_bins, values.num_columns, dtype=torch.float64, device=weights.device)
    entropy_given_image = joint.new_zeros(num_latents)
    block_size = max(1, min(_BLOCK_MASSES[kind] // (num_latents * num_bins), _BLOCK_VALUES[kind] // values.num_columns))
    for rows in torch.arange(len(weights), device=weights.device).split(block_size):
        masses = quantizer(rows)
        # Weights are scaled to order 1, so that products with small masses do not underflow in float32.
        columns = (values.columns(rows) * len(weights)).to(masses.dtype)
        joint += masses.flatten(1).T @ columns
        entropy_given_image -= torch.einsum("nls,n->l", torch.xlogy(masses, masses), columns[:, 0])
    tables = (joint / len(weights)).unflatten(0, (num_latents, num_bins))
    return QuantizedStatistics(tables[:, :, 0], values.split(tables), entropy_given_image / len(weights))


def quantized_information(
    mean: Float[Tensor, "image latent"],
    std: Float[Tensor, "image latent"],
    values: ValueTable,
    bins: Bins | None = None,
) -> LatentInformation:
    """Returns the discrete entropies and the mutual information of quantized latents, in nats."""
    statistics = quantized_statistics(mean, std, values, bins or Bins())
    return information_of_tables(statistics.marginal, statistics.joints, statistics.entropy_given_image)


def discrete_statistics(probabilities: Float[Tensor, "image category"], values: ValueTable) -> QuantizedStatistics:
    """Computes the statistics of a discrete latent."""
    return statistics_of_masses(lambda rows: probabilities[rows].double()[:, None], 1, probabilities.shape[1], values)


def discrete_information(
    probabilities: Sequence[Float[Tensor, "image _category"]], values: ValueTable
) -> LatentInformation:
    """Returns the exact entropies and mutual information of discrete latents, in nats."""
    found = [discrete_statistics(table, values) for table in probabilities]
    return joined([information_of_tables(s.marginal, s.joints, s.entropy_given_image) for s in found])


def means_histogram_information(
    mean: Float[Tensor, "image latent"], values: ValueTable, num_bins: int = 20
) -> LatentInformation:
    """Returns the information of means in `num_bins` bins between the smallest and the largest mean, in nats.

    Locatello et al., arXiv:1811.12359v4 (20 bins), for comparison with published numbers. The std of posteriors is
    ignored, so a latent whose means vary much less than its std fills as many bins as a latent without noise.
    """
    if num_bins < 1:
        raise SpecError(f"means_histogram: num_bins is {num_bins}; expected an integer >= 1. Pass e.g. num_bins=20.")
    bins = histogram_bins(mean, num_bins, values.weights)
    tables = torch.stack([values.grouped_columns(column, num_bins)[0] for column in bins.unbind(1)])
    return information_of_tables(tables[:, :, 0], values.split(tables), tables.new_zeros(len(tables)))


def histogram_bins(
    mean: Float[Tensor, "image latent"], num_bins: int, weights: Float[Tensor, " image"] | None = None
) -> Int64[Tensor, "image latent"]:
    """Returns the bin of each mean as in `numpy.histogram`, with bins [a, b) and a closed last bin.

    The bins cover the means of the images with a weight above 0.
    """
    bins = []
    for column in mean.double().T.contiguous():
        counted = column if weights is None else column[weights > 0]
        edges = torch.from_numpy(np.linspace(float(counted.min()), float(counted.max()), num_bins + 1))
        bins.append(own_bin(column, edges.to(column.device)))
    return torch.stack(bins, dim=1)


def _gaussian_masses(
    mean: Float[Tensor, "image latent"], std: Float[Tensor, "image latent"], edges: Float[Tensor, " edge"]
) -> Float[Tensor, "image latent bin"]:
    """Returns the mass of N(mean, std^2) between consecutive edges."""
    scaled = (edges - mean[:, :, None]).mul_(math.sqrt(0.5) / std[:, :, None])
    if scaled.dtype == torch.float32:
        below = scaled.erf_()
        return (below[:, :, 1:] - below[:, :, :-1]).mul_(0.5).clamp_(min=0)
    # The smaller tail at each edge, because differences of small tails are accurate on both sides of the mean.
    tail = 0.5 * torch.erfc(scaled.abs())
    left, right = tail[:, :, :-1], tail[:, :, 1:]
    holds_mean = (scaled[:, :, :-1] < 0) & (scaled[:, :, 1:] >= 0)
    return torch.where(holds_mean, 1 - left - right, (right - left).abs())


def _upper_tail(deviation: Float[Tensor, "*axes"]) -> Float[Tensor, "*axes"]:
    """Returns P(Z > deviation) for a standard normal Z."""
    return 0.5 * torch.erfc(deviation / math.sqrt(2))


def influences(
    masses: Float[Tensor, "row latent bin"],
    assignments: Sequence[Float[Tensor, "row _value"]],
    weights: Float64[Tensor, " row"],
    sums: QuantizedStatistics,
) -> dict[str, Float64[Tensor, "row ..."]]:
    """Returns the influence of each image on the entropies, by field name of `LatentInformation`.

    For H = -sum_s Q(s) log Q(s) with Q = sum_n p(n) Q(. | n), the derivative of H with respect to p(n) is -sum_s
    Q(s | n) log Q(s) - H. The mean of these influences over images is 0. Their variance is the sampling variance of the
    entropies for iid images.

    `masses` is Q(s | n), `assignments` is p(v_k | n) with zeros for unknown values, and `weights` is N p(n). `sums` are
    sums over all images. The result is NaN for a factor without known values.
    """
    masses = masses.double()
    of_factors = [
        _of_factor(masses, value.double(), joint) for value, joint in zip(assignments, sums.joints, strict=True)
    ]
    factor, joint, information, given_value = zip(*of_factors, strict=True) if of_factors else ((), (), (), ())
    none = masses.new_zeros(*masses.shape[:2], 0)
    deviations = {
        "entropy": _surprise(masses, sums.marginal) - entropy(sums.marginal),
        "entropy_given_image": entropy(masses) - sums.entropy_given_image,
        "factor_entropy": stacked(factor, none[:, 0]),
        "joint_entropy": stacked(joint, none),
        "mutual_information": stacked(information, none),
        "entropy_given_value": stacked(given_value, none),
    }
    return {
        name: deviation * weights.reshape(-1, *[1] * (deviation.ndim - 1)) for name, deviation in deviations.items()
    }


def _of_factor(
    masses: Float64[Tensor, "row latent bin"],
    value: Float64[Tensor, "row value"],
    joint: Float64[Tensor, "latent bin value"],
) -> _OfFactor:
    of_values = joint[0].sum(dim=0)
    share = of_values.sum()
    # A mean over images with known values is a ratio, so the influence includes the denominator.
    known = value.sum(dim=1)
    h_y = value @ -_log(of_values / share) - known * entropy(of_values)
    surprise = torch.einsum("nls,lsv->nlv", masses, -_log(joint / share))
    h_zy = torch.einsum("nlv,nv->nl", surprise, value) - known[:, None] * entropy(joint.flatten(1))
    h_z = (_surprise(masses, joint.sum(dim=2) / share) - entropy(joint.sum(dim=2))) * known[:, None]
    # H(z | v): -log q(z | v) = -log q(z, v) + log p(v).
    occur = occurring_values(of_values)
    of_value = surprise[:, :, occur] + _log(of_values[occur] / share) - entropy(joint.transpose(1, 2)[:, occur])
    given_value = torch.einsum("nlv,nv->nl", of_value, value[:, occur] / of_values[occur]) / occur.sum()
    return h_y / share, h_zy / share, (h_z + h_y[:, None] - h_zy) / share, given_value


def _surprise(
    masses: Float64[Tensor, "row latent bin"], table: Float64[Tensor, "latent bin"]
) -> Float64[Tensor, "row latent"]:
    """Returns -sum_s Q(s | n) log Q(s)."""
    return -torch.einsum("nls,ls->nl", masses, _log(table))


def _log(table: Float64[Tensor, "*axes"]) -> Float64[Tensor, "*axes"]:
    # Where a table is 0, the masses that are multiplied by its logarithm are also 0.
    return torch.where(table > 0, table.clamp(min=torch.finfo(torch.float64).tiny).log(), 0.0)
