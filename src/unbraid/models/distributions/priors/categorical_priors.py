"""Priors of a discrete latent."""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import final

import torch
from torch import Tensor, nn

from unbraid.config import Config
from unbraid.errors import SpecError


class CategoricalPriorConfig(Config, ABC):
    """Base class of configs of p(category)."""

    @abstractmethod
    def make(self, categories: int) -> nn.Module:
        """Returns a module without inputs that outputs one logit for each category."""

    def check(self, categories: int) -> None:
        """Raises if the prior does not support the number of categories. By default any number is valid."""
        del categories


@final
@dataclass(frozen=True)
class UniformCategories(CategoricalPriorConfig):
    """Uniform prior over categories, without learned parameters."""

    def make(self, categories: int) -> nn.Module:
        return Logits(torch.zeros(categories), learned=False)


@final
@dataclass(frozen=True)
class LearnedCategories(CategoricalPriorConfig):
    """Learned prior over categories. Its logits are trained with the model."""

    initial: tuple[float, ...] = ()
    """Initial probabilities; uniform if empty."""

    def __post_init__(self) -> None:
        super().__post_init__()
        positive = all(math.isfinite(p) and p > 0 for p in self.initial)
        if self.initial and not (positive and math.isclose(sum(self.initial), 1.0, abs_tol=1e-6)):
            raise SpecError(
                f"LearnedCategories: initial is {self.initial}; expected positive probabilities that sum to 1. Pass "
                "e.g. initial=(0.5, 0.5), or () for uniform."
            )

    def make(self, categories: int) -> nn.Module:
        return Logits(torch.tensor(self.initial).log() if self.initial else torch.zeros(categories), learned=True)

    def check(self, categories: int) -> None:
        if self.initial and len(self.initial) != categories:
            raise SpecError(
                f"LearnedCategories: initial has {len(self.initial)} probabilities; expected {categories}, one for "
                "each category. Pass one probability per category, or () for uniform."
            )


@final
class Logits(nn.Module):
    """Module that outputs learned or constant logits, without inputs."""

    def __init__(self, logits: Tensor, *, learned: bool) -> None:
        super().__init__()
        if learned:
            self.logits = nn.Parameter(logits)
        else:
            # Not persistent, because the values are part of the config.
            self.register_buffer("logits", logits, persistent=False)

    def forward(self) -> Tensor:
        return self.logits
