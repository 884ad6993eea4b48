"""What a metric is, and what it returns."""

import logging
import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, ClassVar, Literal, final

import torch
from torch import Tensor

from unbraid._internal.arrays import same_content, shown
from unbraid.codes import Codes, Labels
from unbraid.config import Config, text_of
from unbraid.config.text import split
from unbraid.errors import CodesError
from unbraid.metrics.code_numbers import check_magnitude, whole_floats
from unbraid.metrics.reductions.statistics import Statistics
from unbraid.metrics.settings import check_sizes, settings_of

log = logging.getLogger(__name__)

Interval = tuple[float, float]
"""A 95 % interval, or bounds: the least and the greatest value."""

UNDEFINED = " (constant in these codes): undefined, and left out of every average."
"""What is noted of the factors of which there is one value alone, after their names."""

Feature = Literal[
    "continuous factors",
    "soft labels",
    "missing labels",
    "weights",
    "means without std",
    "draws without densities",
    "correlated posteriors",
    "discrete latents",
]
"""What codes may have that not every metric can take; each is a phrase for the user."""

_WHOLE_FLOATS = (
    "{} holds whole numbers given as floats, and so is scored as a measurement. If its numbers are values, give them "
    "as integers: the score is another one."
)
_OWN_VALUES = (
    "Every image has a value of {} of its own: a latent that tells images apart tells that too, so the score says "
    "nothing."
)

_FEW_IMAGES = (
    "{}. With fewer than {} images, chance alone can bring a score near its best or its worst. Give more images."
)
_LEAST_IMAGES = 10
# Means that spread less are small beside the penalty of a classifier.
_SMALL_STD = 0.1

# A value that is so little beyond its bounds is beyond them by rounding.
_ROUNDING = 1e-9
# 95 % of a normal distribution lies within so many standard deviations.
QUANTILE = 1.959964


@final
@dataclass(frozen=True)
class Value:
    """Holds a number, and where it would lie for 95 of 100 other samples of as many images (None if that cannot be
    told).
    """

    value: float
    interval: Interval | None = None

    @classmethod
    def from_standard_error(
        cls, value: float | Tensor, standard_error: float | Tensor, bounds: Interval = (-math.inf, math.inf)
    ) -> "Value":
        """Returns the value with an interval of 1.96 standard errors on either side, cut at the bounds. A value that
        leaves them by rounding is put back.
        """
        value, half = float(value), QUANTILE * float(standard_error)
        nearest = min(max(value, bounds[0]), bounds[1])
        value = nearest if abs(nearest - value) < _ROUNDING else value
        if math.isnan(value) or math.isnan(half):
            return cls(value)
        return cls(value, (value - half, value + half)).within(bounds)

    def within(self, bounds: Interval) -> "Value":
        """Returns the value with its interval cut at the bounds."""
        if self.interval is None:
            return self
        return Value(self.value, (max(bounds[0], self.interval[0]), min(bounds[1], self.interval[1])))


@final
@dataclass(frozen=True, eq=False)
class Score:
    """Holds one number and everything behind it.

    `parts` are further numbers of the same computation, by name. `per_factor` and `per_latent` hold NaN where a value
    is undefined (a constant factor). `tables` keeps the matrices that the value was computed from, by name:
    "mutual_information" is latent by factor, in nats. `settled` is False where more bins or samples would move the
    value by more than its interval says, and None where there is nothing to refine. `notes` are sentences to know
    before the number is quoted. `scoring` is which codes were scored and how, in what differs from the default
    (`Scoring.changes`): a score is of the same question as another if metric, settings and scoring
    are the same.
    """

    metric: str
    value: float
    interval: Interval | None = None
    parts: Mapping[str, Value] = field(default_factory=dict)
    per_factor: Mapping[str, float] = field(default_factory=dict)
    per_latent: tuple[float, ...] = ()
    tables: Mapping[str, Tensor] = field(default_factory=dict)
    settled: bool | None = None
    notes: tuple[str, ...] = ()
    settings: Mapping[str, Any] = field(default_factory=dict)
    scoring: Mapping[str, Any] = field(default_factory=dict)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Score) and same_content(self._content(), other._content())

    __hash__ = None  # type: ignore[assignment]

    def _content(self) -> dict[str, Any]:
        return vars(self) | {"parts": {name: vars(part) for name, part in self.parts.items()}}


