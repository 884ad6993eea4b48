"""Continuous latents whose posterior depends on the category of a discrete latent."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Self, final

import torch
from jaxtyping import Float
from torch import Tensor

from unbraid._internal.arrays import columns
from unbraid.errors import SpecError
from unbraid.models.categories import with_categories
from unbraid.models.distributions.distribution import Posterior, Prior
from unbraid.models.distributions.posteriors.concrete import ConcreteLatents, Relaxed
from unbraid.models.distributions.posteriors.gaussian import DiagonalGaussian, GaussianLatents
from unbraid.models.distributions.posteriors.grouped import LatentsInParts
from unbraid.models.distributions.posteriors.latents import Latents


@final
@dataclass(frozen=True)
class Conditional(Posterior):
    """Posterior q(c | x) q(z | x, c) with a category c and Gaussian latents z whose mean and variance depend on c.

    Given only the image, z is a mixture of Gaussians, so the latents are dependent. `mean` and `std` belong to the
    likeliest category.
    """

    loc: Float[Tensor, "batch category latent"]
    log_var: Float[Tensor, "batch category latent"]
    category: Relaxed

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

    def by_category(self) -> Self:
        return replace(self, category=self.category.by_category())

    def rsample(self, noise: Float[Tensor, "batch noise"]) -> Float[Tensor, "batch column"]:
        """Returns one draw for each image.

        z is drawn given the argmax category of the relaxed draw, with a straight-through gradient.
        """
        _, num_categories, size = self.loc.shape
        relaxed = self.category.rsample(noise[:, size:])
        chosen = with_categories(relaxed, (num_categories,), (0,))
        loc, log_var = (torch.einsum("bkl,bk->bl", table, chosen) for table in (self.loc, self.log_var))
        return torch.cat([DiagonalGaussian(loc, log_var).rsample(noise[:, :size]), relaxed], dim=1)

    def log_prob(self, z: Float[Tensor, "batch column"]) -> Float[Tensor, "batch latent"]:
        """Returns log q(z_j | x) of each latent. For a continuous latent, q(z_j | x) is the mixture over categories."""
        style, shares = self._split(z)
        given = _log_density(style[:, None], self.loc, self.log_var) + self._log_pmf[..., None]
        return torch.cat([given.logsumexp(dim=1), self.category.log_prob(shares)], dim=1)

    def pairwise_log_prob(self, z: Float[Tensor, "sample column"]) -> Float[Tensor, "sample batch latent"]:
        style, shares = self._split(z)
        given = _log_density(style[:, None, None], self.loc, self.log_var) + self._log_pmf[..., None]
        return torch.cat([given.logsumexp(dim=2), self.category.pairwise_log_prob(shares)], dim=2)

    def joint_log_prob(self, z: Float[Tensor, "batch column"], latents: Sequence[int]) -> Float[Tensor, " batch"]:
        style, shares = self._split(z)
        continuous = [latent for latent in latents if latent < style.shape[1]]
        given = columns(_log_density(style[:, None], self.loc, self.log_var), continuous).sum(dim=-1)
        if len(continuous) == len(latents):
            return (given + self._log_pmf).logsumexp(dim=1)
        return given.gather(1, shares.argmax(dim=1, keepdim=True))[:, 0] + self.category.log_prob(shares)[:, 0]

    def pairwise_joint_log_prob(
        self, z: Float[Tensor, "sample column"], latents: Sequence[int]
    ) -> Float[Tensor, "sample batch"]:
        style, shares = self._split(z)
        continuous = [latent for latent in latents if latent < style.shape[1]]
        if len(continuous) == len(latents):
            given = columns(_log_density(style[:, None, None], self.loc, self.log_var), continuous).sum(dim=-1)
            return (given + self._log_pmf).logsumexp(dim=2)
        # Only the parameters of each code's category, which needs less memory than all categories.
        loc, log_var = (table.transpose(0, 1)[shares.argmax(dim=1)] for table in (self.loc, self.log_var))
        given = columns(_log_density(style[:, None], loc, log_var), continuous).sum(dim=-1)
        return given + self.category.pairwise_log_prob(shares)[..., 0]

    def kl_to_product(self, priors: Sequence[Prior]) -> Float[Tensor, "batch latent"] | None:
        """Returns sum_c q(c | x) KL(q(z_j | x, c) || p(z_j)) of the continuous latents, and KL(q(c | x) || p(c)).

        The entries sum to the KL between the joint distributions. Returns None if a term has no closed form.
        """
        style, category = priors
        of_category = category.closed_form_kl_from(self.category)
        # Rows are (image, category) pairs, sorted by image.
        of_style = style.closed_form_kl_from(DiagonalGaussian(self.loc.flatten(0, 1), self.log_var.flatten(0, 1)))
        if of_category is None or of_style is None:
            return None
        mean = torch.einsum("bkl,bk->bl", of_style.unflatten(0, self.loc.shape[:2]), self.probabilities[0])
        return torch.cat([mean, of_category], dim=1)

    @property
    def _log_pmf(self) -> Float[Tensor, "batch category"]:
        return self.category.logits.log_softmax(dim=1)

    def _split(
        self, z: Float[Tensor, "code column"]
    ) -> tuple[Float[Tensor, "code latent"], Float[Tensor, "code category"]]:
        """Splits z into the columns of the continuous latents and the columns of the categories."""
        size = self.loc.shape[2]
        return z[:, :size], z[:, size:]

    def _at_likeliest(self, table: Float[Tensor, "batch category latent"]) -> Float[Tensor, "batch latent"]:
        index = self.category.logits.argmax(dim=1)[:, None, None].expand(-1, 1, table.shape[2])
        return table.gather(1, index)[:, 0]


@final
@dataclass(frozen=True)
class ConditionalLatents(LatentsInParts):
    """One discrete latent c, and Gaussian latents z that depend on its category: q(c | x) q(z | x, c).

    The prior is p(c) p(z), and c and z are separate groups. The encoder outputs the means of z for every category, the
    log-variances of z for every category, and the logits of c. In draws, z depends on the one-hot category; in the
    library of Esmaeili et al., arXiv:1804.02086v1, z depends on the relaxed category. Metrics read q(z | x, c) for the
    likeliest c.
    """

    style: GaussianLatents = field(default_factory=GaussianLatents)
    """Continuous latents z."""
    category: ConcreteLatents = field(default_factory=ConcreteLatents)
    """Discrete latent c, on which z depends."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.category.measure == "summed":
            raise SpecError(
                'ConditionalLatents: category has the measure "summed"; expected "pmf" or "density", because the other '
                'latents depend on the category. Pass category=ConcreteLatents(measure="pmf").'
            )

    @property
    def parts(self) -> tuple[Latents, ...]:
        return self.style, self.category

    @property
    def num_parameters(self) -> int:
        return self.category.categories * (self.style.num_parameters + 1)

    def posterior(self, parameters: Float[Tensor, "batch parameter"], progress: Float[Tensor, ""]) -> Conditional:
        num_categories = self.category.categories
        numbers, logits = parameters.split([num_categories * self.style.num_parameters, num_categories], dim=1)
        loc, log_var = numbers.unflatten(1, (2, num_categories, self.style.size)).unbind(dim=1)
        return Conditional(loc, log_var, self.category.posterior(logits, progress))


def _log_density(
    z: Float[Tensor, "*#batch latent"], loc: Float[Tensor, "*#batch latent"], log_var: Float[Tensor, "*#batch latent"]
) -> Float[Tensor, "*batch latent"]:
    """Returns log N(z; loc, exp(log_var)) elementwise."""
    return -0.5 * ((z - loc).square() * (-log_var).exp() + log_var + math.log(2 * math.pi))
