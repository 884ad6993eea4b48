"""Continuous latents whose posterior depends on the category that was drawn."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import final

import torch
from jaxtyping import Float
from torch import Tensor, nn

from unbraid._internal.arrays import columns
from unbraid.codes import LatentPrior
from unbraid.errors import SpecError
from unbraid.models.distributions.posteriors.categories import with_categories
from unbraid.models.distributions.posteriors.concrete import Concrete, ConcreteLatents
from unbraid.models.distributions.posteriors.diagonal_gaussian import DiagonalGaussian
from unbraid.models.distributions.posteriors.grouped import GroupedLatents, GroupedPrior
from unbraid.models.distributions.posteriors.latents import GaussianLatents, Latents
from unbraid.models.distributions.posteriors.posterior import Posterior
from unbraid.models.distributions.priors.prior import Prior


@final
@dataclass(frozen=True)
class Conditional(Posterior):
    """A posterior q(c | x) q(z | x, c): a category, and Gaussian latents with a mean and a variance for each category.

    Of one image the latents are dependent: z without the category is a mixture of Gaussians. `mean` and `std` are those
    of the likeliest category.
    """

    loc: Float[Tensor, "batch category latent"]
    log_var: Float[Tensor, "batch category latent"]
    category: Concrete

    @property
    def mean(self) -> Float[Tensor, "batch latent"]:
        return self._at_likeliest(self.loc)

    @property
    def gaussian_std(self) -> Float[Tensor, "batch latent"]:
        return (0.5 * self._at_likeliest(self.log_var)).exp()

    @property
    def probabilities(self) -> tuple[Float[Tensor, "batch category"], ...]:
        return self.category.probabilities

    @property
    def is_factorized(self) -> bool:
        return False

    def by_category(self) -> "Conditional":
        return replace(self, category=replace(self.category, measure="pmf"))

    def rsample(self, noise: Float[Tensor, "batch noise"]) -> Float[Tensor, "batch column"]:
        """Returns one draw for each image. z is drawn given the category of the relaxed draw; the gradient passes
        straight through to the relaxation.
        """
        size, num_categories = self.loc.shape[2], self.loc.shape[1]
        relaxed = self.category.rsample(noise[:, size:])
        chosen = with_categories(relaxed, (num_categories,), (0,))
        loc, log_var = (torch.einsum("bkl,bk->bl", table, chosen) for table in (self.loc, self.log_var))
        return torch.cat([DiagonalGaussian(loc, log_var).rsample(noise[:, :size]), relaxed], dim=1)

    def log_prob(self, z: Float[Tensor, "batch column"]) -> Float[Tensor, "batch latent"]:
        """Returns log q(z_j | x) of each latent alone: of a continuous one that of the mixture over the categories."""
        given = self._given_each(z) + self._log_pmf[..., None]
        return torch.cat([given.logsumexp(dim=1), self.category.log_prob(self._shares(z))], dim=1)

    def pairwise_log_prob(self, z: Float[Tensor, "sample column"]) -> Float[Tensor, "sample batch latent"]:
        given = self._pairs_given_each(z) + self._log_pmf[..., None]
        return torch.cat([given.logsumexp(dim=2), self.category.pairwise_log_prob(self._shares(z))], dim=2)

    def joint_log_prob(self, z: Float[Tensor, "batch column"], latents: Sequence[int]) -> Float[Tensor, " batch"]:
        continuous = self._continuous(latents)
        given = columns(self._given_each(z), continuous).sum(dim=-1)
        if len(continuous) == len(latents):
            return (given + self._log_pmf).logsumexp(dim=1)
        shares = self._shares(z)
        return given.gather(1, shares.argmax(dim=1, keepdim=True))[:, 0] + self.category.log_prob(shares)[:, 0]

    def pairwise_joint_log_prob(
        self, z: Float[Tensor, "sample column"], latents: Sequence[int]
    ) -> Float[Tensor, "sample batch"]:
        continuous = self._continuous(latents)
        if len(continuous) == len(latents):
            given = columns(self._pairs_given_each(z), continuous).sum(dim=-1)
            return (given + self._log_pmf).logsumexp(dim=2)
        shares = self._shares(z)
        # Of every image the row of the category of each code: fewer numbers than those of all categories.
        loc, log_var = (table.transpose(0, 1)[shares.argmax(dim=1)] for table in (self.loc, self.log_var))
        given = columns(_log_density(z[:, None, : self.loc.shape[2]], loc, log_var), continuous).sum(dim=-1)
        return given + self.category.pairwise_log_prob(shares)[..., 0]

    def given_category(self) -> DiagonalGaussian:
        """Returns q(z | x, c) for every category of every image: a row for each, those of an image together."""
        return DiagonalGaussian(self.loc.flatten(0, 1), self.log_var.flatten(0, 1))

    def _continuous(self, latents: Sequence[int]) -> list[int]:
        return [latent for latent in latents if latent < self.loc.shape[2]]

    @property
    def _log_pmf(self) -> Float[Tensor, "batch category"]:
        return self.category.logits.log_softmax(dim=1)

    def _shares(self, z: Float[Tensor, "code column"]) -> Float[Tensor, "code category"]:
        return z[:, self.loc.shape[2] :]

    def _at_likeliest(self, table: Float[Tensor, "batch category latent"]) -> Float[Tensor, "batch latent"]:
        index = self.category.logits.argmax(dim=1)[:, None, None].expand(-1, 1, table.shape[2])
        return table.gather(1, index)[:, 0]

    def _given_each(self, z: Float[Tensor, "batch column"]) -> Float[Tensor, "batch category latent"]:
        """Returns log q(z_j | x, c) of each continuous latent, for every category."""
        return _log_density(z[:, None, : self.loc.shape[2]], self.loc, self.log_var)

    def _pairs_given_each(self, z: Float[Tensor, "sample column"]) -> Float[Tensor, "sample batch category latent"]:
        return _log_density(z[:, None, None, : self.loc.shape[2]], self.loc, self.log_var)


@final
@dataclass(frozen=True)
class ConditionalPrior(Prior):
    """A prior p(c) p(z): the category and the continuous latents are independent."""

    product: GroupedPrior

    @property
    def is_factorized(self) -> bool:
        return self.product.is_factorized

    def by_category(self) -> "ConditionalPrior":
        return replace(self, product=self.product.by_category())

    def log_prob(self, z: Float[Tensor, "batch column"]) -> Float[Tensor, "batch latent"]:
        return self.product.log_prob(z)

    def joint_log_prob(self, z: Float[Tensor, "batch column"], latents: Sequence[int]) -> Float[Tensor, " batch"]:
        return self.product.joint_log_prob(z, latents)

    def sample(self, noise: Float[Tensor, "batch column"]) -> Float[Tensor, "batch column"]:
        return self.product.sample(noise)

    def closed_form_kl_from(self, posterior: Posterior) -> Float[Tensor, "batch latent"] | None:
        """Returns sum_c q(c | x) KL(q(z_j | x, c) || p(z_j)) of the continuous latents, and KL(q(c | x) || p(c)): their
        sum is the KL between the joint distributions. None where one of them has no closed form.
        """
        if not isinstance(posterior, Conditional):
            return None
        style, category = self.product.parts
        of_category = category.closed_form_kl_from(posterior.category)
        of_style = style.closed_form_kl_from(posterior.given_category())
        if of_category is None or of_style is None:
            return None
        probabilities = posterior.probabilities[0]
        mean = torch.einsum("bkl,bk->bl", of_style.unflatten(0, posterior.loc.shape[:2]), probabilities)
        return torch.cat([mean, of_category], dim=1)

    def for_codes(self, num_latents: int) -> LatentPrior | None:
        return self.product.for_codes(num_latents)


@final
@dataclass(frozen=True)
class ConditionalLatents(Latents):
    """One discrete latent and Gaussian ones whose posterior depends on its category: q(c | x) q(z | x, c). The prior is
    a product, p(c) p(z), and both are groups of their own, as in `GroupedLatents`.

    The encoder puts out the means of z for every category, the log-variances alike, and the logits of the category. In
    a draw z reads the category itself; in the library of Esmaeili et al., arXiv:1804.02086v1, it reads the relaxed one.
    What metrics see of z is q(z | x, c) of the likeliest category.
    """

    style: GaussianLatents = field(default_factory=GaussianLatents)
    """The continuous latents."""
    category: ConcreteLatents = field(default_factory=ConcreteLatents)
    """The discrete latent that they read."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.category.measure == "summed":
            raise SpecError(
                'ConditionalLatents: with the measure "summed" an estimate sums over the categories given the other '
                'latents, which here depend on the category. Use measure="pmf" or "density".'
            )

    @property
    def num_latents(self) -> int:
        return self.style.size + 1

    @property
    def num_discrete(self) -> int:
        return 1

    @property
    def num_parameters(self) -> int:
        return self.category.categories * (self.style.num_parameters + 1)

    @property
    def widths(self) -> tuple[int, ...]:
        return (*self.style.widths, *self.category.widths)

    @property
    def groups(self) -> tuple[tuple[int, ...], ...]:
        return self.independent.groups

    @property
    def hard_latents(self) -> tuple[int, ...]:
        return self.independent.hard_latents

    @property
    def prior_is_bounded(self) -> bool:
        return self.style.prior_is_bounded

    @property
    def independent(self) -> GroupedLatents:
        """Returns the same latents without the dependence."""
        return GroupedLatents((self.style, self.category))

    def posterior(self, parameters: Float[Tensor, "batch parameter"], progress: Float[Tensor, ""]) -> Conditional:
        num_categories = self.category.categories
        numbers, logits = parameters.split([num_categories * self.style.num_parameters, num_categories], dim=1)
        loc, log_var = numbers.unflatten(1, (2, num_categories, self.style.size)).unbind(dim=1)
        return Conditional(loc, log_var, self.category.posterior(logits, progress))

    def make_prior(self) -> nn.Module:
        return _ConditionalPriorModule(self.independent)


@final
class _ConditionalPriorModule(nn.Module):
    def __init__(self, latents: GroupedLatents) -> None:
        super().__init__()
        self.product = latents.make_prior()

    def forward(self, progress: Float[Tensor, ""] | None = None) -> ConditionalPrior:
        return ConditionalPrior(self.product(progress))


def _log_density(
    z: Float[Tensor, "*#batch latent"], loc: Float[Tensor, "*#batch latent"], log_var: Float[Tensor, "*#batch latent"]
) -> Float[Tensor, "*batch latent"]:
    """Returns log N(z; loc, exp(log_var)), number by number."""
    return -0.5 * ((z - loc).square() * (-log_var).exp() + log_var + math.log(2 * math.pi))
