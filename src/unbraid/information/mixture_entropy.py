"""Entropies of one-dimensional mixtures of Gaussians by quadrature.

The line is divided into panels, which are halved until no panel is wider than two stds of a Gaussian that overlaps it.
A Gaussian is evaluated only on panels of matching width, at about 200 points. On narrower panels its density is
interpolated by polynomials, with errors of the order of rounding. So the cost does not depend on the ratio of the stds,
and single narrow posteriors are integrated correctly.
"""

import functools
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import final

import numpy as np
import torch
from jaxtyping import Bool, Float64, Int64
from torch import Tensor

# Gaussians are truncated this many stds from the mean. The mass beyond is 1e-15.
_REACH = 8.0
# Gauss-Legendre points per panel, and largest width of a panel in stds of the narrowest overlapping Gaussian. log q is
# singular at complex zeros of the mixture. For equal stds these are at least half a std from the real line, unless q is
# negligible. The error is below 1e-9 nats.
_NUM_POINTS = 16
_MAX_WIDTH = 2.0
# Maximum numbers of panels and components for which densities are evaluated together, with 16 MB.
_PANELS_PER_BLOCK = 256
_COMPONENTS_PER_BLOCK = 512
# A GPU is faster with few large blocks than with many small blocks that skip distant components: 64 MB.
_COMPONENTS_PER_GPU_BLOCK = 2048
_POINTS_PER_BLOCK = 16 * _PANELS_PER_BLOCK


@final
@dataclass(frozen=True)
class Mixtures:
    """Mixtures of the same Gaussians with different weights, one for each column of a table.

    The density of a column is sum_c N(z; mean_c, std_c^2) sum_k coefficients[c, k, column] He_k((z - mean_c) / std_c),
    with Hermite polynomials He_k. With only k = 0, it is a plain mixture. `coefficients` is a function that computes
    the coefficients of the given components, because the complete table may not fit in memory.
    """

    mean: Float64[Tensor, " component"]
    std: Float64[Tensor, " component"]
    coefficients: Callable[[Int64[Tensor, " row"]], Float64[Tensor, "row order column"]]


@final
@dataclass(frozen=True)
class _Panels:
    """Panels of equal width, from left to right, with the densities of the components of wider panels."""

    level: int
    width: float
    left: Float64[Tensor, " panel"]
    density: Float64[Tensor, "panel point column"]


@final
@dataclass(frozen=True)
class Integrals:
    """Integrals of unnormalized densities f: `mass` is int f dz and `entropy` is -int f log f dz of each column.

    `entropy_of_sums` is -int f log f dz of each sum of columns.
    """

    mass: Float64[Tensor, " column"]
    entropy: Float64[Tensor, " column"]
    entropy_of_sums: Float64[Tensor, " sum"]


def entropy_integrals(
    mixtures: Mixtures,
    num_columns: int,
    sums: Callable[[Float64[Tensor, "point column"]], Float64[Tensor, "point sum"]],
) -> Integrals:
    """Integrates the mixture of each column and the `sums` of columns."""
    ladder = _Ladder(mixtures)
    nodes, weights, halving = _gauss_legendre(mixtures.mean.device)
    todo, totals = [ladder.root(num_columns)], []
    while todo:
        panels = todo.pop()
        points = panels.left[:, None] + panels.width * (nodes + 1) / 2
        added = ladder.density(panels.level, points.flatten(), num_columns)
        density = panels.density + added.unflatten(0, points.shape)
        too_wide = ladder.reached_by_narrower(panels)
        totals.append(_integrate(density[~too_wide], panels.width / 2 * weights, sums))
        todo.extend(_halves(panels, density, too_wide, halving))
    return Integrals(*(torch.stack(parts).sum(dim=0) for parts in zip(*totals, strict=True)))


