"""Gaussian latents with independent or correlated noise."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Self, final

import torch
from jaxtyping import Float
from torch import Tensor

from unbraid._internal.arrays import columns
from unbraid.errors import SpecError
from unbraid.models.distributions.distribution import Posterior
from unbraid.models.distributions.posteriors.latents import ContinuousLatents
from unbraid.models.distributions.priors.prior import PriorConfig, StandardNormalPrior

_LOG_2PI = math.log(2 * math.pi)


@dataclass(frozen=True)
class DiagonalGaussian(Posterior):
    """Factorized Gaussian posterior q(z | x) = prod_j N(z_j; loc_j, exp(log_var_j)).

    The log-variance is stored, so that small scales are not rounded to zero.
    """

    loc: Float[Tensor, "batch latent"]
    log_var: Float[Tensor, "batch latent"]

    @property
    def mean(self) -> Float[Tensor, "batch latent"]:
        return self.loc

    @property
    def gaussian_std(self) -> Float[Tensor, "batch latent"]:
        return (0.5 * self.log_var).exp()

    @property
    def density_correlation(self) -> Float[Tensor, "latent latent"] | None:
        """Correlation matrix of the latents in log q(z | x); None for the identity."""
        return None

    def rsample(self, noise: Float[Tensor, "batch noise"]) -> Float[Tensor, "batch latent"]:
        return self.loc + self.gaussian_std * noise

    def log_prob(self, z: Float[Tensor, "... latent"]) -> Float[Tensor, "... latent"]:
        return -0.5 * ((z - self.loc).square() * (-self.log_var).exp() + self.log_var) - 0.5 * _LOG_2PI

    def kl_to_standard_normal(self) -> Float[Tensor, "batch latent"]:
        """Returns KL(N(m, s^2) || N(0, 1)) = (m^2 + s^2 - log s^2 - 1) / 2, per image and latent, in nats.

        Kingma & Welling, arXiv:1312.6114v10, appendix B.
        """
        return 0.5 * (self.loc.square() + self.log_var.exp() - self.log_var - 1)


@final
@dataclass(frozen=True)
class CorrelatedGaussian(DiagonalGaussian):
    """Gaussian posterior with correlated noise: z = loc + std * epsilon with epsilon ~ N(0, (1 - rho) I + rho 11').

    The split-encoder paper (anonymous submission to ICLR 2020), section 5.1. The marginals equal
    `DiagonalGaussian`. With `exact`, log q(z | x) and the KL refer to the joint distribution, otherwise
    to the product of the marginals, as in the paper's training loss. `covariance` is always the covariance of the
    draws; metrics read it.
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

    def with_true_density(self) -> Self:
        return self if self.exact else replace(self, exact=True)

    def rsample(self, noise: Float[Tensor, "batch noise"]) -> Float[Tensor, "batch latent"]:
        """Returns one draw for each image. The last column of the noise is common to all latents."""
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
        """Returns the KL of the marginals; if `exact`, minus an equal share of log det R / 2 for the correlation R."""
        each = super().kl_to_standard_normal()
        size = each.shape[1]
        return each - 0.5 * equicorrelation_log_det(size, self.rho) / size if self.exact else each

    def _correlation(self) -> Float[Tensor, "latent latent"]:
        size = self.loc.shape[1]
        return (1 - self.rho) * torch.eye(size, dtype=self.loc.dtype, device=self.loc.device) + self.rho


def equicorrelation_log_det(size: int, rho: float) -> float:
    """Returns log det((1 - rho) I + rho 11'), with the eigenvalues 1 + (size - 1) rho (once) and 1 - rho."""
    return (size - 1) * math.log1p(-rho) + math.log1p((size - 1) * rho)


def _log_density(deviation: Float[Tensor, "*batch latent"], rho: float) -> Float[Tensor, "*batch"]:
    """Returns log N(deviation; 0, (1 - rho) I + rho 11'), in nats.

    For k latents the inverse is (I - rho / (1 + (k - 1) rho) 11') / (1 - rho), by the Sherman-Morrison formula.
    """
    size = deviation.shape[-1]
    shared = rho / (1 + (size - 1) * rho)
    distance = (deviation.square().sum(dim=-1) - shared * deviation.sum(dim=-1).square()) / (1 - rho)
    return -0.5 * (distance + equicorrelation_log_det(size, rho) + size * _LOG_2PI)


@final
@dataclass(frozen=True)
class GaussianLatents(ContinuousLatents):
    """Independent Gaussian latents. The encoder outputs all means, then all log-variances."""

    size: int = 10
    """Number of latents."""
    prior: PriorConfig = field(default_factory=StandardNormalPrior)
    """Prior p(z)."""

    def posterior(self, parameters: Float[Tensor, "batch parameter"], progress: Float[Tensor, ""]) -> DiagonalGaussian:
        loc, log_var = parameters.chunk(2, dim=1)
        return DiagonalGaussian(loc, log_var)


@final
@dataclass(frozen=True)
class CorrelatedGaussianLatents(ContinuousLatents):
    """Gaussian latents with noise correlated by `rho`. The encoder outputs all means, then all log-variances.

    By default the loss uses log q(z | x) and the KL of independent latents. With `exact_kl` the loss uses the values of
    the correlated latents, as logged values and metrics always do.
    """

    size: int = 10
    """Number of latents."""
    rho: float = 0.9
    """Correlation of the noise of any two latents."""
    exact_kl: bool = False
    """Whether the loss uses the KL of the correlated latents instead of independent latents."""
    prior: PriorConfig = field(default_factory=StandardNormalPrior)
    """Prior p(z)."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 <= self.rho < 1:
            raise SpecError(
                f"CorrelatedGaussianLatents: rho is {self.rho}; expected a correlation >= 0 and < 1. Pass e.g. "
                "rho=0.9, or rho=0 for independent noise."
            )

    @property
    def num_noise(self) -> int:
        return self.size + 1

    def posterior(
        self, parameters: Float[Tensor, "batch parameter"], progress: Float[Tensor, ""]
    ) -> CorrelatedGaussian:
        loc, log_var = parameters.chunk(2, dim=1)
        return CorrelatedGaussian(loc, log_var, self.rho, self.exact_kl)
