"""Adam optimizer."""

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
    """Adam optimizer, which divides a running mean of the gradient by the root of a running mean of its square.

    Kingma & Ba, arXiv:1412.6980v9, algorithm 1, with the defaults of the paper.
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
                f"Adam: betas is {self.betas}; expected two numbers with 0 <= beta < 1. Use e.g. (0.9, 0.999)."
            )
        if not 0 < self.epsilon < math.inf:
            raise SpecError(f"Adam: epsilon is {self.epsilon}; expected a finite number > 0. Use e.g. 1e-8.")

    @property
    def state(self) -> Mapping[str, float]:
        return {"first_moment": 0.0, "second_moment": 0.0}

    def step_constants(self, step: Int64[Tensor, ""]) -> dict[str, Float64[Tensor, "..."]]:
        """Returns the bias corrections 1 - beta^t of both moments."""
        # In float64, because float32 would round the power of 0.999.
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
