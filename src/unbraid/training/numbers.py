"""Numbers of which every member has its own."""

from collections.abc import Hashable, Sequence
from typing import final

import torch
from jaxtyping import Float
from torch import Tensor

from unbraid.config.schedule import Schedule, Weight


@final
class Numbers:
    """Holds one number a member, some of which may follow a schedule."""

    def __init__(self, weights: Sequence[Weight], like: Tensor) -> None:
        self._weights = tuple(weights)
        self.constant: Float[Tensor, " member"] = like.new_tensor(
            [0.0 if isinstance(weight, Schedule) else weight for weight in weights]
        )
        """The numbers that stay; 0 for those that follow a schedule."""

    @property
    def are_zero(self) -> bool:
        """Returns whether the number is 0 for every member, at every moment."""
        return not any(isinstance(weight, Schedule) or weight for weight in self._weights)

    @property
    def key(self) -> Hashable:
        """Returns what is not in `constant`."""
        return self.are_zero, tuple(weight if isinstance(weight, Schedule) else None for weight in self._weights)

    def at(self, progress: Float[Tensor, ""], constant: Float[Tensor, " member"]) -> Float[Tensor, " member"]:
        """Returns the numbers at this moment, those that stay read from `constant`."""
        if not any(isinstance(weight, Schedule) for weight in self._weights):
            return constant
        return torch.stack(
            [
                w.at(progress) if isinstance(w, Schedule) else own
                for w, own in zip(self._weights, constant.unbind(), strict=True)
            ]
        )
