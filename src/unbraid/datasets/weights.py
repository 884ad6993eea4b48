"""Sampling weights of images, from a joint probability table over factors."""

import logging
import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, assert_never, final

import numpy as np
import torch
from jaxtyping import Float, Float64
from torch import Tensor

from unbraid.config import Config
from unbraid.datasets.dataset import Factor, Values, check_names, discrete_factor, plain_array, value_indices
from unbraid.errors import SpecError

log = logging.getLogger(__name__)

# Limit on the cells of a table. A table with more cells than any dataset has images would fill the memory.
MAX_CELLS = 50_000_000


class Joint(Config, ABC):
    """Base class of joint probability tables over the values of some factors.

    `image_weights` converts a table to sampling weights of images. All other factors keep their conditional
    distribution given the factors of the table.
    """

    if TYPE_CHECKING:
        # Only for type checkers: a real property would become the default of the field `factors` of subclasses.
        @property
        def factors(self) -> tuple[str, ...]:
            """Names of the factors, one per axis of the table."""

    @abstractmethod
    def table(self, sizes: tuple[int, ...]) -> Float64[Tensor, "..."]:
        """Returns the probability of each combination of values, with one axis of the given size per factor."""

    def sizes_among(self, factors: Sequence[Factor]) -> tuple[int, ...]:
        """Returns the number of values of each factor of the table. Raises an error if the table is too large."""
        sizes = tuple(discrete_factor(name, factors, type(self).__name__).size for name in self.factors)
        if math.prod(sizes) > MAX_CELLS:
            raise SpecError(
                f"{type(self).__name__}: the table of {', '.join(self.factors)} has {math.prod(sizes):,} cells; "
                f"expected at most {MAX_CELLS:,}. Use fewer factors."
            )
        self.table(sizes)
        return sizes


@final
@dataclass(frozen=True)
class UniformJoint(Joint):
    """Joint table with equal probabilities for all combinations, regardless of their number of images."""

    factors: tuple[str, ...]
    """Names of the factors."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_names(self.factors, "UniformJoint")

    def table(self, sizes: tuple[int, ...]) -> Float64[Tensor, "..."]:
        return torch.full(sizes, 1 / math.prod(sizes), dtype=torch.float64)


@final
@dataclass(frozen=True)
class JointTable(Joint):
    """Joint table with given probabilities, normalized to sum to one.

    `JointTable.from_array(factors, array)` accepts an array with one axis per factor.
    """

    factors: tuple[str, ...]
    """Names of the factors."""
    probabilities: tuple[float, ...]
    """Probabilities in row-major order: the last factor changes fastest."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_names(self.factors, "JointTable")
        are_valid = all(math.isfinite(p) and p >= 0 for p in self.probabilities)
        if not (are_valid and any(self.probabilities)):
            raise SpecError(
                f"JointTable: got probabilities from {min(self.probabilities, default=0):g} to "
                f"{max(self.probabilities, default=0):g}; expected finite numbers >= 0, not all 0. Give one per cell."
            )

    @classmethod
    def from_array(cls, factors: Sequence[str], table: Any) -> "JointTable":
        """Creates a table from an array, a tensor or nested lists with one axis per factor."""
        numbers = plain_array("JointTable: the table", table)
        if numbers.ndim != len(factors) or numbers.dtype.kind not in "biuf":
            raise SpecError(
                f"JointTable: the array has dtype {numbers.dtype} and {numbers.ndim} axes; expected numbers and "
                f"{len(factors)} axes. Give one axis per factor."
            )
        return cls(tuple(factors), tuple(numbers.astype(np.float64).ravel().tolist()))

    def table(self, sizes: tuple[int, ...]) -> Float64[Tensor, "..."]:
        if len(self.probabilities) != math.prod(sizes):
            raise SpecError(
                f"JointTable: got {len(self.probabilities)} probabilities for {', '.join(self.factors)} with "
                f"{' x '.join(map(str, sizes))} values; expected {math.prod(sizes)}. Give one per combination."
            )
        # Divided by the maximum first, so that the sum cannot overflow.
        numbers = torch.tensor(self.probabilities, dtype=torch.float64) / max(self.probabilities)
        return (numbers / numbers.sum()).reshape(sizes)