def score_of(
    name: str,
    numbers: Mapping[str, Tensor],
    errors: Mapping[str, float],
    value: Value,
    factor_names: tuple[str, ...] = (),
    **rest: Any,
) -> Score:
    """Returns the score with this value of which these are the numbers: scalars with their errors ("value" and the
    parts), "per_factor", "per_latent", and tables. `rest` are further fields of the score.
    """
    vectors = {key: number for key, number in numbers.items() if key not in errors}
    by_factor = vectors.pop("per_factor", None)
    by_latent = vectors.pop("per_latent", None)
    return Score(
        metric=name,
        value=value.value,
        interval=value.interval,
        parts={key: Value.from_standard_error(numbers[key], error) for key, error in errors.items() if key != "value"},
        per_factor={} if by_factor is None else dict(zip(factor_names, by_factor.tolist(), strict=True)),
        per_latent=() if by_latent is None else tuple(by_latent.tolist()),
        tables=vectors,
        **rest,
    )


@dataclass(frozen=True)
class Metric(Config, ABC):
    """A function of codes. Its settings are its fields, so a score can say how it was computed.

    `higher_is_better` is None for a quantity that is neither good nor bad. `needs_factors` is False for a metric that
    reads the codes alone.
    """

    bounds: ClassVar[Interval]
    # What the value is, in words, where the name of the class does not say it.
    quantity: ClassVar[str] = ""
    higher_is_better: ClassVar[bool | None] = True
    needs_factors: ClassVar[bool] = True
    # Whether images are grouped by the value of a factor, whatever the value is.
    groups_by_value: ClassVar[bool] = False
    # Whether it is computed only where it is asked for by name, and is not among "all".
    by_name_only: ClassVar[bool] = False
    # Whether a predictor is fitted on some images and tested on others.
    fits_predictor: ClassVar[bool] = False
    # What the numbers of factors are, in words, where they are not what the value is.
    quantity_of_factors: ClassVar[str] = ""
    # The parts that papers report as scores of their own, and whether higher is better.
    reported_parts: ClassVar[Mapping[str, bool]] = MappingProxyType({})

    def __post_init__(self) -> None:
        """Checks types and sizes of the settings; a metric with checks of its own calls this first."""
        super().__post_init__()
        check_sizes(self)

    @property
    @abstractmethod
    def accepts(self) -> frozenset[Feature]:
        """Returns what the codes may have beyond means, stds and a full set of discrete labels."""

    @property
    def is_scale_sensitive(self) -> bool:
        """Returns whether moving or scaling latents changes the score, because a classifier sees their means as they
        are.
        """
        return False

    @property
    def treats_floats_as_continuous(self) -> bool:
        """Returns whether a factor scores otherwise as floats, which are measurements, than as integers, which are
        values.
        """
        return False

    @property
    def title(self) -> str:
        """Returns what the value is, in words, and the settings that differ from their defaults."""
        _, *settings = split(text_of(self), ":")
        return ", ".join([self.quantity or type(self).__name__, *(word.replace("_", " ") for word in settings)])

    @abstractmethod
    def measure(self, statistics: Statistics) -> Score:
        """Returns the score of codes that have been checked."""

    @final
    def __call__(self, codes: Codes) -> Score:
        """Returns the score of these codes. Logs a warning that names factors which never vary."""
        score = self.of(Statistics(codes))
        for note in score.notes:
            if note.endswith(UNDEFINED):
                log.warning("%s: %s", type(self).__name__, note)
        return score

    @final
    def of(self, statistics: Statistics) -> Score:
        """Returns the score, from statistics that other metrics may share. A note names factors which never vary.
        Raises if the metric does not take these codes.
        """
        name = type(self).__name__
        for feature, who in features(statistics.codes).items():
            if feature not in self.accepts:
                raise CodesError(f"{name} does not take {feature}{who}. {ADVICE[feature]}")
        check_magnitude(statistics.codes)
        constant = _constant_factors(name, statistics) if self.needs_factors else []
        score = self.measure(statistics)
        if self.is_scale_sensitive or (self.needs_factors and "means without std" in self.accepts):
            notes = _scale_notes(statistics.codes, is_scale_sensitive=self.is_scale_sensitive)
            score = replace(score, notes=(*score.notes, *notes))
        if self.treats_floats_as_continuous and (whole := whole_floats(statistics.codes)):
            score = replace(score, notes=(*score.notes, _WHOLE_FLOATS.format(", ".join(whole))))
        if (self.needs_factors or math.isfinite(self.bounds[1])) and (
            few := _few_images(statistics.codes, statistics.codes.factors if self.needs_factors else ())
        ):
            score = replace(score, notes=(*score.notes, few))
        if self.groups_by_value and statistics.factors_unique_per_image:
            score = replace(
                score, notes=(*score.notes, _OWN_VALUES.format(", ".join(statistics.factors_unique_per_image)))
            )
        if not constant:
            return score
        return replace(score, notes=(*score.notes, ", ".join(constant) + UNDEFINED))

    @property
    def settings(self) -> dict[str, Any]:
        """Returns every setting by name. A config among them is told by its name, and its own settings follow."""
        return settings_of(self)


