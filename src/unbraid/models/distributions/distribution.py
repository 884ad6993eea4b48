"""Base classes of posteriors q(z | x) and priors p(z), immutable and compatible with `vmap`."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, Self, final

from jaxtyping import Float
from torch import Tensor, nn

from unbraid._internal.arrays import columns
from unbraid.codes import LatentPrior


class Distribution(ABC):
    """Distribution of codes: q(z | x) for each image of a batch, or p(z).

    A continuous latent has one column of z, and a discrete latent one column for each category.
    """

    @property
    def is_factorized(self) -> bool:
        """Whether the latents are independent, given the image for a posterior."""
        return True

    @property
    def summed_log_pmf(self) -> Mapping[int, Float[Tensor, "*batch _category"]]:
        """Log-probabilities of the discrete latents whose categories are summed in estimates, by latent index.

        Empty by default: estimates use draws.
        """
        return {}

    def by_category(self) -> Self:
        """Returns the distribution with the measure "pmf" for discrete latents."""
        return self

    @abstractmethod
    def log_prob(self, z: Float[Tensor, "... column"]) -> Float[Tensor, "... latent"]:
        """Returns log q(z_j | x) or log p(z_j) of each code and latent, in nats.

        The values are not summed over latents. Axes of `z` before the batch axis broadcast.
        """

    def joint_log_prob(self, z: Float[Tensor, "batch column"], latents: Sequence[int]) -> Float[Tensor, " batch"]:
        """Returns the joint log-density of the given latents, by default the sum of `log_prob` over the latents."""
        return columns(self.log_prob(z), latents).sum(dim=1)


class Posterior(Distribution):
    """Base class of posteriors q(z | x) of a batch of images.

    Metrics read `mean` and `gaussian_std` or `covariance` of the continuous latents, and a table of `probabilities` for
    each discrete latent.
    """

    @property
    @abstractmethod
    def mean(self) -> Float[Tensor, "batch continuous_latent"]: ...

    @property
    def gaussian_std(self) -> Float[Tensor, "batch continuous_latent"] | None:
        """Standard deviation of each Gaussian latent; None for other families."""
        return None

    @property
    def std(self) -> Float[Tensor, "batch continuous_latent"] | None:
        """Standard deviation of each continuous latent; None without a closed form."""
        return self.gaussian_std

    @property
    def covariance(self) -> Float[Tensor, "batch continuous_latent continuous_latent"] | None:
        """Covariance of the continuous latents given the image; None if the latents are independent."""
        return None

    @property
    def probabilities(self) -> tuple[Float[Tensor, "batch _category"], ...]:
        return ()

    def with_true_density(self) -> Self:
        """Returns the posterior with the density of its draws, by default itself."""
        return self

    def kl_to_standard_normal(self) -> Float[Tensor, "batch latent"] | None:
        """Returns KL(q(z | x) || N(0, I)) as in `Prior.closed_form_kl_from`; None without a closed form."""
        return None

    def kl_to_product(self, priors: Sequence["Prior"]) -> Float[Tensor, "batch latent"] | None:
        """Returns the KL to the product of the priors, one for each part of the posterior.

        Returns None without a closed form, or if the posterior has no parts.
        """
        del priors
        return None

    @abstractmethod
    def rsample(self, noise: Float[Tensor, "batch noise"]) -> Float[Tensor, "batch column"]:
        """Returns one reparameterized draw for each image, computed from standard normal noise."""

    def pairwise_log_prob(self, z: Float[Tensor, "sample column"]) -> Float[Tensor, "sample batch latent"]:
        """Returns log q(z_j^(i) | x_n) of every code i under the posterior of every image n, in nats."""
        return self.log_prob(z[:, None])

    def pairwise_joint_log_prob(
        self, z: Float[Tensor, "sample column"], latents: Sequence[int]
    ) -> Float[Tensor, "sample batch"]:
        """Returns the joint log-density log q(z_S^(i) | x_n) of the latents S for every code i and image n."""
        return columns(self.pairwise_log_prob(z), latents).sum(dim=2)


class Prior(Distribution):
    """Base class of priors p(z)."""

    @abstractmethod
    def sample(self, noise: Float[Tensor, "batch column"]) -> Float[Tensor, "batch column"]:
        """Returns draws of codes, computed from standard normal noise of the same shape."""

    def closed_form_kl_from(self, posterior: Posterior) -> Float[Tensor, "batch latent"] | None:
        """Returns KL(q(z | x) || p(z)) in nats per image and latent, or None (the default) without a closed form.

        For factorized q and p, entry j is KL(q(z_j | x) || p(z_j)). Otherwise the entries sum to the joint KL.
        """
        del posterior
        return None

    def kl_from(self, posterior: Posterior, z: Float[Tensor, "batch column"]) -> Float[Tensor, "batch latent"]:
        """Returns the KL in closed form if available, otherwise the unbiased estimate log q(z | x) - log p(z)."""
        closed = self.closed_form_kl_from(posterior)
        if closed is not None:
            return closed
        each = posterior.log_prob(z) - self.log_prob(z)
        if posterior.is_factorized and self.is_factorized:
            return each
        everything = range(each.shape[1])
        return spread(posterior.joint_log_prob(z, everything) - self.joint_log_prob(z, everything), each)

    def for_codes(self, num_latents: int) -> LatentPrior | None:
        """Converts the prior to a `LatentPrior` for codes of `num_latents` latents.

        Returns None, the default, if `LatentPrior` cannot represent the prior. Scores then report an assumed prior.
        """
        del num_latents
        return None


def spread(total: Float[Tensor, " batch"], each: Float[Tensor, "batch latent"]) -> Float[Tensor, "batch latent"]:
    """Adds an equal share of the difference between `total` and the sum of `each` to every latent.

    A KL between joint distributions differs from the sum of the KLs between marginals by terms of correlations. These
    terms are divided equally between the latents.
    """
    return each + (total - each.sum(dim=1))[:, None] / each.shape[1]


@final
class Fixed(nn.Module):
    """Module without weights that always outputs the given value."""

    def __init__(self, value: Any) -> None:
        super().__init__()
        self._value = value

    def forward(self, progress: Tensor | None = None) -> Any:
        del progress
        return self._value
