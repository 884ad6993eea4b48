"""What a code looks like before any image is seen."""

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import final

from jaxtyping import Float
from torch import Tensor

from unbraid._internal.arrays import columns
from unbraid.codes import LatentPrior
from unbraid.models.distributions.posteriors.posterior import Posterior


class Prior(ABC):
    """Holds p(z): a record of tensors without state, like a posterior."""

    @abstractmethod
    def log_prob(self, z: Float[Tensor, "batch column"]) -> Float[Tensor, "batch latent"]:
        """Returns log p(z_j) of each latent alone, in nats, not summed: callers choose the axis."""

    @property
    def is_factorized(self) -> bool:
        """Returns whether the latents are independent."""
        return True

    @property
    def summed_log_pmf(self) -> Mapping[int, Float[Tensor, " _category"]]:
        """Returns log p(c) of the discrete latents whose categories an estimate sums over, by number, as in the
        posterior.
        """
        return {}

    def by_category(self) -> "Prior":
        """Returns the prior whose discrete latents count by the probability of their category, whatever the measure."""
        return self

    def joint_log_prob(self, z: Float[Tensor, "batch column"], latents: Sequence[int]) -> Float[Tensor, " batch"]:
        """Returns log p(z_S) of the latents S together: the sum over them, unless the prior correlates them."""
        return columns(self.log_prob(z), latents).sum(dim=1)

    @abstractmethod
    def sample(self, noise: Float[Tensor, "batch column"]) -> Float[Tensor, "batch column"]:
        """Returns codes from the prior, from standard normal noise that the caller made: as many numbers as a code has
        columns.
        """

    @abstractmethod
    def closed_form_kl_from(self, posterior: Posterior) -> Float[Tensor, "batch latent"] | None:
        """Returns KL(q(z | x) || p(z)) per image, spread over the latents so that the sum is right, in nats; None where
        there is no closed form.

        Between products of latents it is KL(q(z_j | x) || p(z_j)), latent by latent.
        """

    def kl_from(self, posterior: Posterior, z: Float[Tensor, "batch column"]) -> Float[Tensor, "batch latent"]:
        """Returns the KL in closed form, or, where there is none, log q(z | x) - log p(z) at the draw `z`: the same on
        average.
        """
        closed = self.closed_form_kl_from(posterior)
        if closed is not None:
            return closed
        each = posterior.log_prob(z) - self.log_prob(z)
        if posterior.is_factorized and self.is_factorized:
            return each
        everything = range(each.shape[1])
        return spread(posterior.joint_log_prob(z, everything) - self.joint_log_prob(z, everything), each)

    def for_codes(self, num_latents: int) -> LatentPrior | None:
        """Returns this prior in plain numbers, as the codes of `num_latents` latents carry it; None where plain numbers
        cannot say what it is, and scores then say what they assumed.
        """
        del num_latents
        return None


def spread(total: Float[Tensor, " batch"], each: Float[Tensor, "batch latent"]) -> Float[Tensor, "batch latent"]:
    """Returns `each`, with what it lacks of the `total` shared equally by all latents.

    A KL between joint distributions is no sum over latents: it is the sum of the KLs between marginals plus what q's
    correlations cost and p's save. That part belongs to no latent more than to another.
    """
    return each + (total - each.sum(dim=1))[:, None] / each.shape[1]


@final
@dataclass(frozen=True)
class StandardNormal(Prior):
    """A prior that is a product: p(z) = prod_j N(z_j; 0, 1)."""

    def log_prob(self, z: Float[Tensor, "batch latent"]) -> Float[Tensor, "batch latent"]:
        return -0.5 * (z.square() + math.log(2 * math.pi))

    def sample(self, noise: Float[Tensor, "batch latent"]) -> Float[Tensor, "batch latent"]:
        return noise

    def closed_form_kl_from(self, posterior: Posterior) -> Float[Tensor, "batch latent"] | None:
        return posterior.kl_to_standard_normal()

    def for_codes(self, num_latents: int) -> LatentPrior:
        return LatentPrior.standard(num_latents)
