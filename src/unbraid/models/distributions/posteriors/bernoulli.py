"""Binary latents as binary Concrete variables."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, final

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.functional import softplus

from unbraid._internal.device import widest
from unbraid.codes import LatentPrior
from unbraid.config.schedule import Weight
from unbraid.errors import SpecError
from unbraid.models.distributions import noise as noises
from unbraid.models.distributions.distribution import Posterior
from unbraid.models.distributions.posteriors.concrete import DiscreteLatents, Measure, Relaxed
from unbraid.models.distributions.posteriors.latents import MAX_LATENTS
from unbraid.models.distributions.priors.categorical_priors import Logits


@final
@dataclass(frozen=True)
class BinaryConcrete(Relaxed):
    """Binary Concrete distribution: z_j = sigmoid((logit_j + l) / temperature) with standard logistic l.

    Maddison et al., arXiv:1611.00712v3. At low temperatures z_j is close to 0 or 1. A latent is on if z_j > 1/2. Its
    probability of being on is sigmoid(logit_j) at any temperature.
    """

    @property
    def probabilities(self) -> tuple[Float[Tensor, "batch 2"], ...]:
        """Probabilities of off and on, one table for each latent."""
        tables = torch.stack([torch.sigmoid(-self.logits), torch.sigmoid(self.logits)], dim=2)
        return tables.unbind(dim=1)

    @property
    def summed_log_pmf(self) -> Mapping[int, Float[Tensor, "*batch 2"]]:
        if self.measure != "summed":
            return {}
        tables = torch.stack([-softplus(self.logits), -softplus(-self.logits)], dim=-1)
        return dict(enumerate(tables.unbind(dim=-2)))

    def rsample(self, noise: Float[Tensor, "batch latent"]) -> Float[Tensor, "batch latent"]:
        return torch.sigmoid((self.logits + noises.logistic(noise)) / self.temperature)

    def log_prob(self, z: Float[Tensor, "batch latent"]) -> Float[Tensor, "batch latent"]:
        return self._log_density(z, self.logits)

    def pairwise_log_prob(self, z: Float[Tensor, "sample latent"]) -> Float[Tensor, "sample batch latent"]:
        # `[None]` is not needed for broadcasting, but determines the order in which gradients are summed.
        return self._log_density(z[:, None], self.logits[None])

    def closed_form_kl_from(self, posterior: Posterior) -> Float[Tensor, "batch latent"] | None:
        """Returns the KL between probabilities, q (log q - log p) + (1 - q) (log(1 - q) - log(1 - p))."""
        if not isinstance(posterior, BinaryConcrete) or self.measure == "density":
            return None
        # For both distributions, log q = l - softplus(l) and log(1 - q) = -softplus(l).
        on, difference = torch.sigmoid(posterior.logits), posterior.logits - self.logits
        return on * difference - softplus(posterior.logits) + softplus(self.logits)

    def for_codes(self, num_latents: int) -> LatentPrior:
        """Returns a `LatentPrior` with the probabilities of off and on."""
        del num_latents
        logits = widest(self.logits)
        return LatentPrior.from_arrays(probabilities=list(torch.stack([-logits, logits], dim=1).sigmoid()))

    def _log_density(
        self, z: Float[Tensor, "*#batch latent"], logits: Float[Tensor, "*#batch latent"]
    ) -> Float[Tensor, "*batch latent"]:
        """Returns the log-probability of the value (z > 1/2) of each latent, or the log-density of the relaxed value.

        The log-density is log t + u - 2 softplus(u) - log z - log(1 - z) with u = logit - t log(z / (1 - z)).
        """
        if self.measure != "density":
            return torch.where(z > 0.5, logits, 0.0) - softplus(logits)
        # Clamped, because numbers close to 0 and 1 are rounded to 0 and 1, where the logarithms are infinite.
        numbers = torch.finfo(z.dtype)
        inside = z.clamp(numbers.tiny, 1 - numbers.eps)
        log_on, log_off = inside.log(), torch.log1p(-inside)
        tilted = logits - self.temperature * (log_on - log_off)
        return self.temperature.log() + tilted - 2 * softplus(tilted) - log_on - log_off


@final
@dataclass(frozen=True)
class BernoulliLatents(DiscreteLatents):
    """Binary latents as binary Concrete variables. Each latent is a separate group.

    The encoder outputs one logit for each latent, and z has one column with values from 0 to 1. `temperature`,
    `measure` and `hard` are as in `ConcreteLatents`.
    """

    size: int = 1
    """Number of latents."""
    temperature: Weight = 0.66
    """Temperature of the relaxation, a number or a schedule."""
    measure: Measure = "pmf"
    """Measure of latents: probability of the draw (pmf), mean over values (summed), or Concrete density (density)."""
    prior_probability: float = 0.5
    """Prior probability of on, p(on), for every latent."""
    learned_prior: bool = False
    """Whether to learn p(on), starting from prior_probability."""
    hard: bool = False
    """Whether the decoder reads 0 or 1, with a straight-through gradient."""

    family: ClassVar[type[Relaxed]] = BinaryConcrete

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 1 <= self.size <= MAX_LATENTS:
            raise SpecError(f"BernoulliLatents: size is {self.size}; expected 1 to {MAX_LATENTS:,}. Pass e.g. size=10.")
        if not 0 < self.prior_probability < 1:
            raise SpecError(
                f"BernoulliLatents: prior_probability is {self.prior_probability}; expected a number > 0 and < 1. Pass "
                "e.g. prior_probability=0.5."
            )

    @property
    def num_latents(self) -> int:
        return self.size

    @property
    def num_parameters(self) -> int:
        return self.size

    @property
    def groups(self) -> tuple[tuple[int, ...], ...]:
        return tuple((latent,) for latent in range(self.size))

    @property
    def num_combinations(self) -> int:
        return 2**self.size if self.measure == "summed" else 1

    def make_prior_logits(self) -> nn.Module:
        logit = math.log(self.prior_probability) - math.log1p(-self.prior_probability)
        return Logits(torch.full((self.size,), logit), learned=self.learned_prior)
