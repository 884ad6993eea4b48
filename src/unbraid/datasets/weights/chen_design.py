"""The four designs of Chen et al.: two factors, with bias of four kinds."""

import math
from dataclasses import dataclass
from typing import Literal, assert_never, final

import torch
from jaxtyping import Float64
from torch import Tensor

from unbraid.datasets.columns import check_names
from unbraid.datasets.weights.joint import Joint
from unbraid.errors import SpecError

Design = Literal["A", "B", "C", "D"]


@final
@dataclass(frozen=True)
class ChenDesign(Joint):
    """Two factors that are A: uniform; B: not uniform but independent; C: uncorrelated but dependent; D: correlated.

    Chen et al., arXiv:1802.04942v5, section 6.1, where the factors are the pose of a face. In B, C and D the most
    likely combination is `ratio` times as likely as the least. The paper prints no tables; these are ours. With x and
    y, the value indices scaled to [-1, 1], p is proportional to

    ====== ================================ ============================================================================
    B      (1 + t (x+1)/2) (1 + t (y+1)/2)  t = sqrt(ratio) - 1, so that either marginal varies by sqrt(ratio)
    C      1 + c f(x) g(y)                  f(x) = x^2 - mean(x^2), g alike: marginals uniform, correlation 0; c makes
                                            the ratio what it is
    D      1 + c x y                        c = (ratio - 1) / (ratio + 1): marginals uniform
    ====== ================================ ============================================================================

    In D the correlation of n by m values is c sqrt((n+1)(m+1) / (9 (n-1)(m-1))): 0.2 for many values, at ratio 4. In C
    a factor of two values has f(x) = x. Two factors of two values cannot be uncorrelated and dependent.
    """

    design: Design
    """Uniform (A), independent (B), uncorrelated (C) or correlated (D)."""
    factors: tuple[str, ...] = ("azimuth", "elevation")
    """The two factors, by name."""
    ratio: float = 4.0
    """How many times likelier the likeliest combination is than the least likely."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_names(self.factors, "ChenDesign", count=2)
        if not (math.isfinite(self.ratio) and self.ratio > 1):
            raise SpecError(
                f"ChenDesign: ratio is {self.ratio}; expected a number above 1, how many times as likely as the least "
                "the most likely is."
            )

    def table(self, sizes: tuple[int, ...]) -> Float64[Tensor, "first second"]:
        if min(sizes) < 2:
            raise SpecError(
                f"ChenDesign: {self.factors[sizes.index(min(sizes))]} has a single value; expected two or more. "
                "Choose factors that vary."
            )
        shares = self._shares(*(torch.linspace(-1, 1, size, dtype=torch.float64) for size in sizes))
        return shares / shares.sum()

    def _shares(self, x: Float64[Tensor, " first"], y: Float64[Tensor, " second"]) -> Float64[Tensor, "first second"]:
        """Returns the table up to scale."""
        match self.design:
            case "A":
                return torch.ones(len(x), len(y), dtype=torch.float64)
            case "B":
                slope = (math.sqrt(self.ratio) - 1) / 2
                return torch.outer(1 + slope * (x + 1), 1 + slope * (y + 1))
            case "C":
                if max(len(x), len(y)) < 3:
                    raise SpecError(
                        f"ChenDesign: {' and '.join(self.factors)} have two values each, and such factors are "
                        "independent if they are uncorrelated. "
                        "Design C needs a factor of three values or more."
                    )
                return self._bent(torch.outer(_even(x), _even(y)))
            case "D":
                return self._bent(torch.outer(x, y))
            case _:
                assert_never(self.design)

    def _bent(self, product: Float64[Tensor, "first second"]) -> Float64[Tensor, "first second"]:
        """Returns 1 + c times the product, with the c for which the greatest entry is `ratio` times the least."""
        least, most = product.min(), product.max()
        return 1 + (self.ratio - 1) / (most - self.ratio * least) * product


def _even(x: Float64[Tensor, " value"]) -> Float64[Tensor, " value"]:
    """Returns values of a function that is the same at x and -x, and 0 on average; x itself where there are only two
    values, at which no such function varies.
    """
    if len(x) == 2:
        return x
    # Turned over and averaged: rounding must not break the symmetry that makes the correlation zero.
    square = (x.square() + x.flip(0).square()) / 2
    return square - square.mean()
