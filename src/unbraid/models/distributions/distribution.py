"""Posteriors q(z | x) and priors p(z): stateless records of tensors, for use inside `vmap`."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, Self, final

from jaxtyping import Float
from torch import Tensor, nn

from unbraid._internal.arrays import columns
from unbraid.codes import LatentPrior


class Distribution(ABC):
    """A distribution of codes: q(z | x) of each image of a batch, or p(z).

    A latent is one variable. It has one column of z, except that a discrete latent has a column for each category.
    """

    @property
    def is_factorized(self) -> bool:
        """Whether the latents (of an image) are independent, so that joint densities are products."""
        return True

    @property
    def summed_log_pmf(self) -> Mapping[int, Float[Tensor, "*batch _category"]]:
        """The log-probabilities of the discrete latents that estimates sum over, by latent index.

        Empty by default: estimates use the draw of each latent.
        """
        return {}

    def by_category(self) -> Self:
        """Returns the distribution with the measure "pmf" for discrete latents, the probability of a category."""
        return self

    @abstractmethod
    def log_prob(self, z: Float[Tensor, "... column"]) -> Float[Tensor, "... latent"]:
        """Returns log q(z_j | x) of each image's code, or log p(z_j), separately for each latent, in nats.

        Callers choose the axis to sum over. Axes of `z` before the batch axis broadcast.
        """

    def joint_log_prob(self, z: Float[Tensor, "batch column"], latents: Sequence[int]) -> Float[Tensor, " batch"]:
        """Returns the joint log-density of the given latents: the sum over them, unless they are correlated."""
        return columns(self.log_prob(z), latents).sum(dim=1)


class Posterior(Distribution):
    """A posterior q(z | x) for a batch of images.

    Metrics read `mean` and `gaussian_std` (or `covariance`) of the continuous latents, and one table of `probabilities`
    per discrete latent.
    """

    @property
    @abstractmethod
    def mean(self) -> Float[Tensor, "batch continuous_latent"]: ...

    @property
    def gaussian_std(self) -> Float[Tensor, "batch continuous_latent"] | None:
        """The standard deviation of each Gaussian latent; None for other families."""
        return None

    @property
    def std(self) -> Float[Tensor, "batch continuous_latent"] | None:
        """The standard deviation of each continuous latent; None without a closed form."""
        return self.gaussian_std

    @property
    def covariance(self) -> Float[Tensor, "batch continuous_latent continuous_latent"] | None:
        """The covariance where the continuous latents of an image are correlated, else None."""
        return None

    @property
    def probabilities(self) -> tuple[Float[Tensor, "batch _category"], ...]:
        return ()

    def with_true_density(self) -> Self:
        """Returns the posterior with the density of its draws. By default this is the posterior itself."""
        return self

    def kl_to_standard_normal(self) -> Float[Tensor, "batch latent"] | None:
        """Returns KL(q(z | x) || N(0, I)) as `Prior.closed_form_kl_from` does; None without a closed form."""
        return None

    def kl_to_product(self, priors: Sequence["Prior"]) -> Float[Tensor, "batch latent"] | None:
        """Returns the KL to the product of these priors, one for each part of the posterior.

        None without a closed form, or for a posterior without parts.
        """
        del priors
        return None

    @abstractmethod
    def rsample(self, noise: Float[Tensor, "batch noise"]) -> Float[Tensor, "batch column"]:
        """Returns one differentiable draw for each image, computed from standard normal noise."""

    def pairwise_log_prob(self, z: Float[Tensor, "sample column"]) -> Float[Tensor, "sample batch latent"]:
        """Returns log q(z_j^(i) | x_n) of every code under every image's posterior, in nats."""
        return self.log_prob(z[:, None])

    def pairwise_joint_log_prob(
        self, z: Float[Tensor, "sample column"], latents: Sequence[int]
    ) -> Float[Tensor, "sample batch"]:
        """Returns the joint log-density log q(z_S^(i) | x_n) of the latents S."""
        return columns(self.pairwise_log_prob(z), latents).sum(dim=2)


class Prior(Distribution):
    """A prior p(z)."""

    @abstractmethod
    def sample(self, noise: Float[Tensor, "batch column"]) -> Float[Tensor, "batch column"]:
        """Returns codes computed from standard normal noise of the same shape."""

    def closed_form_kl_from(self, posterior: Posterior) -> Float[Tensor, "batch latent"] | None:
        """Returns KL(q(z | x) || p(z)) in nats per image and latent, or None (the default) without a closed form.

        For factorized q and p, entry j is KL(q(z_j | x) || p(z_j)). Otherwise the joint KL is spread over the latents,
        so that the entries sum to it.
        """
        del posterior
        return None

    def kl_from(self, posterior: Posterior, z: Float[Tensor, "batch column"]) -> Float[Tensor, "batch latent"]:
        """Returns the KL in closed form, or else its unbiased estimate log q(z | x) - log p(z) at the draw `z`."""
        closed = self.closed_form_kl_from(posterior)
        if closed is not None:
            return closed
        each = posterior.log_prob(z) - self.log_prob(z)
        if posterior.is_factorized and self.is_factorized:
            return each
        everything = range(each.shape[1])
        return spread(posterior.joint_log_prob(z, everything) - self.joint_log_prob(z, everything), each)

    def for_codes(self, num_latents: int) -> LatentPrior | None:
        """Returns this prior as a `LatentPrior` for codes of `num_latents` latents.

        Returns None, the default, if `LatentPrior` cannot represent it; scores then name the prior that they assume.
        """
        del num_latents
        return None


def spread(total: Float[Tensor, " batch"], each: Float[Tensor, "batch latent"]) -> Float[Tensor, "batch latent"]:
    """Returns `each` plus an equal share per latent of the rest of the `total`.

    A KL between joint distributions is the sum of the KLs between marginals plus the cost of the correlations of q and
    minus the cost of the correlations of p. These correlation terms belong to all latents equally.
    """
    return each + (total - each.sum(dim=1))[:, None] / each.shape[1]


@final
class Fixed(nn.Module):
    """A module without weights whose output is always the given value."""

    def __init__(self, value: Any) -> None:
        super().__init__()
        self._value = value

    def forward(self, progress: Tensor | None = None) -> Any:
        del progress
        return self._value
