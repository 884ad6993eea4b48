"""Base classes of families of latents, which define the posterior and the prior."""

from abc import ABC, abstractmethod
from typing import ClassVar, final

from jaxtyping import Float
from torch import Tensor, nn

from unbraid.config import Config
from unbraid.errors import SpecError
from unbraid.models.distributions.distribution import Posterior
from unbraid.models.distributions.priors.prior import PriorConfig

# For a large batch, a table of this many combinations is as large as the table of pairs of codes.
_MAX_COMBINATIONS = 1024
MAX_LATENTS = 1_000_000
"""Largest supported number of latents."""


class Latents(Config, ABC):
    """Base class of configs of q(z | x) and p(z)."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.num_combinations > _MAX_COMBINATIONS:
            # Printing 2^1,000,000 takes minutes.
            given = f"{self.num_combinations:,}" if self.num_combinations < 2**64 else "2^64 or more"
            raise SpecError(
                f'{type(self).__name__}: the measure "summed" sums over {given} combinations of categories; expected '
                f'at most {_MAX_COMBINATIONS:,}. Use fewer discrete latents or categories, or measure="pmf".'
            )

    @property
    @abstractmethod
    def num_latents(self) -> int:
        """Number of latents. A discrete latent counts as one."""

    @property
    def num_discrete(self) -> int:
        """Number of discrete latents, which follow the continuous latents."""
        return 0

    @property
    @abstractmethod
    def num_parameters(self) -> int:
        """Number of outputs of the encoder for each image."""

    @property
    def widths(self) -> tuple[int, ...]:
        """Number of columns of each latent in a code; by default 1 each."""
        return (1,) * self.num_latents

    @property
    def num_columns(self) -> int:
        """Number of columns of a code."""
        return sum(self.widths)

    @property
    def num_noise(self) -> int:
        """Number of standard normal numbers in a draw of a code."""
        return self.num_columns

    @property
    def groups(self) -> tuple[tuple[int, ...], ...]:
        """Groups of latent indices; by default one group of all latents."""
        return (tuple(range(self.num_latents)),)

    @property
    def hard_latents(self) -> tuple[int, ...]:
        """Indices of the discrete latents that the decoder reads as one-hot categories instead of relaxed draws."""
        return ()

    @property
    def num_combinations(self) -> int:
        """Number of combinations of categories that estimates sum over; 1 if estimates use draws."""
        return 1

    @property
    def has_density(self) -> bool:
        """Whether log q(z | x) is defined."""
        return True

    @property
    def prior_is_bounded(self) -> bool:
        """Whether the support of p(z) is bounded, so that the KL from unbounded posteriors is infinite."""
        return False

    @abstractmethod
    def posterior(self, parameters: Float[Tensor, "batch parameter"], progress: Float[Tensor, ""]) -> Posterior:
        """Returns q(z | x) for the outputs of the encoder.

        `progress` is the progress of training from 0 to 1, for scheduled temperatures. After training it is 1.
        """

    @abstractmethod
    def make_prior(self) -> nn.Module:
        """Returns a module that outputs the `Prior`. The parameters of the module are trained with the model.

        The input of the module is the progress of training, by default 1. A discrete prior has the temperature of the
        posterior, which may follow a schedule.
        """


class ContinuousLatents(Latents):
    """Base class of continuous latents with a common prior.

    By default the encoder outputs all locations, then all scales.
    """

    size: int
    prior: PriorConfig
    numbers_per_latent: ClassVar[int] = 2

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 1 <= self.size <= MAX_LATENTS:
            raise SpecError(
                f"{type(self).__name__}: size is {self.size}; expected 1 to {MAX_LATENTS:,}. Pass e.g. size=10."
            )

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
