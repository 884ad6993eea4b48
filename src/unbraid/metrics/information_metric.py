"""Base class of metrics that are functions of the information between latents and factors."""

import math
from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, final

import torch
from torch import Tensor

from unbraid.errors import SpecError
from unbraid.information.delta_method import standard_error
from unbraid.information.latent_information import LatentInformation
from unbraid.metrics.estimators import Estimator, Exact, Quantized
from unbraid.metrics.estimators.estimator import settled
from unbraid.metrics.metric import QUANTILE, Feature, Interval, Metric, Score, Value, score_fields
from unbraid.metrics.reductions.gaps import TIE
from unbraid.metrics.reductions.statistics import Statistics, unseen_note

_CLIPPED = (
    "A negative estimate of information was set to 0. The score depends on this estimate, so its interval is unknown."
)


@dataclass(frozen=True)
class InformationMetric(Metric):
    """Base class of metrics that are functions of the `LatentInformation` of an estimator."""

    groups_by_value: ClassVar[bool] = True
    # Whether the metric needs entropies of factors, which are undefined for continuous factors.
    needs_factor_entropy: ClassVar[bool] = True

    estimator: Estimator = Exact()
    """Estimator of information."""

    @abstractmethod
    def numbers(self, information: LatentInformation) -> dict[str, Tensor]:
        """Returns all results of the score by name, as differentiable tensors.

        Scalars are "value" and the parts. Other tensors are "per_factor", "per_latent" and tables.
        """

    @property
    def limits(self) -> Interval:
        """Bounds of the value with these settings; by default `bounds`."""
        return self.bounds

    @property
    def needs_entropies(self) -> bool:
        """Whether the metric needs entropies of latents in addition to mutual information."""
        return False

    @property
    def why_undefined(self) -> str:
        """Note of a score that is NaN."""
        other = Exact() if isinstance(self.estimator, Quantized) else Quantized()
        return f"The score is undefined, because {self.estimator} returns NaN. Try {type(other).__name__}()."

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.needs_entropies:
            check_entropies(type(self).__name__, self.estimator)

    @property
    @final
    def treats_floats_as_continuous(self) -> bool:
        return "continuous factors" in self.accepts

    @property
    @final
    def accepts(self) -> frozenset[Feature]:
        return self.estimator.accepts - ({"continuous factors"} if self.needs_factor_entropy else set())

    @property
    def settings(self) -> dict[str, Any]:
        return {name: value for name, value in super().settings.items() if value is not None}

    @final
    def measure(self, statistics: Statistics) -> Score:
        def numbers(information: LatentInformation) -> dict[str, Tensor]:
            return self._tables(information) | self.numbers(information)

        score = information_score(self, self.estimator, statistics, numbers, self.limits)
        return replace(score, notes=(*score.notes, self.why_undefined)) if math.isnan(score.value) else score

    def _tables(self, information: LatentInformation) -> dict[str, Tensor]:
        found = {
            "mutual_information": information.mutual_information,
            "latent_entropy": information.entropy,
            "latent_entropy_given_image": information.entropy_given_image,
            "factor_entropy": information.factor_entropy,
            "joint_entropy": information.joint_entropy,
        }
        known = found if self.estimator.has_entropies else ("mutual_information", "factor_entropy")
        return {name: found[name] for name in known}


def information_score(
    metric: Metric,
    estimator: Estimator,
    statistics: Statistics,
    numbers: Callable[[LatentInformation], dict[str, Tensor]],
    limits: Interval,
) -> Score:
    """Computes a score from functions of information.

    Intervals are computed by the delta method. The score is settled if a finer estimate is within the interval. The
    `reported_parts` of the metric and their intervals are clipped to [0, 1].

    Nearest-neighbor estimates of information may be negative or exceed the entropy, so results are clipped to `limits`.
    A result that depends on the clipping has no interval, and a note is added.
    """
    information = estimator.information(statistics)
    found = numbers(information)
    by_neighbors = not estimator.has_entropies
    if by_neighbors:
        limit_of = dict.fromkeys(("value", "per_factor"), limits) | dict.fromkeys(metric.reported_parts, (0.0, 1.0))
        found = {name: number.clamp(*limit_of[name]) if name in limit_of else number for name, number in found.items()}
    scalars = [key for key, number in found.items() if number.ndim == 0]

    def stacked(averages: Mapping[str, Tensor]) -> Tensor:
        moved = numbers(LatentInformation(**averages))
        return torch.stack([moved[key] for key in scalars])

    errors, clipped, change = dict.fromkeys(scalars, math.nan), list[str](), None
    if statistics.with_intervals:
        # The errors of images and of draws are independent.
        each = [standard_error(stacked, vars(information), *rows) for rows in estimator.deviations(statistics)]
        errors = dict(zip(scalars, torch.stack(each).square().sum(dim=0).sqrt().tolist(), strict=True))
        clipped = _decided_by_clipping(information, numbers, errors) if by_neighbors else []
        errors |= dict.fromkeys(clipped, math.nan)
        change = estimator.change(lambda finer: float(numbers(finer)["value"]), statistics)
    value = Value.from_standard_error(found["value"], errors["value"], limits)
    is_settled, notes = settled(value, change)
    score = metric.score(
        value,
        statistics.codes.factor_names,
        **score_fields(found, errors),
        settings=metric.settings | estimator.used(statistics),
        settled=is_settled,
        notes=(*notes, *unseen_note(statistics, estimator.seen(statistics)), *((_CLIPPED,) if clipped else ())),
    )
    shares = metric.reported_parts
    parts = {name: part.within((0.0, 1.0)) if name in shares else part for name, part in score.parts.items()}
    return estimator.checked(replace(score, parts=parts), statistics)


def _decided_by_clipping(
    information: LatentInformation,
    numbers: Callable[[LatentInformation], dict[str, Tensor]],
    errors: Mapping[str, float],
) -> list[str]:
    """Returns the names of the scalars whose intervals do not include the error of clipping information to 0.

    To first order, these scalars do not depend on the clipped information. With the absolute value of the information
    instead, they would be outside their intervals.
    """
    table = information.mutual_information
    if not bool((table < -TIE).any()):
        return []
    unclipped, clipped, mirrored = (
        numbers(replace(information, mutual_information=each)) for each in (table, table.clamp(min=0), table.abs())
    )
    return [
        name
        for name, error in errors.items()
        if abs(float(clipped[name] - unclipped[name])) < TIE
        and abs(float(mirrored[name] - unclipped[name])) > QUANTILE * error + TIE
    ]


def check_entropies(name: str, estimator: Estimator) -> None:
    """Raises `SpecError` if the estimator has no entropies of latents."""
    if not estimator.has_entropies:
        raise SpecError(
            f"{name}: the estimator is {type(estimator).__name__}; expected an estimator of entropies of latents. Use "
            "Exact(), Sampled(), Quantized() or MeansHistogram()."
        )
