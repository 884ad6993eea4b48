"""Configs for priors of continuous latents."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import final

from torch import nn

from unbraid.config import Config
from unbraid.models.distributions.fixed import Fixed
from unbraid.models.distributions.priors.prior import StandardNormal


class PriorConfig(Config, ABC):
    """Says what p(z) is, before it has weights."""

    @abstractmethod
    def make(self, size: int) -> nn.Module:
        """Returns a module whose output is the `Prior` of so many latents. It may be given the progress of training,
        and otherwise puts out the last.
        """

    @property
    def is_bounded(self) -> bool:
        """Returns whether its density is 0 somewhere, so that the KL from a Gaussian posterior is infinite."""
        return False

    def check(self, family: str, size: int) -> None:
        """Raises if this prior does not fit the family of latents. By default, it takes any."""
        del family, size


@final
@dataclass(frozen=True)
class StandardNormalPrior(PriorConfig):
    """N(0, 1) for each latent. Nothing is learned."""

    def make(self, size: int) -> nn.Module:
        del size
        return Fixed(StandardNormal())
