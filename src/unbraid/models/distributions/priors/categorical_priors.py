"""Configs for priors of a discrete latent."""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import final

import torch
from torch import Tensor, nn

from unbraid.config import Config
from unbraid.errors import SpecError


class CategoricalPriorConfig(Config, ABC):
    """A config for p(category)."""

    @abstractmethod
    def make(self, categories: int) -> nn.Module:
        """Returns a module without inputs whose output is one logit for each category."""

    def check(self, categories: int) -> None:
        """Raises if this prior does not fit the number of categories. By default any number is valid."""
        del categories


@final
@dataclass(frozen=True)
class UniformCategories(CategoricalPriorConfig):
    """Equal probabilities of all categories. Nothing is learned."""

    def make(self, categories: int) -> nn.Module:
        return Logits(torch.zeros(categories), learned=False)


@final
@dataclass(frozen=True)
class LearnedCategories(CategoricalPriorConfig):
    """Logits learned with the model. They start at the probabilities `initial`, or uniform if it is empty."""

    initial: tuple[float, ...] = ()
    """Initial probabilities. Uniform if empty."""

    def __post_init__(self) -> None:
        super().__post_init__()
        positive = all(math.isfinite(p) and p > 0 for p in self.initial)
        if self.initial and not (positive and math.isclose(sum(self.initial), 1.0, abs_tol=1e-6)):
            raise SpecError(
                f"LearnedCategories: initial is {self.initial}; expected positive probabilities that sum to 1, or none."
            )

    def make(self, categories: int) -> nn.Module:
        return Logits(torch.tensor(self.initial).log() if self.initial else torch.zeros(categories), learned=True)

    def check(self, categories: int) -> None:
        if self.initial and len(self.initial) != categories:
            raise SpecError(
                f"LearnedCategories: initial has {len(self.initial)} probabilities; expected {categories}, one for "
                "each category of the latent, or none to start uniform."
            )


@final
class Logits(nn.Module):
    """Logits that do not depend on the image, learned or fixed."""

    def __init__(self, logits: Tensor, *, learned: bool) -> None:
        super().__init__()
        if learned:
            self.logits = nn.Parameter(logits)
        else:
            # Not persistent: it is part of the config, not of the weights.
            self.register_buffer("logits", logits, persistent=False)

    def forward(self) -> Tensor:
        return self.logits
