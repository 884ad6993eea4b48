"""Information in latents that are read through bins of fixed width.

Do & Tran, arXiv:1908.09961v4, appendices A.10 and A.14. Three steps, three functions: `quantize` turns posteriors into
masses in bins (and `quantize_draws` does so where only draws are known), `quantized_statistics` sums those masses over
the images, `quantized_information` computes entropies from the sums.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, assert_never, final

import numpy as np
import torch
from jaxtyping import Float, Float64, Int64
from torch import Tensor

from unbraid.config import Config
from unbraid.errors import CodesError, SpecError
from unbraid.information.latent_information import LatentInformation, information_of_tables
from unbraid.information.value_table import ValueTable

Masses = Literal["erf_edge", "erf_renorm", "rectangle"]
"""How the mass of a Gaussian in a bin is taken; `quantize` says how each does."""

# Do & Tran's code: below this density at every center, a posterior is taken to lie wholly in the bin of its mean.
_RECTANGLE_FLOOR = 1e-5
# Above this many masses (images times latents times bins), they are float32: an entropy moves by less than 1e-6 nats.
# Sums are float64 throughout.
MAX_FLOAT64_MASSES = 20_000_000
# Images are taken in blocks of about this many masses: 4 MB in float32, which the cache of a processor holds; a GPU
# wants many at once.
_BLOCK_MASSES = {"cpu": 1_000_000, "cuda": 64_000_000}
# Nor are there more entries than this in their table of factor values: 128 MB and 1 GB.
_BLOCK_VALUES = {"cpu": 16_000_000, "cuda": 128_000_000}
# The sums over images are a table of latents by bins by values, of which a few copies are held: 1 GB each.
_MAX_SUMS = 128_000_000

Quantizer = Callable[[Int64[Tensor, " row"]], Float[Tensor, "row latent bin"]]


@final
@dataclass(frozen=True)
class Bins(Config):
    """Bins [a, b) of equal width from `low` to `high`; what lies outside belongs to the first or the last. `masses`
    says how they are filled.

    erf_edge: the mass of N(mean, std^2) in each bin, the tails joining the bins at the edge. This is quantization, eq.
    15 of Do & Tran: no bins can make a latent say more than it does. erf_renorm: the tails are dropped and the rest is
    scaled to sum to one. rectangle: the density at the center of each bin, scaled; it is what their code computes, and
    nearer to the unquantized information if the range holds nearly all mass.
    """

    num_bins: int = 100
    low: float = -4.0
    high: float = 4.0
    masses: Masses = "erf_edge"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.num_bins < 1:
            raise SpecError(f"Bins: num_bins is {self.num_bins}; expected at least 1 (100 is usual).")
        if not (
            math.isfinite(self.low)
            and math.isfinite(self.high)
            and self.low < self.high
            and math.isfinite(self.high - self.low)
        ):
            raise SpecError(
                f"Bins: the range is [{self.low}, {self.high}]; expected two finite numbers, the smaller first and at "
                "a finite distance, such as [-4, 4]."
            )

    def edges(self, device: torch.device | None = None) -> Float64[Tensor, " edge"]:
        # numpy's linspace: torch's rounds some edges differently, and a mean on an edge would change its bin.
        return torch.from_numpy(np.linspace(self.low, self.high, self.num_bins + 1)).to(device)


@final
@dataclass(frozen=True)
class QuantizedStatistics:
    """Holds all that the quantized entropies depend on: sums over images, weighted by p(n).

    `joints` has a table for each factor, with the mass of each value in each bin of each latent; it sums to the share
    of images in which the factor is known.
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
    """Returns Q(s | x): the mass of each posterior in each bin. Rows sum to one; where std is 0 all mass is in the bin
    of the mean.
    """
    given, mean, std = mean, mean.to(dtype), std.to(dtype)
    edges = bins.edges(mean.device)
    match bins.masses:
        case "erf_edge":
            masses, lost = (
                _with_tails(_gaussian_masses(mean, std, edges.to(dtype)), mean, std, edges.to(dtype)),
                std == 0,
            )
        case "erf_renorm":
            masses = _gaussian_masses(mean, std, edges.to(dtype))
            lost = (std == 0) | (masses.sum(dim=2) == 0)
            masses = masses / masses.sum(dim=2, keepdim=True)
        case "rectangle":
            masses = _densities_at_centers(mean, std, edges.to(dtype))
            lost = (std == 0) | (masses.amax(dim=2) < _RECTANGLE_FLOOR)
            masses = masses / masses.sum(dim=2, keepdim=True)
        case _:
            assert_never(bins.masses)
    if bool(lost.any()):
        # By the mean as it was given: rounded, one on an edge would change its bin.
        masses[lost] = 0
        masses[lost] = masses[lost].scatter_(1, own_bin(given[lost], edges)[:, None], 1.0)
    return masses


def quantize_draws(samples: Float[Tensor, "draw image latent"], bins: Bins) -> Float64[Tensor, "image latent bin"]:
    """Returns Q(s | x) where only draws are known: the share of an image's draws in each bin."""
    draws = own_bin(samples, bins.edges(samples.device)).permute(1, 2, 0)
    masses = torch.zeros(*draws.shape[:2], bins.num_bins, dtype=torch.float64, device=samples.device)
    return masses.scatter_add_(2, draws, torch.ones_like(draws, dtype=torch.float64)) / len(samples)


