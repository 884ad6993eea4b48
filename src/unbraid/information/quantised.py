"""Information in latents that are read through bins of fixed width.

Do & Tran, arXiv:1908.09961v4, appendices A.10 and A.14. Three steps, three functions: `quantise` turns posteriors into masses in bins,
`quantised_statistics` sums those masses over the images, `quantised_information` computes entropies from the sums.
"""

import math
from dataclasses import dataclass
from typing import Literal, assert_never, final, get_args

import numpy as np
import torch
from jaxtyping import Float, Float64
from torch import Tensor

from unbraid.errors import CodesError, SpecError
from unbraid.information.factor_values import FactorValues
from unbraid.information.latent_information import LatentInformation, entropy, information_of_tables

Masses = Literal["erf_edge", "erf_renorm", "rectangle"]

# Do & Tran's code: below this density at every centre, a posterior is taken to lie wholly in the bin of its mean.
_RECTANGLE_FLOOR = 1e-5
# Images are taken in blocks of about this many masses: 32 MB in float64.
_BLOCK_ELEMENTS = 4_000_000


@final
@dataclass(frozen=True)
class Bins:
    """Bins [a, b) of equal width from `low` to `high`; what lies outside belongs to the first or the last. `masses` says how they are filled.

    erf_edge: the mass of N(mean, std^2) in each bin, the tails joining the bins at the edge. This is quantisation, eq. 15 of Do & Tran: no bins
    can make a latent say more than it does. erf_renorm: the tails are dropped and the rest is scaled to sum to one. rectangle: the density at
    the centre of each bin, scaled; it is what their code computes, and nearer to the unquantised information if the range holds nearly all mass.
    """

    num_bins: int = 100
    low: float = -4.0
    high: float = 4.0
    masses: Masses = "erf_edge"

    def __post_init__(self) -> None:
        if self.masses not in get_args(Masses):
            raise SpecError(f"Bins: there are no masses {self.masses!r}. Use one of {', '.join(get_args(Masses))}.")
        if self.num_bins < 1:
            raise SpecError(f"Bins: num_bins is {self.num_bins}; expected at least 1 (100 is usual).")
        if not (math.isfinite(self.low) and math.isfinite(self.high) and self.low < self.high):
            raise SpecError(
                f"Bins: the range is [{self.low}, {self.high}]; expected two finite numbers, the smaller first, such as [-4, 4]."
            )

    def edges(self, device: torch.device | None = None) -> Float64[Tensor, " edge"]:
        # numpy's linspace: torch's rounds some edges differently, and a mean on an edge would change its bin.
        return torch.from_numpy(np.linspace(self.low, self.high, self.num_bins + 1)).to(device)


@final
@dataclass(frozen=True)
class QuantisedStatistics:
    """All that the quantised entropies depend on: sums over images, weighted by p(n).

    `joints` has a table for each factor, with the mass of each value in each bin of each latent; it sums to the share of images in which the
    factor is known.
    """

    marginal: Float64[Tensor, "latent bin"]
    joints: tuple[Float64[Tensor, "latent bin _value"], ...]
    entropy_given_image: Float64[Tensor, " latent"]


def quantise(mean: Float[Tensor, "image latent"], std: Float[Tensor, "image latent"], bins: Bins) -> Float64[Tensor, "image latent bin"]:
    """Q(s | x): the mass of each posterior in each bin. Rows sum to one; where std is 0 all mass is in the bin of the mean."""
    mean, std = mean.double(), std.double()
    edges = bins.edges(mean.device)
    match bins.masses:
        case "erf_edge":
            masses = _with_tails(_gaussian_masses(mean, std, edges), mean, std, edges)
            lost = std == 0
        case "erf_renorm":
            masses = _gaussian_masses(mean, std, edges)
            lost = (std == 0) | (masses.sum(dim=2) == 0)
        case "rectangle":
            masses = _densities_at_centres(mean, std, edges)
            lost = (std == 0) | (masses.amax(dim=2) < _RECTANGLE_FLOOR)
        case _:
            assert_never(bins.masses)
    own_bin = (torch.searchsorted(edges, mean.contiguous(), right=True) - 1).clamp(0, bins.num_bins - 1)
    one_hot = torch.zeros_like(masses).scatter_(2, own_bin[:, :, None], 1.0)
    masses = torch.where(lost[:, :, None], one_hot, masses)
    return masses / masses.sum(dim=2, keepdim=True)


