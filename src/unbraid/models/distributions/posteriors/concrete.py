"""A discrete latent as a Concrete (Gumbel-softmax) variable, and its prior."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal, final

import torch
from jaxtyping import Float
from torch import Tensor, nn

from unbraid.codes import LatentPrior
from unbraid.config.schedule import Weight, extremes, value_at
from unbraid.errors import SpecError
from unbraid.models.distributions import noise as noises
from unbraid.models.distributions.posteriors.latents import Latents, check_combinations
from unbraid.models.distributions.posteriors.posterior import Posterior
from unbraid.models.distributions.priors.categorical_priors import CategoricalPriorConfig, UniformCategories
from unbraid.models.distributions.priors.prior import Prior

Measure = Literal["pmf", "summed", "density"]
"""How a discrete latent counts in estimates: "pmf", by the probability of the category drawn, whose mean gradient to
the logits is 0; "summed", by that probability in the exact mean over all categories, value and gradient; "density", by
the density of the relaxed code.

One of them everywhere: a difference of a probability and a density means nothing.
"""


@dataclass(frozen=True)
class Relaxed(Posterior):
    """A posterior of discrete latents as points between their values, the nearer to one of them the lower the
    temperature is. Each has probabilities in place of a mean and a variance.
    """

    logits: Float[Tensor, "batch parameter"]
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
    def by_category(self) -> "Relaxed":
        return replace(self, measure="pmf")


@final
@dataclass(frozen=True)
class Concrete(Relaxed):
    """A posterior on the simplex, near a corner where the temperature is low: z = softmax((logits + g) / temperature),
    g standard Gumbel.

    Maddison et al., arXiv:1611.00712v3; Jang et al., arXiv:1611.01144v5. The category of z is that of its largest
    entry; its probabilities are softmax(logits) at any temperature.
    """

    @property
    def probabilities(self) -> tuple[Float[Tensor, "batch category"], ...]:
        return (self.logits.softmax(dim=1),)

    @property
    def summed_log_pmf(self) -> Mapping[int, Float[Tensor, "batch category"]]:
        return {0: self.logits.log_softmax(dim=1)} if self.measure == "summed" else {}

    def rsample(self, noise: Float[Tensor, "batch category"]) -> Float[Tensor, "batch category"]:
        return ((self.logits + noises.gumbel(noise)) / self.temperature).softmax(dim=1)

    def log_prob(self, z: Float[Tensor, "batch category"]) -> Float[Tensor, "batch 1"]:
        if self.measure == "density":
            return concrete_log_density(log_share(z), self.logits, self.temperature)[:, None]
        return log_pmf_at(self.logits, z)[:, None]

    def pairwise_log_prob(self, z: Float[Tensor, "sample category"]) -> Float[Tensor, "sample batch 1"]:
        if self.measure == "density":
            return concrete_log_density(log_share(z)[:, None], self.logits[None], self.temperature)[:, :, None]
        # Rows of a table: to gather from it, spread out over all pairs, takes far longer on a GPU.
        return self.logits.log_softmax(dim=1).T[z.argmax(dim=1)][:, :, None]


@final
@dataclass(frozen=True)
class Categorical(Prior):
    """A prior p(z) of a Concrete variable with the same logits for every image, at the posterior's temperature and in
    its measure.
    """

    logits: Float[Tensor, " category"]
    temperature: Float[Tensor, ""]
    measure: Measure

    @property
    def summed_log_pmf(self) -> Mapping[int, Float[Tensor, " category"]]:
        return {0: self.logits.log_softmax(dim=0)} if self.measure == "summed" else {}

    def by_category(self) -> "Categorical":
        return replace(self, measure="pmf")

    def log_prob(self, z: Float[Tensor, "batch category"]) -> Float[Tensor, "batch 1"]:
        return self._like(z).log_prob(z)

    def sample(self, noise: Float[Tensor, "batch category"]) -> Float[Tensor, "batch category"]:
        return self._like(noise).rsample(noise)

    def closed_form_kl_from(self, posterior: Posterior) -> Float[Tensor, "batch 1"] | None:
        """Returns sum_c q_c (log q_c - log p_c), between probabilities. Between Concrete densities no closed form is
        known.
        """
        if not isinstance(posterior, Concrete) or self.measure == "density":
            return None
        log_q = posterior.logits.log_softmax(dim=1)
        return (log_q.exp() * (log_q - self.logits.log_softmax(dim=0))).sum(dim=1, keepdim=True)

    def for_codes(self, num_latents: int) -> LatentPrior:
        del num_latents
        return LatentPrior.from_arrays(probabilities=[self.logits.double().softmax(dim=0)])

    def _like(self, z: Float[Tensor, "batch category"]) -> Concrete:
        return Concrete(self.logits.expand(z.shape), self.temperature, self.measure)


@final
@dataclass(frozen=True)
class ConcreteLatents(Latents):
    """One discrete latent. The encoder puts out a logit for each category, and z has a column for each.

    `temperature` is a number or a schedule; the default, 0.66, is that of the examples of the HFVAE authors' library.
    `measure` says how the latent counts in log q(z | x), log q(z) and log p(z): "pmf", by the probability of the
    category drawn, from which the logits learn nothing on average; "summed", by the exact mean over all categories,
    from which they learn; or "density", by the Concrete density. With `hard` the decoder sees the category, a one among
    zeros, and the gradient passes straight through to the relaxed code; then distortion + rate is a bound.
    """

    categories: int = 10
    """How many categories."""
    temperature: Weight = 0.66
    """How soft the draws are; a number, or a schedule over training."""
    measure: Measure = "pmf"
    """How the latent counts in log q and log p: by the probability of the category drawn, by the mean over all, or by
    the Concrete density.
    """
    prior: CategoricalPriorConfig = field(default_factory=UniformCategories)
    """How likely the categories are before any image is seen."""
    hard: bool = False
    """Whether the decoder sees the category alone and the gradient passes straight through."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.categories < 2:
            raise SpecError(f"ConcreteLatents: categories is {self.categories}; expected 2 or more (10 for digits).")
        check_temperature("ConcreteLatents", self.temperature)
        self.prior.check(self.categories)
        check_combinations(self)

    @property
    def num_latents(self) -> int:
        return 1

    @property
    def num_discrete(self) -> int:
        return 1

    @property
    def num_parameters(self) -> int:
        return self.categories

    @property
    def widths(self) -> tuple[int, ...]:
        return (self.categories,)

    @property
    def hard_latents(self) -> tuple[int, ...]:
        return (0,) if self.hard else ()

    @property
    def num_combinations(self) -> int:
        return self.categories if self.measure == "summed" else 1

    def posterior(self, parameters: Float[Tensor, "batch parameter"], progress: Float[Tensor, ""]) -> Concrete:
        return Concrete(parameters, temperature_at(self.temperature, progress, parameters), self.measure)

    def make_prior(self) -> nn.Module:
        return RelaxedPriorModule(self.prior.make(self.categories), Categorical, self.temperature, self.measure)


