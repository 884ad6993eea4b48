"""What an encoder says of each image of a batch."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence

from jaxtyping import Float
from torch import Tensor

from unbraid._internal.arrays import columns


class Posterior(ABC):
    """Holds q(z | x) for a batch of images: a record of tensors without state, so that it can live inside `vmap`.

    A latent is one variable. It takes one column of z, or several: a discrete latent has a column for each category.
    Metrics take `mean` and `gaussian_std` (or `covariance`) of the continuous latents, and `probabilities` of the
    discrete ones, a table each.
    """

    @property
    @abstractmethod
    def mean(self) -> Float[Tensor, "batch continuous_latent"]: ...

    @property
    def gaussian_std(self) -> Float[Tensor, "batch continuous_latent"] | None:
        """The standard deviation of each continuous latent; None where the family is not Gaussian, so that only draws
        show its shape.
        """
        return None

    @property
    def std(self) -> Float[Tensor, "batch continuous_latent"] | None:
        """The standard deviation of each continuous latent, Gaussian or not; None where there is no closed form."""
        return self.gaussian_std

    @property
    def covariance(self) -> Float[Tensor, "batch continuous_latent continuous_latent"] | None:
        """Returns the covariance where the continuous latents of an image are correlated, else None."""
        return None

    @property
    def probabilities(self) -> tuple[Float[Tensor, "batch _category"], ...]:
        return ()

    @property
    def is_factorized(self) -> bool:
        """Returns whether the latents of an image are independent, so that a joint density is the product of theirs."""
        return True

    @property
    def summed_log_pmf(self) -> Mapping[int, Float[Tensor, "batch _category"]]:
        """Returns log q(c | x) of the discrete latents whose categories an estimate sums over, by number. By default
        there are none: a latent counts by its draw.
        """
        return {}

    def with_true_density(self) -> "Posterior":
        """Returns the posterior whose density is that of its draws: itself, unless a family trains with another
        density.
        """
        return self

    def by_category(self) -> "Posterior":
        """Returns the posterior whose discrete latents count by the probability of their category, whatever the
        measure.
        """
        return self

    def kl_to_standard_normal(self) -> Float[Tensor, "batch latent"] | None:
        """Returns KL(q(z | x) || N(0, I)) per image, spread over the latents so that the sum is right, in nats; None
        where there is no closed form.
        """
        return None

    @abstractmethod
    def rsample(self, noise: Float[Tensor, "batch noise"]) -> Float[Tensor, "batch column"]:
        """Returns one differentiable draw for each image, from standard normal noise that the caller made."""

    @abstractmethod
    def log_prob(self, z: Float[Tensor, "batch column"]) -> Float[Tensor, "batch latent"]:
        """Returns log q(z_j | x) of each image's own code, in nats, not summed: callers choose the axis."""

    @abstractmethod
    def pairwise_log_prob(self, z: Float[Tensor, "sample column"]) -> Float[Tensor, "sample batch latent"]:
        """Returns log q(z_j^(i) | x_n) of every code under every image's posterior, in nats."""

    def joint_log_prob(self, z: Float[Tensor, "batch column"], latents: Sequence[int]) -> Float[Tensor, " batch"]:
        """Returns log q(z_S | x) of the latents S together: the sum over them, unless they are correlated given the
        image.
        """
        return columns(self.log_prob(z), latents).sum(dim=1)

    def pairwise_joint_log_prob(
        self, z: Float[Tensor, "sample column"], latents: Sequence[int]
    ) -> Float[Tensor, "sample batch"]:
        """Returns log q(z_S^(i) | x_n) of the latents S together."""
        return columns(self.pairwise_log_prob(z), latents).sum(dim=2)