def quantised_statistics(
    mean: Float[Tensor, "image latent"], std: Float[Tensor, "image latent"], values: FactorValues, bins: Bins
) -> QuantisedStatistics:
    """Q(s) = sum_n p(n) Q(s | n), H(Q(. | x)) on average, and Q(s, v_k) = sum_n p(n) Q(s | n) p(v_k | n), in blocks of images."""
    _check(mean, std)
    num_images, num_latents = mean.shape
    joint = torch.zeros(num_latents * bins.num_bins, values.num_columns, dtype=torch.float64, device=mean.device)
    entropy_given_image = joint.new_zeros(num_latents)
    block_size = max(1, _BLOCK_ELEMENTS // (num_latents * bins.num_bins))
    for rows in torch.arange(num_images, device=mean.device).split(block_size):
        masses = quantise(mean[rows], std[rows], bins)
        joint += masses.flatten(1).T @ values.columns(rows)
        entropy_given_image += values.weights[rows] @ entropy(masses)
    tables = joint.unflatten(0, (num_latents, bins.num_bins))
    return QuantisedStatistics(tables[:, :, 0], values.split(tables), entropy_given_image)


def quantised_information(
    mean: Float[Tensor, "image latent"], std: Float[Tensor, "image latent"], values: FactorValues, bins: Bins | None = None
) -> LatentInformation:
    """Discrete entropies and mutual information of each quantised latent, in nats."""
    statistics = quantised_statistics(mean, std, values, bins or Bins())
    return information_of_tables(statistics.marginal, statistics.joints, statistics.entropy_given_image)


def _gaussian_masses(
    mean: Float64[Tensor, "image latent"], std: Float64[Tensor, "image latent"], edges: Float64[Tensor, " edge"]
) -> Float64[Tensor, "image latent bin"]:
    """The mass of N(mean, std^2) between neighbouring edges."""
    scaled = (edges - mean[:, :, None]) / std[:, :, None]
    # The smaller tail at each edge: differences of it keep their digits on both sides of the mean.
    tail = _upper_tail(scaled.abs())
    left, right = tail[:, :, :-1], tail[:, :, 1:]
    holds_mean = (scaled[:, :, :-1] < 0) & (scaled[:, :, 1:] >= 0)
    return torch.where(holds_mean, 1 - left - right, (right - left).abs())


def _with_tails(
    masses: Float64[Tensor, "image latent bin"],
    mean: Float64[Tensor, "image latent"],
    std: Float64[Tensor, "image latent"],
    edges: Float64[Tensor, " edge"],
) -> Float64[Tensor, "image latent bin"]:
    """The mass below the first edge joins the first bin, the mass above the last edge the last bin."""
    below, above = _upper_tail((mean - edges[0]) / std), _upper_tail((edges[-1] - mean) / std)
    if masses.shape[2] == 1:
        return masses + (below + above)[:, :, None]
    return torch.cat([masses[:, :, :1] + below[:, :, None], masses[:, :, 1:-1], masses[:, :, -1:] + above[:, :, None]], dim=2)


def _densities_at_centres(
    mean: Float64[Tensor, "image latent"], std: Float64[Tensor, "image latent"], edges: Float64[Tensor, " edge"]
) -> Float64[Tensor, "image latent bin"]:
    deviations = ((edges[:-1] + edges[1:]) / 2 - mean[:, :, None]) / std[:, :, None]
    return torch.exp(-0.5 * deviations.square()) / (std * math.sqrt(2 * math.pi))[:, :, None]


def _upper_tail(deviation: Float64[Tensor, "*axes"]) -> Float64[Tensor, "*axes"]:
    """P(Z > deviation) for a standard normal Z."""
    return 0.5 * torch.erfc(deviation / math.sqrt(2))


def _check(mean: Float[Tensor, "image latent"], std: Float[Tensor, "image latent"]) -> None:
    if mean.shape != std.shape:
        raise CodesError(f"std has shape {tuple(std.shape)} and mean {tuple(mean.shape)}; give one std for each mean.")
    if bool((std < 0).any()):
        raise CodesError(f"std has negative entries (the least is {float(std.min()):g}). If it holds log-variances, pass exp(log_var / 2).")
