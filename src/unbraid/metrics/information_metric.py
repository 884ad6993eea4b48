"""Metrics that are functions of the information between latents and factors, whatever the estimator."""

import math
from abc import abstractmethod
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, final

import torch
from torch import Tensor

from unbraid.errors import SpecError
from unbraid.information.delta_method import standard_error
from unbraid.information.latent_information import LatentInformation
from unbraid.metrics.estimators import Estimator, Exact
from unbraid.metrics.estimators.estimator import settled
from unbraid.metrics.metric import QUANTILE, Feature, Interval, Metric, Score, Value, score_of
from unbraid.metrics.reductions.gaps import TIE
from unbraid.metrics.reductions.statistics import Statistics, unseen_note

_CLIPPED = (
    "An estimate of information was negative and was set to 0. The score depends on it, so no interval can be given."
)


@dataclass(frozen=True)
class InformationMetric(Metric):
    """A metric computed from `LatentInformation`, which `estimator` finds; the default is `Exact()`."""

    groups_by_value: ClassVar[bool] = True
    # Whether a factor's entropy is divided by, which a continuous factor has not.
    needs_factor_entropy: ClassVar[bool] = True
    # The note of a score that is NaN.
    why_undefined: ClassVar[str] = "Undefined: the estimator finds no number for these codes. Try Quantized()."

    estimator: Estimator = Exact()  # noqa: RUF009 (frozen)
    """How information is estimated."""

    @abstractmethod
    def numbers(self, information: LatentInformation) -> dict[str, Tensor]:
        """Returns every number of the score: "value" and the parts (scalars), "per_factor", "per_latent" and tables
        (vectors). They are differentiable.
        """

    @property
    @abstractmethod
    def limits(self) -> Interval:
        """Returns where the value lies with these settings: within `bounds`, unless an estimator knows none."""

    @property
    def needs_entropies(self) -> bool:
        """Returns whether entropies of latents are read, and not mutual information alone."""
        return False

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

    @final
    def measure(self, statistics: Statistics) -> Score:
        settings = {name: value for name, value in self.settings.items() if value is not None}

        def numbers(information: LatentInformation) -> dict[str, Tensor]:
            return self._tables(information) | self.numbers(information)

        score = information_score(
            type(self).__name__, self.estimator, statistics, numbers, self.limits, settings, self.reported_parts
        )
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
    name: str,
    estimator: Estimator,
    statistics: Statistics,
    numbers: Callable[[LatentInformation], dict[str, Tensor]],
    limits: Interval,
    settings: Mapping[str, Any],
    shares: Collection[str] = (),
) -> Score:
    """Returns the score whose numbers are functions of information, with intervals by the delta method, and whether a
    finer estimate would have moved it. The parts that are `shares` lie between 0 and 1, and so do their intervals.

    Nearest neighbors may find less than nothing, or more than there is. What leaves the limits is put back to them. A
    number has no interval where clipping decides on it, and a note says so.
    """
    information = estimator.information(statistics)
    found = numbers(information)
    by_neighbors = not estimator.has_entropies
    found = _within_limits(found, limits, shares) if by_neighbors else found
    scalars = [key for key, number in found.items() if number.ndim == 0]

    def stacked(averages: Mapping[str, Tensor]) -> Tensor:
        moved = numbers(LatentInformation(**averages))
        return torch.stack([moved[key] for key in scalars])

    # The errors of images and of draws are independent.
    each = [standard_error(stacked, vars(information), *rows) for rows in estimator.deviations(statistics)]
    errors = dict(zip(scalars, torch.stack(each).square().sum(dim=0).sqrt().tolist(), strict=True))
    clipped = _decided_by_clipping(information, numbers, errors) if by_neighbors else []
    errors |= dict.fromkeys(clipped, math.nan)
    value = Value.from_standard_error(found["value"], errors["value"], limits)
    is_settled, notes = settled(value, estimator.change(lambda finer: float(numbers(finer)["value"]), statistics))
    score = score_of(
        name,
        found,
        errors,
        value,
        statistics.codes.factor_names,
        settled=is_settled,
        notes=(*notes, *unseen_note(statistics, estimator.seen(statistics)), *((_CLIPPED,) if clipped else ())),
        settings={**settings, **estimator.used(statistics)},
    )
    parts = {name: part.within((0.0, 1.0)) if name in shares else part for name, part in score.parts.items()}
    return estimator.checked(replace(score, parts=parts), statistics)


def _within_limits(found: dict[str, Tensor], limits: Interval, shares: Collection[str]) -> dict[str, Tensor]:
    """Returns the numbers with the value, those of factors and the shares put back where they can lie."""
    kept = dict.fromkeys(("value", "per_factor"), limits) | dict.fromkeys(shares, (0.0, 1.0))
    return {name: number.clamp(*kept[name]) if name in kept else number for name, number in found.items()}


def _decided_by_clipping(
    information: LatentInformation,
    numbers: Callable[[LatentInformation], dict[str, Tensor]],
    errors: Mapping[str, float],
) -> list[str]:
    """Returns the scalars that take information below 0 for 0, and would leave their intervals if it were as far above
    0: to first order they do not depend on it, so their intervals do not tell how it errs.
    """
    table = information.mutual_information
    if not bool((table < -TIE).any()):
        return []
    as_it_is, clipped, mirrored = (
        numbers(replace(information, mutual_information=each)) for each in (table, table.clamp(min=0), table.abs())
    )
    return [
        name
        for name, error in errors.items()
        if abs(float(clipped[name] - as_it_is[name])) < TIE
        and abs(float(mirrored[name] - as_it_is[name])) > QUANTILE * error + TIE
    ]


def check_entropies(name: str, estimator: Estimator) -> None:
    """Raises if the estimator does not find the entropies that the metric reads."""
    if not estimator.has_entropies:
        raise SpecError(
            f"{name} reads entropies of latents, and {type(estimator).__name__} finds mutual information alone. Use "
            "Exact(), Sampled(), Quantized() or MeansHistogram()."
        )
