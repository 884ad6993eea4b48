"""Total correlation of a Gaussian with the covariance of the codes."""

import math
from dataclasses import dataclass
from typing import ClassVar, Literal, final

import torch
from jaxtyping import Bool, Float64
from torch import Tensor

from unbraid.metrics.metric import Feature, Metric, Score, Value
from unbraid.metrics.reductions.statistics import Statistics
from unbraid.metrics.sampled_metric import ANY_LABELS

CovarianceOf = Literal["means", "aggregate"]

# The rounding error of centered float64 means relative to their size, and of eigenvalues of correlations.
_ROUNDING = 1e-13


@final
@dataclass(frozen=True)
class GaussianTotalCorrelation(Metric):
    """Total correlation of a Gaussian with the covariance of the codes (Locatello et al., arXiv:1811.12359v4).

    The value is -1/2 log det of the correlation matrix, in nats. Lower is better; the minimum is 0. `covariance`
    "means" is the covariance of the posterior means, as in disentanglement_lib. "aggregate" is the covariance of the
    aggregate posterior, E[Sigma(x)] + Cov(mu(x)). Dependence without correlation is not measured.
    """

    bounds: ClassVar[tuple[float, float]] = (0.0, math.inf)
    quantity: ClassVar[str] = "total correlation, Gaussian"
    higher_is_better: ClassVar[bool | None] = False
    needs_factors: ClassVar[bool] = False

    covariance: CovarianceOf = "means"
    """Covariance of the posterior means, or of the aggregate posterior."""

    @property
    def accepts(self) -> frozenset[Feature]:
        always: frozenset[Feature] = ANY_LABELS | {"weights", "correlated posteriors"}
        return always | {"means without std", "draws without densities"} if self.covariance == "means" else always

    def measure(self, statistics: Statistics) -> Score:
        weights, mean = statistics.weights, statistics.codes.mean.double()
        centered = mean - weights @ mean
        covariance = centered.T @ (weights[:, None] * centered)
        # Sigma(x) of each image: a full matrix, or its diagonal.
        full, variance = None, None
        if self.covariance == "aggregate" and statistics.codes.covariance is not None:
            full = statistics.codes.covariance.double()
            covariance = covariance + torch.einsum("n,nij->ij", weights, full)
        elif self.covariance == "aggregate":
            variance = statistics.std.double().square()
            covariance = covariance + torch.diag(weights @ variance)
        alive = covariance.diagonal() > _ROUNDING**2 * (weights @ mean.square())
        value, pull = _total_correlation(covariance, alive)
        # The influence of image n is the derivative of the value along M - C, 1/2 sum_i M_ii / C_ii - 1/2 tr(C^-1 M)
        # with M = (mu_n - m)(mu_n - m)' + Sigma_n.
        influence = 0.5 * ((centered @ pull) * centered).sum(dim=1)
        if full is not None:
            influence = influence + 0.5 * torch.einsum("nij,ij->n", full, pull)
        elif variance is not None:
            influence = influence + 0.5 * (variance @ pull.diagonal())
        error = (weights * (influence - weights @ influence)).square().sum().sqrt()
        score = Value.from_standard_error(value, error, self.bounds)
        dead = (~alive).nonzero()[:, 0].tolist()
        notes = [f"Latents {dead} are constant and are left out."] if dead else []
        notes += ["Some latents are linear functions of others, so the score is infinite."] if math.isinf(value) else []
        tables = {"covariance": covariance, "correlation": _correlation(covariance, alive)}
        return self.score(score, tables=tables, notes=tuple(notes))


def _total_correlation(
    covariance: Float64[Tensor, "latent latent"], alive: Bool[Tensor, " latent"]
) -> tuple[float, Float64[Tensor, "latent latent"]]:
    """Returns -1/2 log det of the correlations of varying latents, and its gradient with respect to the covariance.

    The gradient is NaN if the value is infinite.
    """
    correlation = _correlation(covariance, alive)[alive][:, alive]
    eigenvalues = torch.linalg.eigvalsh(correlation)
    if bool((eigenvalues <= _ROUNDING * len(eigenvalues)).any()):
        return math.inf, torch.full_like(covariance, math.nan)
    # In units of each latent's std, C is the correlation matrix and C_ii = 1.
    scale = covariance.diagonal()[alive].rsqrt()
    pull = torch.zeros_like(covariance)
    inside = torch.eye(len(scale), dtype=torch.float64, device=scale.device) - torch.linalg.inv(correlation)
    pull[alive.nonzero(), alive.nonzero()[:, 0]] = scale[:, None] * inside * scale
    return max(0.0, float(-0.5 * eigenvalues.log().sum())), pull


def _correlation(
    covariance: Float64[Tensor, "latent latent"], alive: Bool[Tensor, " latent"]
) -> Float64[Tensor, "latent latent"]:
    """Returns the correlations, with rows and columns of NaN for constant latents."""
    std = torch.where(alive, covariance.diagonal().sqrt(), math.nan)
    return covariance / (std[:, None] * std)