def _integrate(
    density: Float64[Tensor, "panel point column"],
    weights: Float64[Tensor, " point"],
    sums: Callable[[Float64[Tensor, "point column"]], Float64[Tensor, "point sum"]],
) -> tuple[Float64[Tensor, " column"], Float64[Tensor, " column"], Float64[Tensor, " sum"]]:
    # Interpolation and the expansion in cells may give small negative values where the density is negligible.
    density = density.clamp(min=0).flatten(0, 1)
    weights = weights.repeat(len(density) // _NUM_POINTS)
    summed = sums(density)
    return weights @ density, -weights @ torch.xlogy(density, density), -weights @ torch.xlogy(summed, summed)


def _halves(
    panels: _Panels,
    density: Float64[Tensor, "panel point column"],
    too_wide: Bool[Tensor, " panel"],
    halving: Float64[Tensor, "half point point"],
) -> Iterator[_Panels]:
    """Yields blocks of the halves of the panels that are too wide."""
    left, width = panels.left[too_wide], panels.width / 2
    lefts = torch.stack([left, left + width], dim=1).flatten()
    halves = torch.einsum("hqp,npc->nhqc", halving, density[too_wide]).flatten(0, 1)
    for block_left, block_density in zip(lefts.split(_PANELS_PER_BLOCK), halves.split(_PANELS_PER_BLOCK), strict=True):
        if len(block_left) > 0:
            yield _Panels(panels.level + 1, width, block_left, block_density)


def _gauss_legendre(
    device: torch.device,
) -> tuple[Float64[Tensor, " point"], Float64[Tensor, " point"], Float64[Tensor, "half point point"]]:
    """Returns Gauss-Legendre points and weights on [-1, 1], and matrices that interpolate to the two halves."""
    nodes, weights = np.polynomial.legendre.leggauss(_NUM_POINTS)
    vander = functools.partial(np.polynomial.legendre.legvander, deg=_NUM_POINTS - 1)
    to_polynomial = (np.arange(_NUM_POINTS)[:, None] + 0.5) * vander(nodes).T * weights
    halving = np.stack([vander((nodes + side) / 2) @ to_polynomial for side in (-1, 1)])
    points, masses, matrices = (torch.from_numpy(table).to(device) for table in (nodes, weights, halving))
    return points, masses, matrices


def mixture_densities(
    mixtures: Mixtures, points: Float64[Tensor, " point"], num_columns: int
) -> Float64[Tensor, "point column"]:
    """Returns the density of each column at each point. The points may be in any order."""
    ordered, order = points.sort()
    start, stop = mixtures.mean - _REACH * mixtures.std, mixtures.mean + _REACH * mixtures.std
    density = points.new_zeros(len(points), num_columns)
    for block in _blocks(mixtures.mean.argsort(), mixtures):
        begin, end = torch.searchsorted(ordered, torch.stack([start[block].min(), stop[block].max()])).tolist()
        for rows in torch.arange(begin, end, device=points.device).split(_POINTS_PER_BLOCK):
            density[rows] += _densities(ordered[rows], mixtures, block)
    return torch.empty_like(density).index_copy_(0, order, density)


@final
class _Ladder:
    """Components grouped by level, the number of halvings of the line until a panel is narrow enough."""

    def __init__(self, mixtures: Mixtures) -> None:
        start, stop = mixtures.mean - _REACH * mixtures.std, mixtures.mean + _REACH * mixtures.std
        self._left, self._width = start.min(), float(stop.max() - start.min())
        level = (self._width / (_MAX_WIDTH * mixtures.std)).log2().ceil().long()
        self._mixtures = mixtures
        levels = range(int(level.max()) + 1)
        self._start, by_start = start.sort()
        # For each level, the maximum stop of the narrower components, accumulated in the order of their starts.
        self._farthest = [torch.where(level[by_start] > k, stop[by_start], -torch.inf).cummax(0).values for k in levels]
        by_mean = mixtures.mean.argsort()
        self._blocks = [_blocks(by_mean[level[by_mean] == k], mixtures) for k in levels]
        self._starts = [_stack([start[b].min() for b in blocks], start) for blocks in self._blocks]
        self._stops = [_stack([stop[b].max() for b in blocks], stop) for blocks in self._blocks]

    def root(self, num_columns: int) -> _Panels:
        """Returns one panel that covers all components."""
        return _Panels(0, self._width, self._left[None], self._left.new_zeros(1, _NUM_POINTS, num_columns))

    def reached_by_narrower(self, panels: _Panels) -> Bool[Tensor, " panel"]:
        """Returns a mask of the panels that overlap a component too narrow for them."""
        num_started = torch.searchsorted(self._start, panels.left + panels.width)
        return self._farthest[panels.level][num_started.clamp(min=1) - 1] > panels.left

    def density(
        self, level: int, points: Float64[Tensor, " point"], num_columns: int
    ) -> Float64[Tensor, "point column"]:
        """Returns the contribution of a level's components to the density of each column at sorted points."""
        density = points.new_zeros(len(points), num_columns)
        begins = torch.searchsorted(points, self._starts[level]).tolist()
        ends = torch.searchsorted(points, self._stops[level]).tolist()
        for block, begin, end in zip(self._blocks[level], begins, ends, strict=True):
            if begin < end:
                density[begin:end] += _densities(points[begin:end], self._mixtures, block)
        return density


def _densities(
    points: Float64[Tensor, " point"], mixtures: Mixtures, block: Int64[Tensor, " row"]
) -> Float64[Tensor, "point column"]:
    std = mixtures.std[block]
    coefficients = mixtures.coefficients(block) / (std * math.sqrt(2 * math.pi))[:, None, None]
    deviation = (points[:, None] - mixtures.mean[block]) / std
    # He_k = t He_{k-1} - (k-1) He_{k-2}, each times the Gaussian.
    before, hermite = torch.zeros_like(deviation), torch.exp(-0.5 * deviation.square())
    density = hermite @ coefficients[:, 0]
    for order in range(1, coefficients.shape[1]):
        before, hermite = hermite, torch.addcmul(before * (1 - order), deviation, hermite)
        density.addmm_(hermite, coefficients[:, order])
    return density


def _blocks(components: Int64[Tensor, " component"], mixtures: Mixtures) -> tuple[Int64[Tensor, " row"], ...]:
    """Splits sorted components of one level into blocks about as wide as one component."""
    if len(components) == 0:
        return ()
    if components.is_cuda:
        return components.split(_COMPONENTS_PER_GPU_BLOCK)
    spread = float(mixtures.mean[components[-1]] - mixtures.mean[components[0]])
    num_blocks = spread / (_REACH * float(mixtures.std[components].mean()))
    size = min(max(1, math.ceil(len(components) / max(num_blocks, 1))), _COMPONENTS_PER_BLOCK)
    return components.split(size)


def _stack(values: list[Tensor], like: Float64[Tensor, " component"]) -> Float64[Tensor, " block"]:
    return torch.stack(values) if values else like.new_zeros(0)
