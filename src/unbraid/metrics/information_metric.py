"""Metrics that are functions of the information between latents and factors, whatever the estimator."""

import math
from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from typing import Any, ClassVar, Literal, assert_never, final, get_args

import torch
from torch import Tensor

from unbraid.errors import SpecError
from unbraid.information.delta import standard_error
from unbraid.information.exact import Quadrature, uses_cells
from unbraid.information.latent_information import LatentInformation
from unbraid.information.quantised import Bins, Masses
from unbraid.information.sampled_factors import sampled_information
from unbraid.metrics.bin_range import with_range_checked
from unbraid.metrics.metric import Feature, Interval, Metric, Score, Value
from unbraid.metrics.statistics import Statistics

InformationEstimator = Literal["exact", "sampled", "quantised", "means_histogram"]

_ALWAYS: frozenset[Feature] = frozenset(
    {"soft labels", "missing labels", "weights", "correlated posteriors", "discrete latents"}
)


@dataclass(frozen=True)
class InformationMetric(Metric):
    """A metric computed from `LatentInformation`.

    `estimator`: "exact" integrates the Gaussian posteriors (`quadrature`: "direct", or "binned" for many images).
    "sampled" averages over `num_samples` draws, made with `seed`, against the mixture of all images. "quantised" reads
    the latents through `num_bins` bins (default 100) from `low` to `high`, filled as `masses` says; it takes a std of
    0. "means_histogram" bins the means alone (default 20 bins) and scores noise as if it were signal: for comparison
    with published numbers only.
    """

    groups_by_value: ClassVar[bool] = True
    # The note of a score that is NaN.
    why_undefined: ClassVar[str] = (
        "Undefined: the estimator finds no number for these codes. Try estimator='quantised'."
    )

    estimator: InformationEstimator = "exact"
    num_bins: int | None = None
    low: float = -4.0
    high: float = 4.0
    masses: Masses = "erf_edge"
    quadrature: Quadrature = "auto"
    num_samples: int = 10_000
    seed: int = 0

    @abstractmethod
    def numbers(self, information: LatentInformation) -> dict[str, Tensor]:
        """Every number of the score: "value" and the parts (scalars), "per_factor", "per_latent" and tables (vectors).
        Differentiable.
        """

    @property
    @abstractmethod
    def limits(self) -> Interval:
        """Where the value lies with these settings: `bounds`, unless an estimator knows none."""

    def __post_init__(self) -> None:
        super().__post_init__()
        name = type(self).__name__
        if self.estimator not in get_args(InformationEstimator):
            raise SpecError(
                f"{name}: there is no estimator {self.estimator!r}. Use one of "
                f"{', '.join(get_args(InformationEstimator))}."
            )
        if self.quadrature not in get_args(Quadrature):
            raise SpecError(
                f"{name}: there is no quadrature {self.quadrature!r}. Use one of {', '.join(get_args(Quadrature))}."
            )
        if self.num_bins is not None and not self.has_bins:
            raise SpecError(
                f"{name}: num_bins is {self.num_bins}, but the {self.estimator} estimator has no bins. Drop it, or "
                "use estimator='quantised'."
            )
        if self.num_bins is not None and self.num_bins < 2:
            raise SpecError(
                f"{name}: num_bins is {self.num_bins}; with fewer than 2 bins no latent says anything. The papers use "
                "20 and 100."
            )
        if self.num_samples < 2:
            raise SpecError(f"{name}: num_samples is {self.num_samples}; expected at least 2 (10,000 is usual).")
        _ = self.bins  # refuses a range that is none

    @property
    @final
    def accepts(self) -> frozenset[Feature]:
        match self.estimator:
            case "exact":
                return _ALWAYS
            case "sampled":
                return _ALWAYS - {"soft labels"}
            case "quantised":
                return _ALWAYS | {"draws without densities"}
            case "means_histogram":
                return _ALWAYS | {"draws without densities", "means without std"}
            case _:
                assert_never(self.estimator)

    @property
    @final
    def has_bins(self) -> bool:
        """Whether entropies of latents are discrete."""
        return self.estimator in ("quantised", "means_histogram")

    @property
    @final
    def resolved_num_bins(self) -> int:
        return self.num_bins or (20 if self.estimator == "means_histogram" else 100)

    @property
    @final
    def bins(self) -> Bins:
        return Bins(self.resolved_num_bins, self.low, self.high, self.masses)

    @final
    def measure(self, statistics: Statistics) -> Score:
        estimate = self._estimate(statistics)
        numbers = self.numbers(estimate.information)
        scalars = {name: number for name, number in numbers.items() if number.ndim == 0}
        errors = self._standard_errors(estimate, tuple(scalars))
        value = Value.of(numbers["value"], errors["value"], self.limits)
        settled, notes = self._settled(value, statistics, estimate)
        if math.isnan(value.value):
            notes = (*notes, self.why_undefined)
        by_factor = numbers.get("per_factor")
        by_latent = numbers.get("per_latent")
        score = Score(
            metric=type(self).__name__,
            value=value.value,
            interval=value.interval,
            parts={name: Value.of(number, errors[name]) for name, number in scalars.items() if name != "value"},
            per_factor={}
            if by_factor is None
            else dict(zip(statistics.codes.factor_names, by_factor.tolist(), strict=True)),
            per_latent=() if by_latent is None else tuple(by_latent.tolist()),
            tables=_tables(estimate.information)
            | {name: number for name, number in numbers.items() if name not in (*scalars, "per_factor", "per_latent")},
            settled=settled,
            notes=notes,
            settings=self._settings_for(statistics),
        )
        return with_range_checked(score, statistics, self.bins) if self.estimator == "quantised" else score

    def _estimate(self, statistics: Statistics) -> "_Estimate":
        num_images = float(len(statistics.codes))
        match self.estimator:
            case "exact":
                return _Estimate(statistics.exact(self.quadrature), ((statistics.density_influences(), num_images),))
            case "quantised":
                return _Estimate(
                    statistics.quantised(self.bins), ((statistics.quantised_influences(self.bins), num_images),)
                )
            case "means_histogram":
                bins = self.resolved_num_bins
                return _Estimate(
                    statistics.means_histogram(bins), ((statistics.means_histogram_influences(bins), num_images),)
                )
            case "sampled":
                draws = statistics.draws(self.num_samples, self.seed)
                information, deviations = statistics.once(
                    ("sampled", self.num_samples, self.seed),
                    lambda: sampled_information(statistics.posteriors, draws, statistics.values),
                )
                return _Estimate(
                    information, ((statistics.density_influences(), num_images), (deviations, float(len(draws))))
                )
            case _:
                assert_never(self.estimator)

    def _standard_errors(self, estimate: "_Estimate", names: tuple[str, ...]) -> dict[str, float]:
        """By the delta method; the errors of images and of draws are independent."""

        def scalars(averages: Mapping[str, Tensor]) -> Tensor:
            numbers = self.numbers(LatentInformation(**averages))
            return torch.stack([numbers[name] for name in names])

        averages = _averages(estimate.information)
        errors = [
            standard_error(scalars, averages, deviations, num_rows) for deviations, num_rows in estimate.deviations
        ]
        return dict(zip(names, torch.stack(errors).square().sum(dim=0).sqrt().tolist(), strict=True))

    def _settled(
        self, value: Value, statistics: Statistics, estimate: "_Estimate"
    ) -> tuple[bool | None, tuple[str, ...]]:
        """Whether more bins or more draws would leave the value within its interval, and a note if not."""
        if self.estimator == "exact" or value.interval is None:
            return None, ()
        if self.estimator == "sampled":
            change = self._change_with_half_the_draws(estimate)
            what = (
                f"The first half of the draws gives {value.value + change:.4g}, further off than the interval: take "
                "more samples."
            )
        else:
            change = self._change_with_more_bins(statistics)
            bins = self.resolved_num_bins
            what = f"{2 * bins} bins in place of {bins} would move it by {change:+.2g}, more than its interval."
        # Rounding is no change: a perfect code has an interval of no width.
        if math.isnan(change):
            return None, ()
        low, high = value.interval
        is_settled = low - 1e-9 <= value.value + change <= high + 1e-9
        return is_settled, () if is_settled else (what,)

    def _change_with_more_bins(self, statistics: Statistics) -> float:
        """How far twice as many bins move the value, on the images whose influences are known."""
        some = statistics.subset()
        bins, finer = self.bins, replace(self.bins, num_bins=2 * self.resolved_num_bins)
        if self.estimator == "quantised":
            found = [some.quantised(b) for b in (bins, finer)]
        else:
            found = [some.means_histogram(b.num_bins) for b in (bins, finer)]
        before, after = (float(self.numbers(information)["value"]) for information in found)
        return after - before

    def _change_with_half_the_draws(self, estimate: "_Estimate") -> float:
        """How far the value would be if only the first half of the draws had been made."""
        deviations, num_draws = estimate.deviations[-1]
        averages = _averages(estimate.information)
        half = averages | {
            name: averages[name] + part[: int(num_draws) // 2].mean(dim=0) for name, part in deviations.items()
        }
        return float(self.numbers(LatentInformation(**half))["value"] - self.numbers(estimate.information)["value"])

    def _settings_for(self, statistics: Statistics) -> dict[str, Any]:
        """The settings that mattered, with defaults resolved."""
        own = {f.name: getattr(self, f.name) for f in fields(self) if f.name not in _OF_ESTIMATORS}
        own = {name: value for name, value in own.items() if value is not None}
        match self.estimator:
            case "exact":
                binned = uses_cells(len(statistics.codes), self.quadrature)
                return own | {"estimator": self.estimator, "quadrature": "binned" if binned else "direct"}
            case "sampled":
                return own | {"estimator": self.estimator, **statistics.draws_settings(self.num_samples, self.seed)}
            case "quantised":
                return own | {"estimator": self.estimator, **asdict(self.bins)}
            case "means_histogram":
                return own | {"estimator": self.estimator, "num_bins": self.resolved_num_bins}
            case _:
                assert_never(self.estimator)


@final
@dataclass(frozen=True)
class _Estimate:
    """The information, and what each row adds to it: rows are images, and draws where there are any; each with their
    number.
    """

    information: LatentInformation
    deviations: tuple[tuple[Mapping[str, Tensor], float], ...]


_OF_ESTIMATORS = frozenset(f.name for f in fields(InformationMetric))


def _averages(information: LatentInformation) -> dict[str, Tensor]:
    return {f.name: getattr(information, f.name) for f in fields(information)}


def _tables(information: LatentInformation) -> dict[str, Tensor]:
    return {
        "mutual_information": information.mutual_information,
        "latent_entropy": information.entropy,
        "latent_entropy_given_image": information.entropy_given_image,
        "factor_entropy": information.factor_entropy,
        "joint_entropy": information.joint_entropy,
    }