def own_bin(points: Float[Tensor, "*axes"], edges: Float64[Tensor, " edge"]) -> Int64[Tensor, "*axes"]:
    """Returns the bin [a, b) of each point; what lies outside belongs to the first or the last."""
    return (torch.searchsorted(edges, points.double().contiguous(), right=True) - 1).clamp(0, len(edges) - 2)


def quantized_statistics(
    mean: Float[Tensor, "image latent"], std: Float[Tensor, "image latent"], values: ValueTable, bins: Bins
) -> QuantizedStatistics:
    """Returns the sums for Gaussian posteriors."""
    _check(mean, std)
    # Scaling to one makes much of the rounding in a tail, so that needs float64 whatever the size.
    is_small = mean.numel() * bins.num_bins <= MAX_FLOAT64_MASSES or bins.masses == "erf_renorm"
    dtype = torch.float64 if is_small else torch.float32
    return statistics_of_masses(
        lambda rows: quantize(mean[rows], std[rows], bins, dtype), mean.shape[1], bins.num_bins, values
    )


def statistics_of_masses(
    quantizer: Quantizer, num_latents: int, num_bins: int, values: ValueTable
) -> QuantizedStatistics:
    """Returns Q(s) = sum_n p(n) Q(s | n), H(Q(. | x)) on average, and Q(s, v_k) = sum_n p(n) Q(s | n) p(v_k | n), in
    blocks of images.
    """
    weights, kind = values.weights, "cpu" if values.weights.device.type == "cpu" else "cuda"
    if num_latents * num_bins * values.num_columns > _MAX_SUMS:
        raise CodesError(
            f"{num_latents:,} latents by {num_bins:,} bins by {values.num_columns - 1:,} values of factors are a table "
            f"of {8e-9 * num_latents * num_bins * values.num_columns:.1f} GB; there is room for "
            f"{8e-9 * _MAX_SUMS:.1f} GB. Take fewer latents or bins, or leave out the factor with the most values."
        )
    joint = torch.zeros(num_latents * num_bins, values.num_columns, dtype=torch.float64, device=weights.device)
    entropy_given_image = joint.new_zeros(num_latents)
    block_size = max(1, min(_BLOCK_MASSES[kind] // (num_latents * num_bins), _BLOCK_VALUES[kind] // values.num_columns))
    for rows in torch.arange(len(weights), device=weights.device).split(block_size):
        masses = quantizer(rows)
        # Weights of order 1, so that their products with small masses do not leave float32.
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
    """Returns discrete entropies and mutual information of each quantized latent, in nats."""
    statistics = quantized_statistics(mean, std, values, bins or Bins())
    return information_of_tables(statistics.marginal, statistics.joints, statistics.entropy_given_image)


def _gaussian_masses(
    mean: Float[Tensor, "image latent"], std: Float[Tensor, "image latent"], edges: Float[Tensor, " edge"]
) -> Float[Tensor, "image latent bin"]:
    """Returns the mass of N(mean, std^2) between neighboring edges."""
    scaled = (edges - mean[:, :, None]).mul_(math.sqrt(0.5) / std[:, :, None])
    if scaled.dtype == torch.float32:
        below = scaled.erf_()
        return (below[:, :, 1:] - below[:, :, :-1]).mul_(0.5).clamp_(min=0)
    # The smaller tail at each edge: differences of it keep their digits on both sides of the mean.
    tail = 0.5 * torch.erfc(scaled.abs())
    left, right = tail[:, :, :-1], tail[:, :, 1:]
    holds_mean = (scaled[:, :, :-1] < 0) & (scaled[:, :, 1:] >= 0)
    return torch.where(holds_mean, 1 - left - right, (right - left).abs())


def _with_tails(
    masses: Float[Tensor, "image latent bin"],
    mean: Float[Tensor, "image latent"],
    std: Float[Tensor, "image latent"],
    edges: Float[Tensor, " edge"],
) -> Float[Tensor, "image latent bin"]:
    """Adds the mass below the first edge to the first bin, and that above the last edge to the last bin, in place."""
    masses[:, :, 0] += _upper_tail((mean - edges[0]) / std)
    masses[:, :, -1] += _upper_tail((edges[-1] - mean) / std)
    return masses


def _densities_at_centers(
    mean: Float[Tensor, "image latent"], std: Float[Tensor, "image latent"], edges: Float[Tensor, " edge"]
) -> Float[Tensor, "image latent bin"]:
    deviations = ((edges[:-1] + edges[1:]) / 2 - mean[:, :, None]).div_(std[:, :, None])
    return deviations.square_().mul_(-0.5).exp_().div_((std * math.sqrt(2 * math.pi))[:, :, None])


def _upper_tail(deviation: Float[Tensor, "*axes"]) -> Float[Tensor, "*axes"]:
    """Returns P(Z > deviation) for a standard normal Z."""
    return 0.5 * torch.erfc(deviation / math.sqrt(2))


def _check(mean: Float[Tensor, "image latent"], std: Float[Tensor, "image latent"]) -> None:
    if mean.shape != std.shape:
        raise CodesError(f"std has shape {tuple(std.shape)} and mean {tuple(mean.shape)}; give one std for each mean.")
    if bool((std < 0).any()):
        raise CodesError(
            f"std has negative entries (the least is {float(std.min()):g}). If it holds log-variances, pass "
            "exp(log_var / 2)."
        )
