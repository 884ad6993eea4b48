"""Binary latents as binary Concrete variables, and their prior."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import final

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.functional import softplus

from unbraid.codes import LatentPrior
from unbraid.config.schedule import Weight
from unbraid.errors import SpecError
from unbraid.models.distributions import noise as noises
from unbraid.models.distributions.posteriors.concrete import (
    Measure,
    Relaxed,
    RelaxedPriorModule,
    check_temperature,
    temperature_at,
)
from unbraid.models.distributions.posteriors.latents import MAX_LATENTS, Latents, check_combinations
from unbraid.models.distributions.posteriors.posterior import Posterior
from unbraid.models.distributions.priors.categorical_priors import Logits
from unbraid.models.distributions.priors.prior import Prior


@final
@dataclass(frozen=True)
class BinaryConcrete(Relaxed):
    """A posterior of numbers between 0 and 1, near one of them where the temperature is low: z_j = sigmoid((logit_j +
    l) / temperature), l standard logistic.

    Maddison et al., arXiv:1611.00712v3. A latent is on where z_j > 1/2, which has the probability sigmoid(logit_j) at
    any temperature.
    """

    @property
    def probabilities(self) -> tuple[Float[Tensor, "batch 2"], ...]:
        """Returns the probabilities of off and on, a table for each latent."""
        tables = torch.stack([torch.sigmoid(-self.logits), torch.sigmoid(self.logits)], dim=2)
        return tables.unbind(dim=1)

    @property
    def summed_log_pmf(self) -> Mapping[int, Float[Tensor, "batch 2"]]:
        return _log_pmf(self.logits, self.measure)

    def rsample(self, noise: Float[Tensor, "batch latent"]) -> Float[Tensor, "batch latent"]:
        return torch.sigmoid((self.logits + noises.logistic(noise)) / self.temperature)

    def log_prob(self, z: Float[Tensor, "batch latent"]) -> Float[Tensor, "batch latent"]:
        return _log_prob(z, self.logits, self.temperature, self.measure)

    def pairwise_log_prob(self, z: Float[Tensor, "sample latent"]) -> Float[Tensor, "sample batch latent"]:
        return _log_prob(z[:, None], self.logits[None], self.temperature, self.measure)


@final
@dataclass(frozen=True)
class Bernoulli(Prior):
    """A prior p(z) of binary Concrete variables with the same logits for every image, at the posterior's temperature
    and in its measure.
    """

    logits: Float[Tensor, " latent"]
    temperature: Float[Tensor, ""]
    measure: Measure

    @property
    def summed_log_pmf(self) -> Mapping[int, Float[Tensor, "2"]]:
        return _log_pmf(self.logits, self.measure)

    def by_category(self) -> "Bernoulli":
        return replace(self, measure="pmf")

    def log_prob(self, z: Float[Tensor, "batch latent"]) -> Float[Tensor, "batch latent"]:
        return _log_prob(z, self.logits, self.temperature, self.measure)

    def sample(self, noise: Float[Tensor, "batch latent"]) -> Float[Tensor, "batch latent"]:
        return BinaryConcrete(self.logits.expand(noise.shape), self.temperature, self.measure).rsample(noise)

    def closed_form_kl_from(self, posterior: Posterior) -> Float[Tensor, "batch latent"] | None:
        """Returns q (log q - log p) + (1 - q) (log(1 - q) - log(1 - p)), between probabilities."""
        if not isinstance(posterior, BinaryConcrete) or self.measure == "density":
            return None
        # log q = l - softplus(l) and log(1 - q) = -softplus(l), for both.
        on, difference = torch.sigmoid(posterior.logits), posterior.logits - self.logits
        return on * difference - softplus(posterior.logits) + softplus(self.logits)

    def for_codes(self, num_latents: int) -> LatentPrior:
        """Returns the probabilities of off and on, as the tables of the posterior have them."""
        del num_latents
        logits = self.logits.double()
        return LatentPrior.from_arrays(probabilities=list(torch.stack([-logits, logits], dim=1).sigmoid()))


@final
@dataclass(frozen=True)
class BernoulliLatents(Latents):
    """`size` binary latents, each a group of its own. The encoder puts out a logit for each, and z has a column for
    each, between 0 and 1.

    `temperature`, `measure` and `hard` are as in `ConcreteLatents`. `prior_probability` is p(on), of every latent; with
    `learned_prior` it is only where learning starts.
    """

    size: int = 1
    """How many latents."""
    temperature: Weight = 0.66
    """How soft the draws are; a number, or a schedule over training."""
    measure: Measure = "pmf"
    """How a latent counts in log q and log p: by the probability of the draw, by the mean over both values, or by the
    Concrete density.
    """
    prior_probability: float = 0.5
    """p(on) of every latent."""
    learned_prior: bool = False
    """Whether p(on) is learned, from there on."""
    hard: bool = False
    """Whether the decoder sees 0 or 1 and the gradient passes straight through."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 1 <= self.size <= MAX_LATENTS:
            raise SpecError(f"BernoulliLatents: size is {self.size}; expected 1 to {MAX_LATENTS:,}.")
        check_temperature("BernoulliLatents", self.temperature)
        if not 0 < self.prior_probability < 1:
            raise SpecError(
                f"BernoulliLatents: prior_probability is {self.prior_probability}; expected a number between 0 and 1, "
                "both excluded."
            )
        check_combinations(self)

    @property
    def num_latents(self) -> int:
        return self.size

    @property
    def num_discrete(self) -> int:
        return self.size

    @property
    def num_parameters(self) -> int:
        return self.size

    @property
    def groups(self) -> tuple[tuple[int, ...], ...]:
        return tuple((latent,) for latent in range(self.size))

    @property
    def hard_latents(self) -> tuple[int, ...]:
        return tuple(range(self.size)) if self.hard else ()

    @property
    def num_combinations(self) -> int:
        return 2**self.size if self.measure == "summed" else 1

    def posterior(self, parameters: Float[Tensor, "batch parameter"], progress: Float[Tensor, ""]) -> BinaryConcrete:
        return BinaryConcrete(parameters, temperature_at(self.temperature, progress, parameters), self.measure)

    def make_prior(self) -> nn.Module:
        logit = math.log(self.prior_probability) - math.log1p(-self.prior_probability)
        logits = Logits(torch.full((self.size,), logit), learned=self.learned_prior)
        return RelaxedPriorModule(logits, Bernoulli, self.temperature, self.measure)


def _log_pmf(logits: Float[Tensor, "*batch latent"], measure: Measure) -> dict[int, Float[Tensor, "*batch 2"]]:
    """Returns log of the probabilities of off and on, a table for each latent, where they are summed over."""
    if measure != "summed":
        return {}
    tables = torch.stack([-softplus(logits), -softplus(-logits)], dim=-1)
    return dict(enumerate(tables.unbind(dim=-2)))


def _log_prob(z: Tensor, logits: Tensor, temperature: Float[Tensor, ""], measure: Measure) -> Tensor:
    """Returns for each latent the log-probability of its side of 1/2; or log t + u - 2 softplus(u) - log z - log(1 - z)
    with u = logit - t log(z / (1 - z)).
    """
    if measure != "density":
        return torch.where(z > 0.5, logits, 0.0) - softplus(logits)
    # What the float type cannot tell from 0 or 1 is taken as the last number that it can.
    numbers = torch.finfo(z.dtype)
    inside = z.clamp(numbers.tiny, 1 - numbers.eps)
    log_on, log_off = inside.log(), torch.log1p(-inside)
    tilted = logits - temperature * (log_on - log_off)
    return temperature.log() + tilted - 2 * softplus(tilted) - log_on - log_off