@final
@dataclass(frozen=True)
class Product(Joint):
    """Product of joint tables, normalized to sum to one.

    Tables over different factors keep their marginals, and their factors are independent. Tables that share a factor
    do not keep their marginals, but can correlate one factor with several other factors.
    """

    joints: tuple[Joint, ...]
    """The tables to multiply."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.joints:
            raise SpecError("Product: joints is empty; expected one or more joint tables. Add one.")

    @property
    def factors(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(name for joint in self.joints for name in joint.factors))

    def table(self, sizes: tuple[int, ...]) -> Float64[Tensor, "..."]:
        product = torch.ones(sizes, dtype=torch.float64)
        for joint in self.joints:
            axes = [self.factors.index(name) for name in joint.factors]
            table = joint.table(tuple(sizes[axis] for axis in axes))
            in_our_order = table.permute(sorted(range(len(axes)), key=axes.__getitem__))
            shape = [size if axis in axes else 1 for axis, size in enumerate(sizes)]
            product = product * (in_our_order.reshape(shape) * math.prod(table.shape))
        if not float(product.sum()) > 0:
            raise SpecError(
                f"Product: each combination of {', '.join(self.factors)} has probability 0 in one of the tables; "
                "expected a combination with positive probability in all tables. Change one of the tables."
            )
        return product / product.sum()


@final
@dataclass(frozen=True)
class Correlated(Joint):
    """Joint table of two correlated factors (Träuble et al., arXiv:2006.07886v3).

    p(a, b) is proportional to exp(-(a - b)^2 / (2 strength^2)), where a and b are the value indices, scaled to [0, 1].
    A smaller `strength` gives a stronger correlation: 0.2 is strong, 0.7 is weak, and for large values the table
    becomes uniform. The marginals are not uniform: the first and the last values are less likely. `opposed` replaces b
    by 1 - b, for a negative correlation.
    """

    factors: tuple[str, ...]
    """Names of the two factors."""
    strength: float
    """Width of the distribution around the line a = b: 0.2 is a strong correlation, 0.7 a weak one."""
    opposed: bool = False
    """Whether the correlation is negative."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_names(self.factors, "Correlated", count=2)
        if not (math.isfinite(self.strength) and self.strength > 0):
            raise SpecError(f"Correlated: strength is {self.strength}; expected a finite number > 0. Use e.g. 0.2.")

    def table(self, sizes: tuple[int, ...]) -> Float64[Tensor, "first second"]:
        _check_sizes(self, sizes)
        first, second = (torch.linspace(0, 1, size, dtype=torch.float64) for size in sizes)
        distance = first[:, None] - (1 - second if self.opposed else second)
        # Divided before squaring, because the square of a very small strength is zero.
        shares = torch.exp(-(distance / self.strength).square() / 2)
        return shares / shares.sum()


