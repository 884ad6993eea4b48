"""Entropies of mixtures of Gaussians on a line, by quadrature.

The line is cut into panels, halved until none is wider than two stds of any Gaussian that reaches it. A Gaussian is
evaluated on panels of its own width only, some 200 points in all; narrower panels inherit its density by polynomial
interpolation, which is exact to rounding there. So the cost does not depend on how different the stds are, and a single
narrow posterior is not missed.
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

# A Gaussian ends this many stds from its mean: the mass beyond is 1e-15.
_REACH = 8.0
# Gauss-Legendre points a panel, and the widest panel, in stds of the narrowest Gaussian that reaches it. log q is
# singular where the mixture vanishes off the real line; at equal stds that is half a std away or further, unless q
# itself is negligible there. Error below 1e-9 nats.
_NUM_POINTS = 16
_MAX_WIDTH = 2.0
# Densities are evaluated on at most this many panels for this many components at a time: 16 MB.
_PANELS_PER_BLOCK = 256
_COMPONENTS_PER_BLOCK = 512
# On a GPU few large blocks take less time than many small ones that leave out what they do not reach: 64 MB.
_COMPONENTS_PER_GPU_BLOCK = 2048
_POINTS_PER_BLOCK = 16 * _PANELS_PER_BLOCK


@final
@dataclass(frozen=True)
class Mixtures:
    """Mixtures of the same Gaussians with different weights, one for each column of a table.

    The density of a column is sum_c N(z; mean_c, std_c^2) sum_k coefficients[c, k, column] He_k((z - mean_c) / std_c),
    with Hermite polynomials He_k; order 0 only is a plain mixture. `coefficients` computes the coefficients of
    some components, because the whole table may not fit in memory.
    """

    mean: Float64[Tensor, " component"]
    std: Float64[Tensor, " component"]
    coefficients: Callable[[Int64[Tensor, " row"]], Float64[Tensor, "row order column"]]


@final
@dataclass(frozen=True)
class _Panels:
    """Panels of one width, from left to right, with the densities of the components evaluated on wider panels."""

    level: int
    width: float
    left: Float64[Tensor, " panel"]
    density: Float64[Tensor, "panel point column"]


@final
@dataclass(frozen=True)
class Integrals:
    """Integrals int f dz and -int f log f dz of each column's density f, and the latter of each sum of columns.

    A density need not integrate to one.
    """

    mass: Float64[Tensor, " column"]
    entropy: Float64[Tensor, " column"]
    entropy_of_sums: Float64[Tensor, " sum"]


def entropy_integrals(
    mixtures: Mixtures,
    num_columns: int,
    sums: Callable[[Float64[Tensor, "point column"]], Float64[Tensor, "point sum"]],
) -> Integrals:
    """Integrates the mixtures of each column, and the `sums` of columns."""
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
    # Interpolation and the expansion in cells may dip below zero where next to nothing is left.
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
    """Yields the halves of the panels that are too wide, in blocks."""
    left, width = panels.left[too_wide], panels.width / 2
    lefts = torch.stack([left, left + width], dim=1).flatten()
    halves = torch.einsum("hqp,npc->nhqc", halving, density[too_wide]).flatten(0, 1)
    for block_left, block_density in zip(lefts.split(_PANELS_PER_BLOCK), halves.split(_PANELS_PER_BLOCK), strict=True):
        if len(block_left) > 0:
            yield _Panels(panels.level + 1, width, block_left, block_density)


def _gauss_legendre(
    device: torch.device,
) -> tuple[Float64[Tensor, " point"], Float64[Tensor, " point"], Float64[Tensor, "half point point"]]:
    """Returns points and weights on [-1, 1], and matrices that interpolate to the points of the two halves."""
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
    """Components grouped by level: the number of halvings of the whole line until a panel is narrow enough."""

    def __init__(self, mixtures: Mixtures) -> None:
        start, stop = mixtures.mean - _REACH * mixtures.std, mixtures.mean + _REACH * mixtures.std
        self._left, self._width = start.min(), float(stop.max() - start.min())
        level = (self._width / (_MAX_WIDTH * mixtures.std)).log2().ceil().long()
        self._mixtures = mixtures
        levels = range(int(level.max()) + 1)
        self._start, by_start = start.sort()
        # For each level: of the components too narrow for it, the farthest stop among those that start before each one.
        self._farthest = [torch.where(level[by_start] > k, stop[by_start], -torch.inf).cummax(0).values for k in levels]
        by_mean = mixtures.mean.argsort()
        self._blocks = [_blocks(by_mean[level[by_mean] == k], mixtures) for k in levels]
        self._starts = [_stack([start[b].min() for b in blocks], start) for blocks in self._blocks]
        self._stops = [_stack([stop[b].max() for b in blocks], stop) for blocks in self._blocks]

    def root(self, num_columns: int) -> _Panels:
        """Returns the whole line as one panel."""
        return _Panels(0, self._width, self._left[None], self._left.new_zeros(1, _NUM_POINTS, num_columns))

    def reached_by_narrower(self, panels: _Panels) -> Bool[Tensor, " panel"]:
        """Returns a mask of the panels reached by a component that is too narrow for them."""
        num_started = torch.searchsorted(self._start, panels.left + panels.width)
        return self._farthest[panels.level][num_started.clamp(min=1) - 1] > panels.left

    def density(
        self, level: int, points: Float64[Tensor, " point"], num_columns: int
    ) -> Float64[Tensor, "point column"]:
        """Returns the contribution of this level's components to every column's density at these ordered points."""
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
    """Splits components of one level, from left to right, into blocks about as wide as one component reaches."""
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
