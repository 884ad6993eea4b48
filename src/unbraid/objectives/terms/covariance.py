"""Covariance of the codes of a batch."""

from typing import Literal

import torch
from jaxtyping import Float
from torch import Tensor

from unbraid.models.distributions.distribution import Posterior

Kind = Literal["i", "ii"]
"""Covariance of the means (i) or of the codes (ii)."""


def covariance_of_means(posterior: Posterior) -> Float[Tensor, "latent latent"]:
    """Returns the covariance of the posterior means over the batch, with ddof 0."""
    # Centered first, because E[m m'] - E[m] E[m]' cancels in float32 if means are far from zero.
    centered = posterior.mean - posterior.mean.mean(dim=0)
    return centered.T @ centered / len(centered)


def expected_covariance(posterior: Posterior) -> Float[Tensor, "latent latent"]:
    """Returns the mean of Cov(z|x) over the batch, a diagonal matrix unless q(z|x) is correlated."""
    if posterior.covariance is not None:
        return posterior.covariance.mean(dim=0)
    assert posterior.gaussian_std is not None
    return torch.diag(posterior.gaussian_std.square().mean(dim=0))


def covariance_of_batch(posterior: Posterior, kind: Kind) -> Float[Tensor, "latent latent"]:
    """Returns the covariance of the means ("i") or of the codes ("ii"), by the law of total covariance."""
    of_means = covariance_of_means(posterior)
    return of_means if kind == "i" else of_means + expected_covariance(posterior)


def squared_distances_from_identity(
    covariance: Float[Tensor, "latent latent"],
) -> tuple[Float[Tensor, ""], Float[Tensor, ""]]:
    """Returns sum_{i != j} C_ij^2 and sum_i (C_ii - 1)^2."""
    diagonal = covariance.diagonal()
    return (covariance - torch.diag(diagonal)).square().sum(), (diagonal - 1).square().sum()
