"""The mutual information gap."""

import math
import warnings
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, ClassVar, Literal, assert_never, final, get_args

import torch
from jaxtyping import Float64
from torch import Tensor

from unbraid.codes import Codes
from unbraid.errors import CodesError, SpecError
from unbraid.information.exact import Quadrature, exact_information, uses_cells
from unbraid.information.factor_values import FactorValues
from unbraid.information.latent_information import LatentInformation
from unbraid.information.means_histogram import means_histogram_information
from unbraid.information.quantised import Bins, Masses, quantised_information
from unbraid.metrics.metric import Metric, Score

InformationEstimator = Literal["exact", "quantised", "means_histogram"]


@final
@dataclass(frozen=True)
class MIG(Metric):
    """MIG = mean_k (I(z_a; v_k) - I(z_b; v_k)) / H(v_k), where latents a and b say most about factor k. Higher is better, at most 1.

    Chen et al., arXiv:1802.04942v5, eq. 6. H(v_k) is the entropy of the labels as they are, not log |V_k| as in their code, which differs where
    values are not equally frequent.

    `estimator`: "exact" integrates the Gaussian posteriors (`quadrature`: "direct", or "binned" for many images). "quantised" reads the latents through
    `num_bins` bins (default 100) from `low` to `high`, filled as `masses` says; it takes a std of 0. "means_histogram" bins the means alone
    (default 20 bins) and scores noise as if it were signal: for comparison with published numbers only.
    """

    bounds: ClassVar[tuple[float, float]] = (0.0, 1.0)

    estimator: InformationEstimator = "exact"
    num_bins: int | None = None
    low: float = -4.0
    high: float = 4.0
    masses: Masses = "erf_edge"
    quadrature: Quadrature = "auto"

    def __post_init__(self) -> None:
        if self.estimator not in get_args(InformationEstimator):
            raise SpecError(f"MIG: there is no estimator {self.estimator!r}. Use one of {', '.join(get_args(InformationEstimator))}.")
        if self.quadrature not in get_args(Quadrature):
            raise SpecError(f"MIG: there is no quadrature {self.quadrature!r}. Use one of {', '.join(get_args(Quadrature))}.")
        if self.num_bins is not None and self.estimator == "exact":
            raise SpecError(
                f"MIG: num_bins is {self.num_bins}, but the exact estimator has no bins. Drop it, or use estimator='quantised'."
            )
        if self.num_bins is not None and self.num_bins < 2:
            raise SpecError(f"MIG: num_bins is {self.num_bins}; with fewer than 2 bins no latent says anything. The papers use 20 and 100.")
        Bins(self._num_bins, self.low, self.high, self.masses)  # refuses a range that is none

    def __call__(self, codes: Codes) -> Score:
        _check_codes(codes)
        information = self._information(codes)
        gaps = _gaps(information)
        _warn_of_constant_factors(codes.factor_names, gaps)
        return Score(
            metric="MIG",
            value=float(gaps.nanmean()),
            per_factor=dict(zip(codes.factor_names, gaps.tolist(), strict=True)),
            tables={
                "mutual_information": information.mutual_information,
                "latent_entropy": information.entropy,
                "factor_entropy": information.factor_entropy,
            },
            settings=self._settings_for(codes),
        )

    def _information(self, codes: Codes) -> LatentInformation:
        values = FactorValues.of(tuple(f.assignment() for f in codes.factors), len(codes), codes.weights, codes.mean.device)
        match self.estimator:
            case "exact":
                return exact_information(codes.mean, self._std(codes), values, self.quadrature)
            case "quantised":
                return quantised_information(codes.mean, self._std(codes), values, self._bins)
            case "means_histogram":
                return means_histogram_information(codes.mean, values, self._num_bins)
            case _:
                assert_never(self.estimator)

    def _std(self, codes: Codes) -> Tensor:
        std = codes.marginal_std
        if std is None:
            raise CodesError(
                f"MIG(estimator={self.estimator!r}) needs the std of each posterior, and these codes have only means. Give std or log_var; for a "
                "deterministic encoder give a std of 0 and use estimator='quantised'."
            )
        return std

    @property
    def _num_bins(self) -> int:
        return self.num_bins or (20 if self.estimator == "means_histogram" else 100)

    @property
    def _bins(self) -> Bins:
        return Bins(self._num_bins, self.low, self.high, self.masses)

    def _settings_for(self, codes: Codes) -> dict[str, Any]:
        """The settings that mattered, with defaults resolved."""
        match self.estimator:
            case "exact":
                return {"estimator": self.estimator, "quadrature": "binned" if uses_cells(len(codes), self.quadrature) else "direct"}
            case "quantised":
                return {"estimator": self.estimator, **asdict(self._bins)}
            case "means_histogram":
                return {"estimator": self.estimator, "num_bins": self._num_bins}
            case _:
                assert_never(self.estimator)


def _gaps(information: LatentInformation) -> Float64[Tensor, " factor"]:
    """(I_first - I_second) / H(v_k) for each factor; NaN where H(v_k) is 0. A single latent has a runner-up of 0."""
    # Clipped before the gap, as in Chen et al.'s code: below zero there is only rounding.
    ranked = information.mutual_information.clamp(min=0).sort(dim=0, descending=True).values
    runner_up = ranked[1] if len(ranked) > 1 else torch.zeros_like(ranked[0])
    entropy = information.factor_entropy
    return torch.where(_varies(entropy), (ranked[0] - runner_up) / entropy, math.nan)


def _varies(factor_entropy: Float64[Tensor, " factor"]) -> Tensor:
    # One label in 10^12 images has an entropy of 3e-11 nats; rounding leaves less than 1e-14 for a constant factor.
    return factor_entropy > 1e-13


def _check_codes(codes: Codes) -> None:
    if not codes.factors:
        raise CodesError("MIG compares latents with factors, and these codes have no factors. Give labels for at least one.")
    continuous = [f.name for f in codes.factors if f.is_continuous]
    if continuous:
        raise CodesError(
            f"MIG needs discrete factors, and {', '.join(continuous)} hold floating-point measurements. If they are value indices, pass them as integers; "
            "else bin them first."
        )
    if codes.probabilities:
        raise CodesError(
            f"MIG scores continuous latents, and these codes have {len(codes.probabilities)} discrete ones. Leave them out of the codes."
        )


def _warn_of_constant_factors(names: Sequence[str], gaps: Float64[Tensor, " factor"]) -> None:
    undefined = [name for name, gap in zip(names, gaps.tolist(), strict=True) if math.isnan(gap)]
    if len(undefined) == len(names):
        raise CodesError(
            f"MIG: none of the {len(names)} factors varies in these codes, so every H(v) is 0 and no gap is defined. "
            "Encode a sample in which at least one factor varies."
        )
    if undefined:
        warnings.warn(
            f"MIG: {', '.join(undefined)} never vary in these codes; they have no gap and do not count in the mean.",
            UserWarning,
            stacklevel=3,
        )
