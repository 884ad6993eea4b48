"""Several joint tables at once."""

import math
from dataclasses import dataclass
from typing import final

import torch
from jaxtyping import Float64
from torch import Tensor

from unbraid.datasets.weights.joint import Joint
from unbraid.errors import SpecError


@final
@dataclass(frozen=True)
class Product(Joint):
    """The product of joint tables, scaled to sum to one. Over different factors, they are independent of each other and
    each stays what it is.

    Where two of them name the same factor, the product is what both ask for together, and neither is left as it was: so
    one factor can be correlated with several others.
    """

    joints: tuple[Joint, ...]
    """The tables that are multiplied."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.joints:
            raise SpecError("Product: joints is empty; expected one or more joint tables.")

    @property
    def factors(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(name for joint in self.joints for name in joint.factors))

    def table(self, sizes: tuple[int, ...]) -> Float64[Tensor, "..."]:
        product = torch.ones(sizes, dtype=torch.float64)
        for joint in self.joints:
            places = [self.factors.index(name) for name in joint.factors]
            table = joint.table(tuple(sizes[place] for place in places))
            in_our_order = table.permute(sorted(range(len(places)), key=places.__getitem__))
            shape = [size if place in places else 1 for place, size in enumerate(sizes)]
            product = product * (in_our_order.reshape(shape) * math.prod(table.shape))
        if not float(product.sum()) > 0:
            raise SpecError(
                f"Product: no combination of {', '.join(self.factors)} is possible under all of the joints. Weaken "
                "one of them."
            )
        return product / product.sum()
