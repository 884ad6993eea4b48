"""Gaussian latents with correlated noise."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import final

import torch
from jaxtyping import Float
from torch import Tensor

from unbraid._internal.arrays import columns
from unbraid.errors import SpecError
from unbraid.models.distributions.posteriors.gaussian_posterior import GaussianPosterior
from unbraid.models.distributions.posteriors.latents import ContinuousLatents
from unbraid.models.distributions.priors.prior_configs import PriorConfig, StandardNormalPrior

_LOG_2PI = math.log(2 * math.pi)


@final
@dataclass(frozen=True)
class CorrelatedGaussian(GaussianPosterior):
    """A Gaussian posterior with correlated noise: z = loc + std * epsilon with epsilon ~ N(0, (1 - rho) I + rho 11').

    The split-encoder paper (anonymous submission to ICLR 2020), section 5.1. Each latent by itself is as in
    `DiagonalGaussian`. `exact` says whether log q(z | x) and the KL are those of this distribution, or of the product
    of its marginals, with which a model may be trained. What metrics see, `covariance`, is always the truth.
    """

    rho: float
    exact: bool

    @property
    def covariance(self) -> Float[Tensor, "batch latent latent"]:
        std = self.gaussian_std
        return std[:, :, None] * self._correlation() * std[:, None, :]

    @property
    def is_factorized(self) -> bool:
        return not self.exact

    @property
    def density_correlation(self) -> Float[Tensor, "latent latent"] | None:
        return self._correlation() if self.exact else None

    def with_true_density(self) -> "CorrelatedGaussian":
        return self if self.exact else replace(self, exact=True)

    def rsample(self, noise: Float[Tensor, "batch noise"]) -> Float[Tensor, "batch latent"]:
        """Returns one draw for each image. The last number of the noise is the one that all latents share."""
        own, shared = noise[:, :-1], noise[:, -1:]
        return self.loc + self.gaussian_std * (math.sqrt(1 - self.rho) * own + math.sqrt(self.rho) * shared)

    def joint_log_prob(self, z: Float[Tensor, "batch latent"], latents: Sequence[int]) -> Float[Tensor, " batch"]:
        if not self.exact:
            return super().joint_log_prob(z, latents)
        deviation = columns((z - self.loc) * (-0.5 * self.log_var).exp(), latents)
        return _log_density(deviation, self.rho) - 0.5 * columns(self.log_var, latents).sum(dim=1)

    def pairwise_joint_log_prob(
        self, z: Float[Tensor, "sample latent"], latents: Sequence[int]
    ) -> Float[Tensor, "sample batch"]:
        if not self.exact:
            return super().pairwise_joint_log_prob(z, latents)
        log_var = columns(self.log_var, latents)
        deviation = (columns(z, latents)[:, None] - columns(self.loc, latents)) * (-0.5 * log_var).exp()
        return _log_density(deviation, self.rho) - 0.5 * log_var.sum(dim=1)

    def kl_to_standard_normal(self) -> Float[Tensor, "batch latent"]:
        """Returns the diagonal KL; if `exact`, minus log det / 2 of the correlation matrix, an equal share for each
        latent.
        """
        each = self.marginal_kl_to_standard_normal()
        size = each.shape[1]
        return each - 0.5 * equicorrelation_log_det(size, self.rho) / size if self.exact else each

    def _correlation(self) -> Float[Tensor, "latent latent"]:
        size = self.loc.shape[1]
        return (1 - self.rho) * torch.eye(size, dtype=self.loc.dtype, device=self.loc.device) + self.rho


@final
@dataclass(frozen=True)
class CorrelatedGaussianLatents(ContinuousLatents):
    """Gaussian latents whose noise is correlated, every two by `rho`. The encoder puts out all means, then all
    log-variances.

    By default the loss takes log q(z | x) and the KL of independent latents, as when only the noise is replaced; with
    `exact_kl` it takes the true ones. The switch changes the loss alone: what is logged and what metrics see is the
    truth in either case.
    """

    size: int = 10
    """How many latents."""
    rho: float = 0.9
    """Correlation of the noise of every two latents."""
    exact_kl: bool = False
    """Whether the loss takes the true KL in place of that of independent latents."""
    prior: PriorConfig = field(default_factory=StandardNormalPrior)
    """What the latents are distributed like before any image is seen."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 <= self.rho < 1:
            raise SpecError(
                f"CorrelatedGaussianLatents: rho is {self.rho}; expected a correlation from 0 (independent noise) up "
                "to, but not including, 1."
            )

    @property
    def num_noise(self) -> int:
        return self.size + 1

    def posterior(
        self, parameters: Float[Tensor, "batch parameter"], progress: Float[Tensor, ""]
    ) -> CorrelatedGaussian:
        loc, log_var = parameters.chunk(2, dim=1)
        return CorrelatedGaussian(loc, log_var, self.rho, self.exact_kl)


def equicorrelation_log_det(size: int, rho: float) -> float:
    """Returns log det((1 - rho) I + rho 11'): the eigenvalues are 1 + (size - 1) rho, once, and 1 - rho."""
    return (size - 1) * math.log1p(-rho) + math.log1p((size - 1) * rho)


def _log_density(deviation: Float[Tensor, "*batch latent"], rho: float) -> Float[Tensor, "*batch"]:
    """Returns log N(deviation; 0, (1 - rho) I + rho 11'), in nats.

    By Sherman and Morrison the inverse is (I - rho / (1 + (k - 1) rho) 11') / (1 - rho), for k latents.
    """
    size = deviation.shape[-1]
    shared = rho / (1 + (size - 1) * rho)
    distance = (deviation.square().sum(dim=-1) - shared * deviation.sum(dim=-1).square()) / (1 - rho)
    return -0.5 * (distance + equicorrelation_log_det(size, rho) + size * _LOG_2PI)
