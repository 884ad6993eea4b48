"""Families of latents: how the numbers that an encoder puts out become q(z | x), and what the code looks like
before.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import ClassVar, final

from jaxtyping import Float
from torch import Tensor, nn

from unbraid.config import Config
from unbraid.errors import SpecError
from unbraid.models.distributions.posteriors.diagonal_gaussian import DiagonalGaussian
from unbraid.models.distributions.posteriors.posterior import Posterior
from unbraid.models.distributions.priors.prior_configs import PriorConfig, StandardNormalPrior

# A table of a large batch by so many combinations is as large as that of the pairs of its codes.
_MAX_COMBINATIONS = 1024
MAX_LATENTS = 1_000_000
"""More would take seconds and gigabytes before the first weight is compared or made."""


class Latents(Config, ABC):
    """A config for q(z | x) and p(z): how many latents there are, how many numbers describe them, how many columns a
    code has.
    """

    @property
    @abstractmethod
    def num_latents(self) -> int:
        """Returns the number of variables: a discrete one counts once."""

    @property
    def num_discrete(self) -> int:
        """Returns how many of them are discrete. Those come last."""
        return 0

    @property
    @abstractmethod
    def num_parameters(self) -> int:
        """Returns how many numbers the encoder puts out for each image."""

    @property
    def widths(self) -> tuple[int, ...]:
        """Returns how many columns of a code each latent takes, in their order: one each, unless a family says
        otherwise.
        """
        return (1,) * self.num_latents

    @property
    def num_columns(self) -> int:
        """Returns how many numbers the decoder takes for each image."""
        return sum(self.widths)

    @property
    def num_noise(self) -> int:
        """Returns how many standard normal numbers a draw takes."""
        return self.num_columns

    @property
    def groups(self) -> tuple[tuple[int, ...], ...]:
        """Returns the latents that belong together, by number: one group of all, unless a family says otherwise."""
        return (tuple(range(self.num_latents)),)

    @property
    def hard_latents(self) -> tuple[int, ...]:
        """Returns the discrete latents that the decoder sees as categories, by number. It sees the others as they were
        drawn, relaxed.
        """
        return ()

    @property
    def num_combinations(self) -> int:
        """Returns how many combinations of categories an estimate sums over: 1 where it takes the categories drawn."""
        return 1

    @property
    def has_density(self) -> bool:
        """Returns whether log q(z | x) is defined."""
        return True

    @property
    def prior_is_bounded(self) -> bool:
        """Returns whether p(z) is 0 somewhere, so that the KL from a posterior that reaches there is infinite."""
        return False

    @abstractmethod
    def posterior(self, parameters: Float[Tensor, "batch parameter"], progress: Float[Tensor, ""]) -> Posterior:
        """Returns q(z | x). `progress` runs from 0 to 1 over training, for temperatures that follow a schedule; it is 1
        ever after.
        """

    @abstractmethod
    def make_prior(self) -> nn.Module:
        """Returns a module whose output is the `Prior`; its parameters, if any, are learned with the model's.

        It may be given the progress of training, as the temperature of a discrete prior follows that of its posterior;
        otherwise it takes the end.
        """


def check_combinations(latents: Latents) -> None:
    """Raises if a sum is over more combinations of categories than a step can afford."""
    if latents.num_combinations > _MAX_COMBINATIONS:
        raise SpecError(
            f'{type(latents).__name__}: with the measure "summed" an estimate sums over all combinations of '
            f"categories; expected at most {_MAX_COMBINATIONS:,}. Use "
            'fewer discrete latents or categories, or measure="pmf".'
        )


class ContinuousLatents(Latents):
    """`size` continuous latents with one prior for all. Each is described by a location and a scale, unless a family
    says otherwise; the encoder puts out all locations, then all scales.
    """

    size: int
    prior: PriorConfig
    numbers_per_latent: ClassVar[int] = 2

    def __post_init__(self) -> None:
        super().__post_init__()
        name = type(self).__name__
        if not 1 <= self.size <= MAX_LATENTS:
            raise SpecError(f"{name}: size is {self.size}; expected 1 to {MAX_LATENTS:,} latents (the papers use 10).")
        self.prior.check(name, self.size)

    @property
    @final
    def num_latents(self) -> int:
        return self.size

    @property
    @final
    def num_parameters(self) -> int:
        return self.numbers_per_latent * self.size

    @property
    @final
    def prior_is_bounded(self) -> bool:
        return self.prior.is_bounded

    @final
    def make_prior(self) -> nn.Module:
        return self.prior.make(self.size)


@final
@dataclass(frozen=True)
class GaussianLatents(ContinuousLatents):
    """Independent Gaussian latents. The encoder puts out all means, then all log-variances."""

    size: int = 10
    """How many latents."""
    prior: PriorConfig = field(default_factory=StandardNormalPrior)
    """What the latents are distributed like before any image is seen."""

    def posterior(self, parameters: Float[Tensor, "batch parameter"], progress: Float[Tensor, ""]) -> DiagonalGaussian:
        loc, log_var = parameters.chunk(2, dim=1)
        return DiagonalGaussian(loc, log_var)
