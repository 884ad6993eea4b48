"""Two factors that go together."""

import math
from dataclasses import dataclass
from typing import final

import torch
from jaxtyping import Float64
from torch import Tensor

from unbraid.datasets.columns import check_names
from unbraid.datasets.weights.joint import Joint
from unbraid.errors import SpecError


@final
@dataclass(frozen=True)
class Correlated(Joint):
    """A pair of factors whose values lie near a line: p(a, b) is proportional to exp(-(a - b)^2 / (2 strength^2)), a
    and b scaled to [0, 1].

    Träuble et al., arXiv:2006.07886v3. The smaller the `strength`, the closer the factors: 0.2 is strong, 0.7 is weak,
    and the uniform table is approached as it grows. The marginals are not uniform: values at either end are less
    likely. Values are scaled by their index. `opposed` replaces b by 1 - b, so that one factor falls as the other
    rises.
    """

    factors: tuple[str, ...]
    """The two factors, by name."""
    strength: float
    """How far from the line: 0.2 is strongly correlated, 0.7 weakly."""
    opposed: bool = False
    """Whether one factor falls as the other rises."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_names(self.factors, "Correlated", count=2)
        if not (math.isfinite(self.strength) and self.strength > 0):
            raise SpecError(
                f"Correlated: strength is {self.strength}; expected a positive, finite number such as 0.2, in units "
                "of a factor's range. UniformJoint has none."
            )

    def table(self, sizes: tuple[int, ...]) -> Float64[Tensor, "first second"]:
        if min(sizes) < 2:
            raise SpecError(
                f"Correlated: {self.factors[sizes.index(min(sizes))]} has a single value, which goes with nothing. "
                "Choose factors that vary."
            )
        first, second = (torch.linspace(0, 1, size, dtype=torch.float64) for size in sizes)
        distance = first[:, None] - (1 - second if self.opposed else second)
        # Divided before it is squared: the square of a very small strength is zero.
        shares = torch.exp(-(distance / self.strength).square() / 2)
        return shares / shares.sum()
