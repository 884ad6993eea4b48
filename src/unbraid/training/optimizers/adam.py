"""Adam."""

import math
from collections.abc import Mapping
from dataclasses import dataclass

import torch
from jaxtyping import Float64, Int64
from torch import Tensor

from unbraid.config.schedule import Weight
from unbraid.errors import SpecError
from unbraid.training.optimizers.optimizer import Optimizer, Stack, StepSize, over_members


@dataclass(frozen=True)
class Adam(Optimizer):
    """Adam optimizer: divides a running mean of the gradient by the root of a running mean of its square.

    Kingma & Ba, arXiv:1412.6980v9, algorithm 1, with its defaults. `betas` are the decay rates of the two means;
    `epsilon` is added to the root.
    """

    learning_rate: Weight = 1e-3
    """Learning rate: a number, or a schedule over training."""
    betas: tuple[float, ...] = (0.9, 0.999)
    """Decay rates of the running means of the gradient and of its square."""
    epsilon: float = 1e-8
    """Small constant added to the denominator to avoid division by zero."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if len(self.betas) != 2 or not all(0 <= beta < 1 for beta in self.betas):
            raise SpecError(
                f"Adam: betas is {self.betas}; expected two numbers from 0 up to, but not including, 1, such as "
                "(0.9, 0.999)."
            )
        if not 0 < self.epsilon < math.inf:
            raise SpecError(f"Adam: epsilon is {self.epsilon}; expected a positive, finite number such as 1e-8.")

    @property
    def state(self) -> Mapping[str, float]:
        return {"first_moment": 0.0, "second_moment": 0.0}

    def step_constants(self, step: Int64[Tensor, ""]) -> dict[str, Float64[Tensor, "..."]]:
        """Returns 1 - beta^t for both betas, the correction for moments that start at 0."""
        # float64: a float32 would round 0.999 to the power of the step.
        return {"share": torch.stack([1 - beta ** step.double() for beta in self.betas])}

    def update_(self, weights: Stack, gradient: Stack, state: Mapping[str, Stack], step_size: StepSize) -> None:
        beta1, beta2 = self.betas
        first, second = state["first_moment"], state["second_moment"]
        share1, share2 = step_size.constants["share"].unbind()
        new = torch.zeros_like(step_size.learning_rate).masked_fill(step_size.alive, 1 - beta1)
        decay = torch.ones_like(step_size.learning_rate).masked_fill(step_size.alive, beta2)
        first.lerp_(gradient, over_members(new, gradient))
        second.mul_(over_members(decay, gradient)).addcmul_(gradient, gradient, value=1 - beta2)
        scale = (second / share2).sqrt_().add_(self.epsilon)
        weights.sub_((first * over_members(step_size.learning_rate / share1, weights)).div_(scale))
