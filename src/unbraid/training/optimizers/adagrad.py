"""Adagrad optimizer."""

import math
from collections.abc import Mapping
from dataclasses import dataclass

from unbraid.config.schedule import Weight
from unbraid.errors import SpecError
from unbraid.training.optimizers.optimizer import Optimizer, Stack, StepSize, over_members


@dataclass(frozen=True)
class Adagrad(Optimizer):
    """Adagrad optimizer, which divides the gradient by the square root of the sum of past squared gradients.

    Duchi, Hazan & Singer, Journal of Machine Learning Research 12 (2011), section 1.1, with diagonal matrices. The
    defaults equal the defaults of torch.
    """

    learning_rate: Weight = 1e-2
    """Learning rate: a number, or a schedule over training."""
    initial_sum: float = 0.0
    """Initial value of the sum of squared gradients."""
    epsilon: float = 1e-10
    """Small constant added to the denominator to avoid division by zero."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 <= self.initial_sum < math.inf:
            raise SpecError(f"Adagrad: initial_sum is {self.initial_sum}; expected a finite number >= 0. Use e.g. 0.0.")
        if not 0 < self.epsilon < math.inf:
            raise SpecError(f"Adagrad: epsilon is {self.epsilon}; expected a finite number > 0. Use e.g. 1e-10.")

    @property
    def state(self) -> Mapping[str, float]:
        return {"sum_of_squares": self.initial_sum}

    def update_(self, weights: Stack, gradient: Stack, state: Mapping[str, Stack], step_size: StepSize) -> None:
        total = state["sum_of_squares"].addcmul_(gradient, gradient)
        weights.sub_((gradient * over_members(step_size.learning_rate, gradient)).div_(total.sqrt().add_(self.epsilon)))
