"""Discrete latents as Concrete (Gumbel-softmax) variables."""

import math
from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import ClassVar, Literal, Self, final

import torch
from jaxtyping import Float
from torch import Tensor, nn

from unbraid._internal.device import widest
from unbraid.codes import LatentPrior
from unbraid.config.schedule import Weight, extremes, value_at
from unbraid.errors import SpecError
from unbraid.models.distributions import noise as noises
from unbraid.models.distributions.distribution import Posterior, Prior
from unbraid.models.distributions.posteriors.latents import Latents
from unbraid.models.distributions.priors.categorical_priors import CategoricalPriorConfig, UniformCategories

Measure = Literal["pmf", "summed", "density"]
"""Measure of a discrete latent in log q and log p.

"pmf" is the probability of the drawn category; the expected gradient of its logits is 0. "summed" is the exact mean
over all categories, in value and gradient. "density" is the density of the relaxed draw. All discrete latents of a
model have the same measure, because probabilities and densities are not comparable.
"""


@dataclass(frozen=True)
class Relaxed(Posterior, Prior):
    """Base class of relaxed discrete latents. At low temperatures, draws are close to categories.

    A posterior has logits for each image, and a prior has the same logits for all images. Discrete latents have
    `probabilities` instead of a mean and a variance.
    """

    logits: Float[Tensor, "*batch parameter"]
    temperature: Float[Tensor, ""]
    measure: Measure

    @final
    @property
    def mean(self) -> Float[Tensor, "batch 0"]:
        return self.logits[:, :0]

    @final
    @property
    def gaussian_std(self) -> Float[Tensor, "batch 0"]:
        return self.logits[:, :0]

    @final
    def by_category(self) -> Self:
        return replace(self, measure="pmf")

    @final
    def sample(self, noise: Float[Tensor, "batch column"]) -> Float[Tensor, "batch column"]:
        return self.rsample(noise)


@final
@dataclass(frozen=True)
class Concrete(Relaxed):
    """Concrete (Gumbel-softmax) distribution: z = softmax((logits + g) / temperature) with standard Gumbel g.

    Maddison et al., arXiv:1611.00712v3; Jang et al., arXiv:1611.01144v5. At low temperatures z is close to a one-hot
    vector. The category of z is its argmax. Category probabilities are softmax(logits) at any temperature.
    """

    @property
    def probabilities(self) -> tuple[Float[Tensor, "batch category"], ...]:
        return (self.logits.softmax(dim=1),)

    @property
    def summed_log_pmf(self) -> Mapping[int, Float[Tensor, "*batch category"]]:
        return {0: self.logits.log_softmax(dim=-1)} if self.measure == "summed" else {}

    def rsample(self, noise: Float[Tensor, "batch category"]) -> Float[Tensor, "batch category"]:
        return ((self.logits + noises.gumbel(noise)) / self.temperature).softmax(dim=1)

    def log_prob(self, z: Float[Tensor, "batch category"]) -> Float[Tensor, "batch 1"]:
        logits = self.logits.expand(z.shape)
        if self.measure == "density":
            return concrete_log_density(log_share(z), logits, self.temperature)[:, None]
        return logits.log_softmax(dim=1).gather(1, z.argmax(dim=1, keepdim=True))

    def pairwise_log_prob(self, z: Float[Tensor, "sample category"]) -> Float[Tensor, "sample batch 1"]:
        if self.measure == "density":
            return concrete_log_density(log_share(z)[:, None], self.logits[None], self.temperature)[:, :, None]
        # Indexing rows is much faster on a GPU than gathering from a table expanded over all pairs.
        return self.logits.log_softmax(dim=1).T[z.argmax(dim=1)][:, :, None]

    def closed_form_kl_from(self, posterior: Posterior) -> Float[Tensor, "batch 1"] | None:
        """Returns the KL between probabilities, sum_c q_c (log q_c - log p_c); None for densities."""
        if not isinstance(posterior, Concrete) or self.measure == "density":
            return None
        log_q = posterior.logits.log_softmax(dim=1)
        return (log_q.exp() * (log_q - self.logits.log_softmax(dim=0))).sum(dim=1, keepdim=True)

    def for_codes(self, num_latents: int) -> LatentPrior:
        del num_latents
        return LatentPrior.from_arrays(probabilities=[widest(self.logits).softmax(dim=0)])


