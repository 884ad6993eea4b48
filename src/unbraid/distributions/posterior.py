"""What an encoder says of each image of a batch."""

from abc import ABC, abstractmethod

from jaxtyping import Float
from torch import Tensor


class Posterior(ABC):
    """q(z | x) for a batch of images: a record of tensors without state, so that it can live inside `vmap`."""

    @property
    @abstractmethod
    def mean(self) -> Float[Tensor, "batch latent"]: ...

    @abstractmethod
    def rsample(self, noise: Float[Tensor, "batch latent"]) -> Float[Tensor, "batch latent"]:
        """One differentiable draw for each image, from noise that the caller made."""

    @abstractmethod
    def log_prob(self, z: Float[Tensor, "batch latent"]) -> Float[Tensor, "batch latent"]:
        """log q(z_j | x) of each image's own code, in nats. Not summed: callers choose the axis."""

    @abstractmethod
    def pairwise_log_prob(self, z: Float[Tensor, "sample latent"]) -> Float[Tensor, "sample batch latent"]:
        """log q(z_j^(i) | x_n) of every code under every image's posterior, in nats."""
