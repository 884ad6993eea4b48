"""Recipes for priors of continuous latents."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import final

from torch import nn

from unbraid.distributions.fixed import Fixed
from unbraid.distributions.priors.prior import StandardNormal
from unbraid.recipes import Recipe


class PriorRecipe(Recipe, ABC):
    """What p(z) is, before it has weights."""

    @abstractmethod
    def make(self, size: int) -> nn.Module:
        """A module whose output is the `Prior` of so many latents. It may be given the progress of training, and else
        puts out the last.
        """

    @property
    def is_bounded(self) -> bool:
        """Whether its density is 0 somewhere, so that the KL from a Gaussian posterior is infinite."""
        return False

    def check(self, family: str, size: int) -> None:
        """Refuse a family of latents that this prior does not fit. By default, take any."""
        del family, size


@final
@dataclass(frozen=True)
class StandardNormalPrior(PriorRecipe):
    """N(0, 1) for each latent. Nothing is learned."""

    def make(self, size: int) -> nn.Module:
        del size
        return Fixed(StandardNormal())
