"""Configs of families of latents, which define the posterior (from encoder outputs) and the prior."""

from abc import ABC, abstractmethod
from typing import ClassVar, final

from jaxtyping import Float
from torch import Tensor, nn

from unbraid.config import Config
from unbraid.errors import SpecError
from unbraid.models.distributions.distribution import Posterior
from unbraid.models.distributions.priors.prior import PriorConfig

# A table of a large batch by so many combinations is as large as that of the pairs of its codes.
_MAX_COMBINATIONS = 1024
MAX_LATENTS = 1_000_000
"""Greatest number of latents. More would take gigabytes before the first weight is created."""


class Latents(Config, ABC):
    """A config for q(z | x) and p(z), with the numbers of latents, encoder outputs and code columns."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.num_combinations > _MAX_COMBINATIONS:
            # 2^1,000,000 would take minutes to print.
            given = f"{self.num_combinations:,}" if self.num_combinations < 2**64 else "2^64 or more"
            raise SpecError(
                f'{type(self).__name__}: with the measure "summed" an estimate sums over all {given} combinations of '
                f"categories; expected at most {_MAX_COMBINATIONS:,}. Use fewer discrete latents or categories, or "
                'measure="pmf".'
            )

    @property
    @abstractmethod
    def num_latents(self) -> int:
        """The number of latents. A discrete latent counts once."""

    @property
    def num_discrete(self) -> int:
        """The number of discrete latents, which come last."""
        return 0

    @property
    @abstractmethod
    def num_parameters(self) -> int:
        """The number of outputs of the encoder for each image."""

    @property
    def widths(self) -> tuple[int, ...]:
        """The number of columns of each latent in a code, in order; 1 each by default."""
        return (1,) * self.num_latents

    @property
    def num_columns(self) -> int:
        """The number of inputs of the decoder for each image."""
        return sum(self.widths)

    @property
    def num_noise(self) -> int:
        """The number of standard normal inputs of a draw."""
        return self.num_columns

    @property
    def groups(self) -> tuple[tuple[int, ...], ...]:
        """Groups of latent indices; by default one group of all latents."""
        return (tuple(range(self.num_latents)),)

    @property
    def hard_latents(self) -> tuple[int, ...]:
        """Indices of the discrete latents that the decoder reads as categories, not relaxed."""
        return ()

    @property
    def num_combinations(self) -> int:
        """The number of combinations of categories that an estimate sums over; 1 if it reads the draws."""
        return 1

    @property
    def has_density(self) -> bool:
        """Whether log q(z | x) is defined."""
        return True

    @property
    def prior_is_bounded(self) -> bool:
        """Whether p(z) is 0 somewhere, which makes the KL from unbounded posteriors infinite."""
        return False

    @abstractmethod
    def posterior(self, parameters: Float[Tensor, "batch parameter"], progress: Float[Tensor, ""]) -> Posterior:
        """Returns q(z | x).

        `progress` runs from 0 to 1 over training, for temperatures that follow a schedule; afterwards it is 1.
        """

    @abstractmethod
    def make_prior(self) -> nn.Module:
        """Returns a module whose output is the `Prior`. Its parameters, if any, are learned with those of the model.

        Its input is the progress of training (default: the end), because the temperature of a discrete prior equals the
        temperature of its posterior.
        """


class ContinuousLatents(Latents):
    """`size` continuous latents with one prior for all.

    By default the encoder outputs all locations, then all scales.
    """

    size: int
    prior: PriorConfig
    numbers_per_latent: ClassVar[int] = 2

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 1 <= self.size <= MAX_LATENTS:
            raise SpecError(
                f"{type(self).__name__}: size is {self.size}; expected 1 to {MAX_LATENTS:,} (the papers use 10)."
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
