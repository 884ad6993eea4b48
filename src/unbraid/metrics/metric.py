"""Base class of metrics, and the score that a metric returns."""

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
from unbraid._internal.progress import note_once
from unbraid._internal.short_repr import short_repr
from unbraid.codes import Codes, Labels
from unbraid.config import Config, text_of
from unbraid.config.text import split
from unbraid.errors import CodesError
from unbraid.metrics.reductions.statistics import Statistics
from unbraid.metrics.settings import check_sizes, settings_of

log = logging.getLogger(__name__)

Interval = tuple[float, float]
"""Lower and upper limit of a 95 % interval or of a metric."""
UNDEFINED = " (constant in these codes): undefined, and left out of every average."
"""Note on factors with a single value, appended to their names."""

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
"""Properties of codes that some metrics do not accept, as they appear in messages."""

_WHOLE_FLOATS = (
    "{} contains integers with a float dtype and is scored as a continuous factor. If the numbers are value indices, "
    "pass them as integers, which changes the score."
)
_OWN_VALUES = (
    "Every image has a different value of {}, so every latent that differs between images determines this factor, and "
    "the score is meaningless."
)
_FEW_IMAGES = "{}. With fewer than {} images, scores may be high or low by chance. Use more images."
_LEAST_IMAGES = 10
# For means with a smaller std, the penalty of a classifier dominates.
_SMALL_STD = 0.1
# Sums of squares of larger numbers may overflow.
_LARGEST = 1e150
# Values that exceed their bounds by less are clipped, because the difference is a rounding error.
_ROUNDING = 1e-9
QUANTILE = 1.959964
"""Half-width of a 95 % interval of a normal distribution, in standard deviations."""


@final
@dataclass(frozen=True)
class Value:
    """Value with its 95 % interval for samples of the same number of images, or None if the interval is unknown."""

    value: float
    interval: Interval | None = None

    @classmethod
    def from_standard_error(
        cls, value: float | Tensor, standard_error: float | Tensor, bounds: Interval = (-math.inf, math.inf)
    ) -> "Value":
        """Creates a value with an interval of plus or minus 1.96 standard errors, clipped to the bounds.

        A value that exceeds the bounds by a rounding error is also clipped.
        """
        value, half = float(value), QUANTILE * float(standard_error)
        nearest = min(max(value, bounds[0]), bounds[1])
        value = nearest if abs(nearest - value) < _ROUNDING else value
        if math.isnan(value) or math.isnan(half):
            return cls(value)
        return cls(value, (value - half, value + half)).within(bounds)

    def within(self, bounds: Interval) -> "Value":
        """Clips the interval to the bounds."""
        if self.interval is None:
            return self
        return Value(self.value, (max(bounds[0], self.interval[0]), min(bounds[1], self.interval[1])))


