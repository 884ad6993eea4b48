"""Codes that are made, not learned: what a perfect encoder of a grid of factors would say, turned and blurred. Items of
papers and the audit of metrics share them.
"""

import math
from collections.abc import Sequence
from typing import Literal

import torch
from jaxtyping import Float64, Int64
from torch import Tensor

from unbraid._internal import row_draws
from unbraid.codes import Codes, CodesOptions, Labels

Grid = tuple[int, int, int]

FACTORS = ("scale", "position_x", "position_y")
GRID: Grid = (6, 32, 32)
TURNED = ("position_x", "position_y")
"""The factors whose latents are turned against each other."""
NUM_UNUSED = 3
"""How many latents say nothing."""
_BESIDE = 2.0
"""How far the two modes of a bimodal posterior lie from 0, for the middle value of a factor."""
_NUM_CATEGORIES = 8
"""How many categories an unused categorical latent has."""
_REPEATS = 30
"""How often each combination is among the folded codes."""


def gaussian_codes(degrees: float, std: float, grid: Grid = GRID) -> Codes:
    """Returns one Gaussian latent for each factor, with means of variance about 1 in which the latents of the last two
    factors are turned by so many degrees, and latents that are unused.
    """
    values = _values(grid)
    used = turned(places(values, grid), float(degrees))
    unused = torch.zeros(len(used), NUM_UNUSED, dtype=torch.float64)
    return Codes.from_arrays(
        torch.cat([used, unused], dim=1),
        torch.cat([torch.full_like(used, std), unused + 1.0], dim=1),
        factors=values,
        options=CodesOptions(factor_names=FACTORS),
    )


def drawn_codes(kind: Literal["Laplace", "bimodal"], std: float, num_draws: int, seed: int, grid: Grid = GRID) -> Codes:
    """Returns the same codes, not turned, of which draws alone are known. Each posterior is a Laplace distribution, or
    has two narrow modes, z = v and z = -v, equally likely: the value of the factor is as certain as before, and the
    mean says nothing of it.
    """
    values = _values(grid)
    at = places(values, grid)
    shape = (num_draws, *at.shape)
    if kind == "Laplace":
        share = row_draws.rand(shape, seed, "Laplace noise") - 0.5
        noise = -share.sign() * (1 - 2 * share.abs()).clamp(min=1e-12).log() * std / math.sqrt(2)
        used = at + noise
    else:
        sign = (row_draws.rand(shape, seed, "modes") < 0.5).double() * 2 - 1
        used = sign * (at + _BESIDE) + std * row_draws.randn(shape, seed, "noise around modes")
    unused = row_draws.randn((num_draws, len(at), NUM_UNUSED), seed, "unused latents")
    return Codes.from_arrays(
        samples=torch.cat([used, unused], dim=2), factors=values, options=CodesOptions(factor_names=FACTORS)
    )


def categorical_codes(grid: Grid = GRID) -> Codes:
    """Returns one categorical latent for each factor, which is sure of its value, and unused ones that are sure of
    nothing.
    """
    values = _values(grid)
    used = [torch.nn.functional.one_hot(values[:, place], size).double() for place, size in enumerate(grid)]
    unused = [torch.full((len(values), _NUM_CATEGORIES), 1 / _NUM_CATEGORIES).double() for _ in range(NUM_UNUSED)]
    return Codes.from_arrays(probabilities=[*used, *unused], factors=values, options=CodesOptions(factor_names=FACTORS))


def _values(grid: Grid) -> Int64[Tensor, "image factor"]:
    return torch.cartesian_prod(*(torch.arange(size) for size in grid))


def places(values: Int64[Tensor, "image factor"], grid: Sequence[int]) -> Float64[Tensor, "image factor"]:
    """Returns a place on a line for each value, evenly spaced, with a variance of about 1 for each factor."""
    return 2 * math.sqrt(3) * ((values.double() + 0.5) / torch.tensor(grid) - 0.5)


def turned(means: Float64[Tensor, "image factor"], degrees: float) -> Float64[Tensor, "image factor"]:
    """Returns the means with the last two latents turned by so many degrees."""
    cos, sin = math.cos(math.radians(degrees)), math.sin(math.radians(degrees))
    *others, x, y = means.unbind(dim=1)
    return torch.stack([*others, cos * x - sin * y, sin * x + cos * y], dim=1)


def merged(values: Int64[Tensor, "image factor"], grid: Sequence[int], pairs: int) -> Float64[Tensor, "image latent"]:
    """Returns one place for each of so many pairs of factors, from the first on, and one for each other factor. The
    place of a pair names both of its values: the first one coarsely, the second within it.
    """
    joint = [values[:, 2 * pair] * grid[2 * pair + 1] + values[:, 2 * pair + 1] for pair in range(pairs)]
    sizes = [grid[2 * pair] * grid[2 * pair + 1] for pair in range(pairs)]
    return places(torch.stack([*joint, *values[:, 2 * pairs :].unbind(dim=1)], dim=1), [*sizes, *grid[2 * pairs :]])


def folded_codes(*, folded: bool = False, std: float = 0.1) -> Codes:
    """Returns codes of two factors. The first latent has four places, of which two belong to each value of the first
    factor: side by side, or `folded` the outer two and the inner two, which no straight line parts.
    """
    place, other = torch.arange(20 * _REPEATS) % 4, torch.arange(20 * _REPEATS) // 4 % 5
    value = torch.tensor([1, 0, 0, 1] if folded else [0, 0, 1, 1])[place]
    noise = row_draws.rand((len(place), 3), 0, "codes of table 1") - 0.5
    mean = torch.stack([2.0 * place - 3, other - 2.0, torch.zeros(len(place))], dim=1).double() + 0.05 * noise
    width = torch.tensor([std, std, 1.0], dtype=torch.float64).expand(len(place), 3).contiguous()
    return Codes(mean, width, factors=(Labels("value", value), Labels("other", other)))