@final
@dataclass(frozen=True)
class ChenDesign(Joint):
    """Joint table of two factors: uniform (A), independent (B), uncorrelated but dependent (C) or correlated (D).

    The designs are from Chen et al., arXiv:1802.04942v5, section 6.1, where the factors are the pose of a face. In B, C
    and D the largest probability is `ratio` times the smallest. The paper prints no tables; the following formulas are
    our choice. With the value indices x and y, scaled to [-1, 1], p is proportional to

    ====== ================================ ============================================================================
    B      (1 + t (x+1)/2) (1 + t (y+1)/2)  t = sqrt(ratio) - 1, so that each marginal varies by sqrt(ratio)
    C      1 + c f(x) g(y)                  f(x) = x^2 - mean(x^2), same for g: marginals uniform, correlation 0; c is
                                            computed from the ratio
    D      1 + c x y                        c = (ratio - 1) / (ratio + 1): marginals uniform
    ====== ================================ ============================================================================

    In D the correlation for n by m values is c sqrt((n+1)(m+1) / (9 (n-1)(m-1))): 0.2 for many values, at ratio 4. In C
    a factor with two values has f(x) = x. Two factors with two values each cannot be uncorrelated and dependent.
    """

    design: Literal["A", "B", "C", "D"]
    """Design of the table: uniform (A), independent (B), uncorrelated (C) or correlated (D)."""
    factors: tuple[str, ...] = ("azimuth", "elevation")
    """Names of the two factors."""
    ratio: float = 4.0
    """Ratio of the largest to the smallest probability of a combination."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_names(self.factors, "ChenDesign", count=2)
        if not (math.isfinite(self.ratio) and self.ratio > 1):
            raise SpecError(f"ChenDesign: ratio is {self.ratio}; expected a finite number > 1. Use e.g. ratio=4.0.")

    def table(self, sizes: tuple[int, ...]) -> Float64[Tensor, "first second"]:
        _check_sizes(self, sizes)
        shares = self._shares(*(torch.linspace(-1, 1, size, dtype=torch.float64) for size in sizes))
        return shares / shares.sum()

    def _shares(self, x: Float64[Tensor, " first"], y: Float64[Tensor, " second"]) -> Float64[Tensor, "first second"]:
        """Returns the unnormalized table."""
        match self.design:
            case "A":
                return torch.ones(len(x), len(y), dtype=torch.float64)
            case "B":
                slope = (math.sqrt(self.ratio) - 1) / 2
                return torch.outer(1 + slope * (x + 1), 1 + slope * (y + 1))
            case "C":
                if max(len(x), len(y)) < 3:
                    raise SpecError(
                        f"ChenDesign: {' and '.join(self.factors)} have two values each; in design C, a factor must "
                        "have three values or more, because uncorrelated binary factors are independent. Choose one."
                    )
                product = torch.outer(_even(x), _even(y))
            case "D":
                product = torch.outer(x, y)
            case _:
                assert_never(self.design)
        # Computes c such that the largest entry is `ratio` times the smallest.
        least, most = product.min(), product.max()
        return 1 + (self.ratio - 1) / (most - self.ratio * least) * product


def _check_sizes(joint: Joint, sizes: tuple[int, ...]) -> None:
    if min(sizes) < 2:
        raise SpecError(
            f"{type(joint).__name__}: {joint.factors[sizes.index(min(sizes))]} has one value; expected two or more. "
            "Choose another factor."
        )


def _even(x: Float64[Tensor, " value"]) -> Float64[Tensor, " value"]:
    """Returns x^2 minus its mean: an even function with mean 0. Returns x for two values, where x^2 is constant."""
    if len(x) == 2:
        return x
    # Averaged over x and -x, because rounding must not break the symmetry, which makes the correlation zero.
    square = (x.square() + x.flip(0).square()) / 2
    return square - square.mean()


def image_weights(
    joint: Joint, factors: Sequence[Factor], values: Values, base: Float[Tensor, " image"] | None = None
) -> Float64[Tensor, " image"]:
    """Computes image weights p(n) that give each combination of factor values its probability in a joint table.

    The probability of a combination is divided among its images, equally or in proportion to the previous weights
    `base`. The weights sum to one. All other factors keep their distribution conditional on the factors of the table.
    If combinations have no images, a warning is logged and the other probabilities are rescaled to sum to one.
    """
    sizes, owner = joint.sizes_among(factors), type(joint).__name__
    cells = torch.zeros(len(values), dtype=torch.int64, device=values.device)
    for name, size in zip(joint.factors, sizes, strict=True):
        cells = cells * size + value_indices(values, name, factors, owner)
    table = joint.table(sizes).flatten().to(values.device)
    shares = torch.ones(len(values), dtype=torch.float64, device=values.device) if base is None else base.double()
    shares = shares / shares.sum()
    masses = torch.zeros_like(table).index_add_(0, cells, shares)
    present = torch.where(masses > 0, table, 0.0)
    over = f"{owner} over {', '.join(joint.factors)}"
    if not bool((present > 0).any()):
        raise SpecError(f"{over}: no image has a combination with positive probability. Choose another table.")
    if num_missing := int(((table > 0) & (present == 0)).sum()):
        log.warning(
            "%s: %s of %s combinations, with a total probability of %.3g, have no images. The probabilities of the "
            "other combinations are rescaled to sum to one.",
            over,
            f"{num_missing:,}",
            f"{len(table):,}",
            float(table.sum() - present.sum()),
        )
    per_share = present / present.sum() / torch.where(masses > 0, masses, 1.0)
    return shares * per_share[cells]
