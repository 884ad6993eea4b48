"""FoundAmong: one of several settings scores as was printed."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

from unbraid.errors import SpecError
from unbraid.recipes import Recipe
from unbraid.studies.claims.claim import Claim, Decision
from unbraid.studies.statistics import median
from unbraid.studies.study_scores import StudyScores


@final
@dataclass(frozen=True)
class PrintedRange(Recipe):
    """A metric, and the ends of the range that was printed for it."""

    metric: str
    low: float
    high: float

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.low < self.high:
            raise SpecError(f"PrintedRange: low is {self.low} and high is {self.high}; expected low < high.")


@final
@dataclass(frozen=True)
class FoundAmong(Claim):
    """One of these settings has a median inside every one of the ranges. It tells which setting lies nearest: that with
    the smallest sum of distances, each as a share of the width of its range.
    """

    settings: tuple[str, ...]
    ranges: tuple[PrintedRange, ...]

    def subjects(self) -> tuple[Sequence[str], Sequence[str]]:
        return self.settings, tuple(each.metric for each in self.ranges)

    def test(self, scores: StudyScores) -> Decision:
        medians = {
            label: [median(scores.of_seeds(label, each.metric)).value for each in self.ranges]
            for label in self.settings
        }
        distances = {label: self._distance(found) for label, found in medians.items()}
        nearest = min(distances, key=lambda label: distances[label])
        told = ", ".join(
            f"{each.metric} {value:.4g} (printed {each.low:g} to {each.high:g})"
            for each, value in zip(self.ranges, medians[nearest], strict=True)
        )
        reason = f"The nearest of {len(self.settings)} settings is {nearest}: {told}."
        return Decision("not reproduced" if distances[nearest] > 0 else "reproduced", reason, distances)

    def _distance(self, values: Sequence[float]) -> float:
        return sum(
            max(each.low - value, value - each.high, 0.0) / (each.high - each.low)
            for each, value in zip(self.ranges, values, strict=True)
        )