# What a metric takes that reads the means of latents and looks at a factor where it is known.
OF_MEANS: frozenset[Feature] = frozenset(
    {"missing labels", "weights", "correlated posteriors", "means without std", "draws without densities"}
)

ADVICE: dict[Feature, str] = {
    "continuous factors": "If they are value indices, pass them as integers; "
    "else put them in bins with Codes.with_binned_factors.",
    "soft labels": "Pass the most likely value of each image, as integers.",
    "missing labels": "Keep the images in which the factor is known.",
    "weights": "Leave them out, or draw images from them first.",
    "means without std": "Give std or log_var. For a deterministic encoder, a metric with an estimator takes "
    "MeansHistogram() or Neighbors(), or a std of 0 and Quantized().",
    "draws without densities": "Give mean and std, or use Quantized(), which counts draws.",
    "correlated posteriors": "Give the std of each latent in place of the covariance.",
    "discrete latents": "Ask for discrete='columns', which shows their probabilities, or discrete='left_out' "
    "(--discrete on the command line).",
}


OF_FACTORS: tuple[Feature, ...] = ("continuous factors", "soft labels", "missing labels")


def factor_features(labels: Labels) -> frozenset[Feature]:
    """Returns what these labels have that not every metric takes."""
    has = (labels.is_continuous, labels.is_soft, labels.known is not None and not bool(labels.known.all()))
    return frozenset(feature for feature, found in zip(OF_FACTORS, has, strict=True) if found)


def features(codes: Codes) -> dict[Feature, str]:
    """Returns what these codes have that not every metric takes, with the factors that have it."""
    found: dict[Feature, str] = {}

    def note(feature: Feature, names: list[str]) -> None:
        if names:
            found[feature] = f" ({', '.join(names)})"

    of_factors = {labels.name: factor_features(labels) for labels in codes.factors}
    for feature in OF_FACTORS:
        note(feature, [name for name, has in of_factors.items() if feature in has])
    if codes.weights is not None:
        found["weights"] = ""
    if codes.marginal_std is None and codes.mean.shape[1] > 0:
        found["means without std" if codes.samples is None else "draws without densities"] = ""
    if codes.covariance is not None:
        found["correlated posteriors"] = ""
    if codes.probabilities:
        found["discrete latents"] = ""
    return found


def _few_images(codes: Codes, factors: Sequence[Labels]) -> str:
    """Returns a note if the codes, or the labels of a factor, are of too few images to score."""
    counted = codes.mean.new_ones(len(codes), dtype=torch.bool) if codes.weights is None else codes.weights > 0
    numbers = {"These codes are of {} images": int(counted.sum())}
    numbers |= {f"{labels.name} is known in {{}} images": int((counted & labels.is_known).sum()) for labels in factors}
    what, least = min(numbers.items(), key=lambda number: number[1])
    return "" if least >= _LEAST_IMAGES or least == 0 else _FEW_IMAGES.format(what.format(least), _LEAST_IMAGES)


def _scale_notes(codes: Codes, *, is_scale_sensitive: bool) -> tuple[str, ...]:
    """Returns what to know of means whose offset or scale hides what they hold."""
    if codes.mean.shape[1] == 0:
        return ()
    mean = codes.mean.double()
    offset, std = mean.mean(dim=0).abs(), mean.std(dim=0, correction=0)
    if bool((mean == mean[0]).all()):
        return (f"The means of no latent vary. {codes.mean.dtype} may have rounded away how they did.",)
    far = ((offset > 10) & (offset > 100 * std)).nonzero()[:, 0].tolist()
    notes = []
    if is_scale_sensitive and far:
        notes.append(
            f"The means of latents [{shown(far, most=20)}] lie around {float(offset[far[0]]):.2g} with a std of "
            f"{float(std[far[0]]):.2g}: so far from 0 the classifier may not see them vary. Subtract the mean of each "
            "latent first."
        )
    if is_scale_sensitive and float(std.max()) < _SMALL_STD:
        notes.append(
            f"No latent's means have a std above {float(std.max()):.2g}: the classifier may not see them vary. If the "
            "scale of the latents has no meaning, divide them by their std first."
        )
    return tuple(notes)


def _constant_factors(name: str, statistics: Statistics) -> list[str]:
    names = statistics.codes.factor_names
    if not names:
        raise CodesError(
            f"{name} compares latents with factors, and these codes have no factors. Give labels for at least one."
        )
    constant = [factor for factor, varies in zip(names, statistics.varies, strict=True) if not varies]
    if len(constant) == len(names):
        raise CodesError(
            f"{name}: none of the {len(names)} factors varies in these codes, so there is nothing to tell apart. "
            "Encode a sample in which at least one factor varies."
        )
    return constant
