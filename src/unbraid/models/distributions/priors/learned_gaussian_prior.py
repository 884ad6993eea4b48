"""Gaussian prior with learned correlations of latents."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.functional import softplus

from unbraid._internal.arrays import columns
from unbraid._internal.device import widest
from unbraid.codes import LatentPrior
from unbraid.models.distributions.distribution import Posterior, Prior, spread
from unbraid.models.distributions.posteriors.gaussian import DiagonalGaussian
from unbraid.models.distributions.priors.prior import PriorConfig

_LOG_2PI = math.log(2 * math.pi)


@final
@dataclass(frozen=True)
class FullGaussian(Prior):
    """Gaussian prior with correlated latents, p(z) = N(z; loc, L L'), where L is lower triangular."""

    loc: Float[Tensor, " latent"]
    scale_tril: Float[Tensor, "latent latent"]

    @property
    def is_factorized(self) -> bool:
        return False

    def log_prob(self, z: Float[Tensor, "batch latent"]) -> Float[Tensor, "batch latent"]:
        """Returns the log-densities of the marginals N(loc_j, (L L')_jj)."""
        variance = self._variance()
        return -0.5 * ((z - self.loc).square() / variance + variance.log() + _LOG_2PI)

    def joint_log_prob(self, z: Float[Tensor, "batch latent"], latents: Sequence[int]) -> Float[Tensor, " batch"]:
        chosen = list(latents)
        if chosen == list(range(len(chosen))):
            # The Cholesky factor of the first latents consists of the first rows and columns of L.
            scale_tril = self.scale_tril[: len(chosen), : len(chosen)]
        elif len(chosen) == 1:
            return self.log_prob(z)[:, chosen[0]]
        else:
            # cholesky_ex does not raise, so that a diverged member of a fleet gets NaN and the others continue.
            rows = columns(self.scale_tril.mT, chosen).mT
            scale_tril = torch.linalg.cholesky_ex(rows @ rows.mT).L
        whitened = torch.linalg.solve_triangular(scale_tril, columns(z - self.loc, chosen).mT, upper=False)
        return -0.5 * (whitened.square().sum(dim=0) + len(chosen) * _LOG_2PI) - scale_tril.diagonal().log().sum()

    def sample(self, noise: Float[Tensor, "batch latent"]) -> Float[Tensor, "batch latent"]:
        return self.loc + noise @ self.scale_tril.mT

    def closed_form_kl_from(self, posterior: Posterior) -> Float[Tensor, "batch latent"] | None:
        """Returns the KL per latent for Gaussian posteriors, and None for other posteriors.

        Entry j is KL(q(z_j | x) || p(z_j)) between marginals, plus an equal share of the difference between the joint
        KL and the sum of the KLs between marginals.
        """
        if not isinstance(posterior, DiagonalGaussian):
            return None
        variance = self._variance()
        ratio = ((posterior.loc - self.loc).square() + posterior.log_var.exp()) / variance
        return spread(self._joint_kl(posterior), 0.5 * (ratio - 1 + variance.log() - posterior.log_var))

    def for_codes(self, num_latents: int) -> LatentPrior:
        del num_latents
        scale_tril = widest(self.scale_tril)
        return LatentPrior.from_arrays(self.loc.to(scale_tril.device), covariance=scale_tril @ scale_tril.mT)

    def _joint_kl(self, posterior: DiagonalGaussian) -> Float[Tensor, " batch"]:
        """Returns KL(N(m, D R D) || N(loc, C)) of each image.

        The value is (tr(C^-1 D R D) + |L^-1 (m - loc)|^2 - k + log det C - log det D R D) / 2.
        """
        size = len(self.loc)
        identity = torch.eye(size, dtype=self.loc.dtype, device=self.loc.device)
        inverse = torch.linalg.solve_triangular(self.scale_tril, identity, upper=False)
        distance = ((posterior.loc - self.loc) @ inverse.mT).square().sum(dim=1)
        correlation = posterior.density_correlation
        if correlation is None:
            trace = posterior.log_var.exp() @ inverse.square().sum(dim=0)
            log_det = posterior.log_var.sum(dim=1)
        else:
            # tr(C^-1 D R D) is the sum over i and j of (C^-1)_ij d_i R_ij d_j.
            # Two separate tensors: with one, the order of summing gradients and thus trained weights would differ.
            stds = posterior.gaussian_std, posterior.gaussian_std
            trace = torch.einsum("ij,bi,bj->b", (inverse.mT @ inverse) * correlation, *stds)
            log_det = posterior.log_var.sum(dim=1) + torch.linalg.slogdet(correlation).logabsdet
        return 0.5 * (trace + distance - size - log_det) + self.scale_tril.diagonal().log().sum()

    def _variance(self) -> Float[Tensor, " latent"]:
        return self.scale_tril.square().sum(dim=1)


@final
@dataclass(frozen=True)
class LearnedGaussianPrior(PriorConfig):
    """Gaussian prior N(m, L L') over all latents of the family, trained with the model.

    Esmaeili et al., arXiv:1804.02086v1. The initial prior is N(0, I). The diagonal of L is a softplus. Correlations
    that the prior learned are not penalized in the posterior (sections 4.1 and 5).
    """

    def make(self, size: int) -> nn.Module:
        return _LearnedGaussian(size)


@final
class _LearnedGaussian(nn.Module):
    places: Tensor

    def __init__(self, size: int) -> None:
        super().__init__()
        self.loc = nn.Parameter(torch.zeros(size))
        # softplus(log(e - 1)) = 1.
        self.diagonal = nn.Parameter(torch.full((size,), math.log(math.expm1(1.0))))
        self.below = nn.Parameter(torch.zeros(size * (size - 1) // 2))
        # Index of each entry of L in (below, diagonal, 0). L is gathered, because vmap does not support in-place writes
        # to a matrix without a member axis.
        places = torch.full((size, size), size * (size + 1) // 2)
        rows, columns = torch.tril_indices(size, size, offset=-1)
        places[rows, columns] = torch.arange(len(rows))
        places.fill_diagonal_(0).diagonal().add_(torch.arange(size) + len(rows))
        self.register_buffer("places", places, persistent=False)

    def forward(self, progress: Tensor | None = None) -> FullGaussian:
        del progress
        entries = torch.cat([self.below, softplus(self.diagonal), self.loc.new_zeros(1)])
        return FullGaussian(self.loc, entries[self.places])