@final
class RelaxedPriorModule(nn.Module):
    """A module whose output is a prior with its logits, at the temperature and in the measure of the posterior."""

    def __init__(self, logits: nn.Module, family: Callable[..., Prior], temperature: Weight, measure: Measure) -> None:
        super().__init__()
        self.logits, self._family, self._temperature, self._measure = logits, family, temperature, measure

    def forward(self, progress: Float[Tensor, ""] | None = None) -> Prior:
        logits = self.logits()
        return self._family(logits, temperature_at(self._temperature, progress, logits), self._measure)


def check_temperature(family: str, temperature: Weight) -> None:
    """Raises if a temperature is not positive and finite at every moment."""
    low, high = extremes(temperature)
    if not (low > 0 and math.isfinite(high)):
        raise SpecError(
            f"{family}: temperature is {temperature}; expected a finite number above 0 (such as 0.66) at every moment "
            "of training."
        )


def temperature_at(temperature: Weight, progress: Float[Tensor, ""] | None, like: Tensor) -> Float[Tensor, ""]:
    """Returns the temperature at this moment; at the end of training if none is given."""
    moment = like.new_ones(()) if progress is None else progress
    value = value_at(temperature, moment)
    return value.to(like) if isinstance(value, Tensor) else like.new_full((), value)


def log_share(z: Float[Tensor, "*batch category"]) -> Float[Tensor, "*batch category"]:
    """Returns log z. A share too small for the float type is taken as the least normal number: a density needs a
    logarithm.
    """
    return z.clamp(min=torch.finfo(z.dtype).tiny).log()


def log_pmf_at(
    logits: Float[Tensor, "*#batch category"], z: Float[Tensor, "*#batch category"]
) -> Float[Tensor, "*batch"]:
    """Returns the log-probability of the category with the largest share in z."""
    log_pmf = logits.log_softmax(dim=-1)
    shape = torch.broadcast_shapes(log_pmf.shape, z.shape)
    category = z.argmax(dim=-1, keepdim=True).expand(*shape[:-1], 1)
    return log_pmf.expand(shape).gather(-1, category)[..., 0]


def concrete_log_density(
    log_z: Float[Tensor, "*#batch category"], logits: Float[Tensor, "*#batch category"], temperature: Float[Tensor, ""]
) -> Float[Tensor, "*batch"]:
    """Returns log p(z) = log Gamma(n) + (n - 1) log t + sum_k [l_k - (t + 1) log z_k] - n log sum_k exp(l_k - t log
    z_k), on the simplex.

    Maddison et al., arXiv:1611.00712v3: the density of the first n - 1 shares. With n = 2 it is the binary Concrete.
    """
    categories = logits.shape[-1]
    tilted = logits - temperature * log_z
    constant = math.lgamma(categories) + (categories - 1) * temperature.log()
    return constant + (tilted - log_z).sum(dim=-1) - categories * tilted.logsumexp(dim=-1)
