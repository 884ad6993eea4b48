"""The total correlation of a Gaussian with the covariance of the codes."""

import math
from dataclasses import dataclass
from typing import ClassVar, Literal, final

import torch
from jaxtyping import Bool, Float, Float64
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
    """-1/2 log det of the correlation matrix, in nats: the total correlation of a Gaussian with the covariance of the
    codes. Lower is better, at least 0.

    Locatello et al., arXiv:1811.12359v4. `covariance`: "means" is that of the posteriors' means, as in their library;
    "aggregate" that of the aggregate posterior, E[Sigma(x)] + Cov(mu(x)). Dependence without correlation does not
    count.
    """

    bounds: ClassVar[tuple[float, float]] = (0.0, math.inf)
    quantity: ClassVar[str] = "total correlation, Gaussian"
    higher_is_better: ClassVar[bool | None] = False
    needs_factors: ClassVar[bool] = False

    covariance: CovarianceOf = "means"
    """The covariance of the posteriors' means, or that of the aggregate posterior."""

    @property
    def accepts(self) -> frozenset[Feature]:
        always: frozenset[Feature] = ANY_LABELS | {"weights", "correlated posteriors"}
        return always | {"means without std", "draws without densities"} if self.covariance == "means" else always

    def measure(self, statistics: Statistics) -> Score:
        weights, mean = statistics.weights, statistics.codes.mean.double()
        centered = mean - weights @ mean
        covariance = centered.T @ (weights[:, None] * centered)
        spread = _Spread.of(statistics) if self.covariance == "aggregate" else None
        if spread is not None:
            covariance = covariance + spread.average(weights)
        alive = covariance.diagonal() > _ROUNDING**2 * (weights @ mean.square())
        value, error = _total_correlation(covariance, centered, spread, weights, alive)
        score = Value.from_standard_error(value, error, self.bounds)
        dead = (~alive).nonzero()[:, 0].tolist()
        notes = [f"Latents {dead} never vary and are left out."] if dead else []
        notes += ["Some latents are linear functions of others, so it is infinite."] if math.isinf(value) else []
        tables = {"covariance": covariance, "correlation": _correlation(covariance, alive)}
        return self.score(score, tables=tables, notes=tuple(notes))


@final
@dataclass(frozen=True)
class _Spread:
    """Holds Sigma(x) of every image: variances alone, or full matrices."""

    variance: Float64[Tensor, "image latent"]
    covariance: Float[Tensor, "image latent latent"] | None

    @classmethod
    def of(cls, statistics: Statistics) -> "_Spread":
        return cls(statistics.std.double().square(), statistics.codes.covariance)

    def average(self, weights: Float64[Tensor, " image"]) -> Float64[Tensor, "latent latent"]:
        if self.covariance is None:
            return torch.diag(weights @ self.variance)
        return torch.einsum("n,nij->ij", weights, self.covariance.double())

    def against(self, matrix: Float64[Tensor, "latent latent"]) -> Float64[Tensor, " image"]:
        """Returns tr(Sigma(x) matrix)."""
        if self.covariance is None:
            return self.variance @ matrix.diagonal()
        return torch.einsum("nij,ij->n", self.covariance.double(), matrix)


def _total_correlation(
    covariance: Float64[Tensor, "latent latent"],
    centered: Float64[Tensor, "image latent"],
    spread: _Spread | None,
    weights: Float64[Tensor, " image"],
    alive: Bool[Tensor, " latent"],
) -> tuple[float, float]:
    """Returns -1/2 log det of the correlations of the latents that vary, and its standard error.

    The image n adds 1/2 sum_i M_ii / C_ii - 1/2 tr(C^-1 M), with M = (mu_n - m)(mu_n - m)' + Sigma_n: the derivative of
    the value along M - C.
    """
    correlation = _correlation(covariance, alive)[alive][:, alive]
    eigenvalues = torch.linalg.eigvalsh(correlation)
    if bool((eigenvalues <= _ROUNDING * len(eigenvalues)).any()):
        return math.inf, math.nan
    # In units of each latent's std, C is the correlation matrix and C_ii = 1.
    scale = covariance.diagonal()[alive].rsqrt()
    pull = torch.zeros_like(covariance)
    inside = torch.eye(len(scale), dtype=torch.float64, device=scale.device) - torch.linalg.inv(correlation)
    pull[alive.nonzero(), alive.nonzero()[:, 0]] = scale[:, None] * inside * scale
    influence = 0.5 * ((centered @ pull) * centered).sum(dim=1)
    if spread is not None:
        influence = influence + 0.5 * spread.against(pull)
    error = (weights * (influence - weights @ influence)).square().sum().sqrt()
    return max(0.0, float(-0.5 * eigenvalues.log().sum())), float(error)


def _correlation(
    covariance: Float64[Tensor, "latent latent"], alive: Bool[Tensor, " latent"]
) -> Float64[Tensor, "latent latent"]:
    """Returns the correlations, with rows and columns of NaN for latents that do not vary."""
    std = torch.where(alive, covariance.diagonal().sqrt(), math.nan)
    return covariance / (std[:, None] * std)