@final
@dataclass(frozen=True, eq=False)
class Score:
    """Value of a metric with the parts, tables, settings and notes of its computation.

    `parts` are other values of the same computation, by name. Undefined entries of `per_factor` and `per_latent`, e.g.
    of constant factors, are NaN. `tables` contains the matrices from which the value was computed, by name, e.g.
    "mutual_information" (latent by factor, in nats). `settled` is False if more bins or samples would change the value
    to outside its interval, and None if this is unknown. `notes` are caveats of the value. `scoring` contains the
    non-default fields of `Scoring`. Scores are comparable if metric, settings and scoring are equal.
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

    __repr__ = short_repr

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Score) and same_content(self._content(), other._content())

    __hash__ = None  # type: ignore[assignment]

    def _content(self) -> dict[str, Any]:
        return vars(self) | {"parts": {name: vars(part) for name, part in self.parts.items()}}


def score_fields(numbers: Mapping[str, Tensor], errors: Mapping[str, float]) -> dict[str, Any]:
    """Returns the fields of a score other than its value: parts, "per_factor", "per_latent" and tables.

    Numbers with an entry in `errors`, the standard errors, are parts. Other numbers are tables.
    """
    vectors = {key: number for key, number in numbers.items() if key not in errors}
    fields: dict[str, Any] = {key: vectors.pop(key) for key in ("per_factor", "per_latent") if key in vectors}
    parts = {key: Value.from_standard_error(numbers[key], error) for key, error in errors.items() if key != "value"}
    return {"parts": parts, "tables": vectors, **fields}


@dataclass(frozen=True)
class Metric(Config, ABC):
    """Base class of metrics, which are functions of codes. The fields are the settings, which scores contain.

    `higher_is_better` is None for a quantity without a preferred direction. `needs_factors` is False for a metric that
    does not read labels.
    """

    bounds: ClassVar[Interval]
    # Name of the value, if different from the name of the class.
    quantity: ClassVar[str] = ""
    higher_is_better: ClassVar[bool | None] = True
    needs_factors: ClassVar[bool] = True
    # Whether images are grouped by the value of a factor.
    groups_by_value: ClassVar[bool] = False
    # Whether the selection "all" excludes the metric.
    by_name_only: ClassVar[bool] = False
    # Whether a predictor is fitted on some images and tested on others.
    fits_predictor: ClassVar[bool] = False
    # Name of the values in `per_factor`, if different from `quantity`.
    quantity_of_factors: ClassVar[str] = ""
    # Parts that papers report as separate scores, and whether higher is better.
    reported_parts: ClassVar[Mapping[str, bool]] = MappingProxyType({})
    # Smallest and largest value of settings, by name.
    ranges: ClassVar[Mapping[str, tuple[float, float]]] = MappingProxyType({})

    def __post_init__(self) -> None:
        """Checks the types and ranges of the settings. Overrides must call this method first."""
        super().__post_init__()
        check_sizes(self, self.ranges)

    @property
    @abstractmethod
    def accepts(self) -> frozenset[Feature]:
        """Properties that codes may have beyond means, stds and a full set of discrete labels."""

    @property
    def is_scale_sensitive(self) -> bool:
        """Whether shifts or scales of latents change the score, because a classifier reads unscaled means."""
        return False

    @property
    def treats_floats_as_continuous(self) -> bool:
        """Whether float labels of a factor are scored as continuous, unlike integer labels."""
        return False

    @property
    def title(self) -> str:
        """Name of the value and the settings that differ from their defaults."""
        _, *settings = split(text_of(self), ":")
        return ", ".join([self.quantity or type(self).__name__, *(word.replace("_", " ") for word in settings)])

    @abstractmethod
    def measure(self, statistics: Statistics) -> Score:
        """Computes the score of codes that were already checked."""

    @final
    def __call__(self, codes: Codes, *, with_intervals: bool = True) -> Score:
        """Computes the score of codes. Logs a warning with the names of constant factors.

        Without `with_intervals`, the computation is faster, and the score has no intervals and no `settled`.
        """
        score = self.of(Statistics(codes, with_intervals=with_intervals))
        for note in score.notes:
            if note.endswith(UNDEFINED):
                note_once(log, f"{type(self).__name__}: {note}")
        return score

    @final
    def of(self, statistics: Statistics) -> Score:
        """Computes the score from statistics that several metrics share, and adds notes on the codes.

        Raises:
            CodesError: The metric does not support these codes.
        """
        name, codes = type(self).__name__, statistics.codes
        for feature, where in features(codes).items():
            if feature not in self.accepts:
                raise CodesError(f"{name} does not support {feature}{where}. {ADVICE[feature]}")
        _check_magnitude(codes)
        constant = _constant_factors(name, statistics) if self.needs_factors else []
        score = self.measure(statistics)
        if not statistics.with_intervals:
            parts = {part: Value(found.value) for part, found in score.parts.items()}
            score = replace(score, interval=None, parts=parts, settled=None)
        notes = list(score.notes)
        if self.is_scale_sensitive or (self.needs_factors and "means without std" in self.accepts):
            notes += _scale_notes(codes, is_scale_sensitive=self.is_scale_sensitive)
        if self.treats_floats_as_continuous and (whole := _whole_floats(codes)):
            notes.append(_WHOLE_FLOATS.format(", ".join(whole)))
        if self.needs_factors or math.isfinite(self.bounds[1]):
            notes += _few_images(codes, codes.factors if self.needs_factors else ())
        if self.groups_by_value and statistics.factors_unique_per_image:
            notes.append(_OWN_VALUES.format(", ".join(statistics.factors_unique_per_image)))
        if constant:
            notes.append(", ".join(constant) + UNDEFINED)
        return replace(score, notes=tuple(notes))

    @final
    def score(self, value: Value, factor_names: Sequence[str] = (), **fields: Any) -> Score:
        """Creates a score with a value, the name of the metric and its settings.

        `fields` are fields of `Score`. `per_factor` (in the order of `factor_names`) and `per_latent` may be tensors.
        """
        fields = {"settings": self.settings} | fields
        if isinstance(by_factor := fields.get("per_factor"), Tensor):
            fields["per_factor"] = dict(zip(factor_names, by_factor.tolist(), strict=True))
        if isinstance(by_latent := fields.get("per_latent"), Tensor):
            fields["per_latent"] = tuple(by_latent.tolist())
        return Score(type(self).__name__, value.value, value.interval, **fields)

    @property
    def settings(self) -> dict[str, Any]:
        """All settings by name. A nested config is replaced by its name and its settings."""
        return settings_of(self)


# Properties of codes that are accepted by metrics which read only means and known labels.
OF_MEANS: frozenset[Feature] = frozenset(
    {"missing labels", "weights", "correlated posteriors", "means without std", "draws without densities"}
)

ADVICE: dict[Feature, str] = {
    "continuous factors": "Pass value indices as integers, and bin measurements with Codes.with_binned_factors.",
    "soft labels": "Pass the most likely value of each image as an integer.",
    "missing labels": "Select the images with a known label.",
    "weights": "Omit the weights, or draw images with these probabilities first.",
    "means without std": "Pass std or log_var. For a deterministic encoder, use a metric with the estimator "
    "MeansHistogram() or Neighbors(), or a std of 0 and Quantized().",
    "draws without densities": "Pass mean and std, or use Quantized(), which counts draws.",
    "correlated posteriors": "Pass the std of each latent instead of the covariance.",
    "discrete latents": "Pass discrete='columns' for columns of probabilities, or discrete='left_out' "
    "(--discrete on the command line).",
}

OF_FACTORS: tuple[Feature, ...] = ("continuous factors", "soft labels", "missing labels")


def factor_features(labels: Labels) -> frozenset[Feature]:
    """Returns the properties of labels that some metrics do not accept."""
    has = (labels.is_continuous, labels.is_soft, labels.known is not None and not bool(labels.known.all()))
    return frozenset(feature for feature, found in zip(OF_FACTORS, has, strict=True) if found)


def features(codes: Codes) -> dict[Feature, str]:
    """Returns the properties of codes that some metrics do not accept, with the names of the affected factors."""
    found: dict[Feature, str] = {}
    of_factors = {labels.name: factor_features(labels) for labels in codes.factors}
    for feature in OF_FACTORS:
        if names := [name for name, has in of_factors.items() if feature in has]:
            found[feature] = f" ({', '.join(names)})"
    if codes.weights is not None:
        found["weights"] = ""
    if codes.marginal_std is None and codes.mean.shape[1] > 0:
        found["means without std" if codes.samples is None else "draws without densities"] = ""
    if codes.covariance is not None:
        found["correlated posteriors"] = ""
    if codes.probabilities:
        found["discrete latents"] = ""
    return found


def _check_magnitude(codes: Codes) -> None:
    """Raises CodesError if squares of the codes would overflow."""
    for what, table in (("mean", codes.mean), ("std", codes.marginal_std), ("draw", codes.samples)):
        largest = 0.0 if table is None or table.numel() == 0 else float(table.abs().max())
        if largest > _LARGEST:
            raise CodesError(
                f"The largest {what} is {largest:g}; expected at most {_LARGEST:g}, so that squares do not overflow. "
                "Divide the latents by a constant."
            )


def _whole_floats(codes: Codes) -> list[str]:
    """Returns the factors whose float labels are integers and occur more than once."""
    continuous = {labels.name: labels.values[labels.is_known] for labels in codes.factors if labels.is_continuous}
    return [
        name
        for name, values in continuous.items()
        if bool((values == values.round()).all()) and len(values.unique()) < len(values)
    ]


def _few_images(codes: Codes, factors: Sequence[Labels]) -> list[str]:
    """Returns a note if the codes or the labels of a factor are of too few images."""
    counted = codes.mean.new_ones(len(codes), dtype=torch.bool) if codes.weights is None else codes.weights > 0
    numbers = {"The codes have {} images": int(counted.sum())}
    numbers |= {
        f"{labels.name} has labels for {{}} images": int((counted & labels.is_known).sum()) for labels in factors
    }
    what, least = min(numbers.items(), key=lambda number: number[1])
    return [_FEW_IMAGES.format(what.format(least), _LEAST_IMAGES)] if 0 < least < _LEAST_IMAGES else []


def _scale_notes(codes: Codes, *, is_scale_sensitive: bool) -> list[str]:
    """Returns notes on means whose offset or scale is unsuitable for a classifier."""
    if codes.mean.shape[1] == 0:
        return []
    mean = codes.mean.double()
    offset, std = mean.mean(dim=0).abs(), mean.std(dim=0, correction=0)
    if bool((mean == mean[0]).all()):
        return [f"The means of all latents are constant, possibly due to rounding to {codes.mean.dtype}."]
    if not is_scale_sensitive:
        return []
    far = ((offset > 10) & (offset > 100 * std)).nonzero()[:, 0].tolist()
    notes = []
    if far:
        notes.append(
            f"The means of latents [{shown(far, most=20)}] have an average of {float(offset[far[0]]):.2g} and a std of "
            f"{float(std[far[0]]):.2g}, which reduces the accuracy of the classifier. Subtract the average of each "
            "latent first."
        )
    if float(std.max()) < _SMALL_STD:
        notes.append(
            f"The largest std of the means of a latent is {float(std.max()):.2g}, which reduces the accuracy of the "
            "classifier. If the scale of the latents is arbitrary, divide each latent by its std first."
        )
    return notes


def _constant_factors(name: str, statistics: Statistics) -> list[str]:
    names = statistics.codes.factor_names
    if not names:
        raise CodesError(
            f"{name}: the codes have no factors; expected at least one. Pass labels, e.g. factors={{'shape': labels}}."
        )
    constant = [factor for factor, varies in zip(names, statistics.varies, strict=True) if not varies]
    if len(constant) == len(names):
        raise CodesError(
            f"{name}: all {len(names)} factors are constant; expected at least one factor that varies. Encode images "
            "with different values."
        )
    return constant