class DiscreteLatents(Latents):
    """Base class of discrete latents: relaxed variables of one `family` with a temperature and a measure."""

    family: ClassVar[type[Relaxed]]
    temperature: Weight
    measure: Measure
    hard: bool

    def __post_init__(self) -> None:
        super().__post_init__()
        low, high = extremes(self.temperature)
        if not (low > 0 and math.isfinite(high)):
            raise SpecError(
                f"{type(self).__name__}: temperature is {self.temperature}; expected a finite number > 0, or a "
                "schedule of such numbers. Pass e.g. temperature=0.66."
            )

    @property
    @final
    def num_discrete(self) -> int:
        return self.num_latents

    @property
    @final
    def hard_latents(self) -> tuple[int, ...]:
        return tuple(range(self.num_latents)) if self.hard else ()

    def posterior(self, parameters: Float[Tensor, "batch parameter"], progress: Float[Tensor, ""]) -> Relaxed:
        return self.family(parameters, temperature_at(self.temperature, progress, parameters), self.measure)

    @final
    def make_prior(self) -> nn.Module:
        return _RelaxedPrior(self)

    @abstractmethod
    def make_prior_logits(self) -> nn.Module:
        """Returns a module without inputs that outputs the logits of the prior."""


@final
class _RelaxedPrior(nn.Module):
    def __init__(self, latents: DiscreteLatents) -> None:
        super().__init__()
        self._latents, self.logits = latents, latents.make_prior_logits()

    def forward(self, progress: Float[Tensor, ""] | None = None) -> Prior:
        logits, latents = self.logits(), self._latents
        progress = logits.new_ones(()) if progress is None else progress
        return latents.family(logits, temperature_at(latents.temperature, progress, logits), latents.measure)


@final
@dataclass(frozen=True)
class ConcreteLatents(DiscreteLatents):
    """One discrete latent as a Concrete variable. The encoder outputs a logit and z has a column for each category.

    The default temperature is from the examples of the HFVAE authors' library. With the measure "pmf", log q(z | x),
    log q(z) and log p(z) contribute a gradient of mean 0 to the logits; use "summed" to train the logits on these
    terms. With `hard`, the decoder reads the one-hot category, with a straight-through gradient, and minus distortion
    minus rate is a lower bound on log p(x).
    """

    categories: int = 10
    """Number of categories."""
    temperature: Weight = 0.66
    """Temperature of the relaxation, a number or a schedule."""
    measure: Measure = "pmf"
    """Measure of latents: probability of the draw (pmf), mean over values (summed), or Concrete density (density)."""
    prior: CategoricalPriorConfig = field(default_factory=UniformCategories)
    """Prior probabilities of the categories."""
    hard: bool = False
    """Whether the decoder reads one-hot categories, with a straight-through gradient."""

    family: ClassVar[type[Relaxed]] = Concrete

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.categories < 2:
            raise SpecError(
                f"ConcreteLatents: categories is {self.categories}; expected >= 2. Pass e.g. categories=10."
            )
        self.prior.check(self.categories)

    @property
    def num_latents(self) -> int:
        return 1

    @property
    def num_parameters(self) -> int:
        return self.categories

    @property
    def widths(self) -> tuple[int, ...]:
        return (self.categories,)

    @property
    def num_combinations(self) -> int:
        return self.categories if self.measure == "summed" else 1

    def make_prior_logits(self) -> nn.Module:
        return self.prior.make(self.categories)


def temperature_at(temperature: Weight, progress: Float[Tensor, ""], like: Tensor) -> Float[Tensor, ""]:
    """Returns the temperature at the given progress of training, with the dtype and device of `like`."""
    value = value_at(temperature, progress)
    return value.to(like) if isinstance(value, Tensor) else like.new_full((), value)


def log_share(z: Float[Tensor, "*batch category"]) -> Float[Tensor, "*batch category"]:
    """Returns log z, with z clamped to the smallest normal number of the float type."""
    return z.clamp(min=torch.finfo(z.dtype).tiny).log()


def concrete_log_density(
    log_z: Float[Tensor, "*#batch category"], logits: Float[Tensor, "*#batch category"], temperature: Float[Tensor, ""]
) -> Float[Tensor, "*batch"]:
    """Returns the log-density of the Concrete distribution at z, with n categories and temperature t.

    log Gamma(n) + (n - 1) log t + sum_k [l_k - (t + 1) log z_k] - n log sum_k exp(l_k - t log z_k). Maddison et al.,
    arXiv:1611.00712v3; the density of the first n - 1 entries of z. n = 2 is the binary Concrete distribution.
    """
    categories = logits.shape[-1]
    tilted = logits - temperature * log_z
    constant = math.lgamma(categories) + (categories - 1) * temperature.log()
    return constant + (tilted - log_z).sum(dim=-1) - categories * tilted.logsumexp(dim=-1)
