"""The covariance of codes, from a batch or from all batches so far."""

from dataclasses import dataclass
from typing import final

import torch
from jaxtyping import Float
from torch import Tensor

from unbraid.models.distributions.distribution import Posterior


@final
@dataclass(frozen=True)
class Moments:
    """Holds E[z] and E[z z'] of the continuous latents."""

    first: Float[Tensor, " latent"]
    second: Float[Tensor, "latent latent"]

    @property
    def covariance(self) -> Float[Tensor, "latent latent"]:
        """Returns E[z z'] - E[z] E[z]', divided by the number of images (ddof 0)."""
        return self.second - self.first[:, None] * self.first[None, :]


def moments_of_means(posterior: Posterior) -> Moments:
    """Returns the moments of the means, so that their covariance is Cov_x(mean(x))."""
    mean = posterior.mean
    return Moments(mean.mean(dim=0), mean.T @ mean / len(mean))


def moments_of_codes(posterior: Posterior) -> Moments:
    """Returns the moments of the codes.

    Their covariance is Cov_x(mean(x)) + E_x[Cov(z|x)]: that of q(z), by the law of total covariance.
    """
    of_means = moments_of_means(posterior)
    return Moments(of_means.first, of_means.second + expected_covariance(posterior))


def covariance_of_means(posterior: Posterior) -> Float[Tensor, "latent latent"]:
    """Returns Cov_x(mean(x)) over the batch, ddof 0."""
    # Centered first: E[m m'] - E[m] E[m]' cancels in float32 where means are far from zero.
    centered = posterior.mean - posterior.mean.mean(dim=0)
    return centered.T @ centered / len(centered)


def expected_covariance(posterior: Posterior) -> Float[Tensor, "latent latent"]:
    """Returns E_x[Cov(z|x)] over the batch: a diagonal matrix, unless the latents of an image are correlated."""
    if posterior.covariance is not None:
        return posterior.covariance.mean(dim=0)
    assert posterior.gaussian_std is not None
    return torch.diag(posterior.gaussian_std.square().mean(dim=0))


def squared_distances_from_identity(
    covariance: Float[Tensor, "latent latent"],
) -> tuple[Float[Tensor, ""], Float[Tensor, ""]]:
    """Returns sum_{i != j} C_ij^2 and sum_i (C_ii - 1)^2."""
    diagonal = covariance.diagonal()
    return (covariance - torch.diag(diagonal)).square().sum(), (diagonal - 1).square().sum()
