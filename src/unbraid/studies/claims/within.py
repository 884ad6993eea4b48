"""Within: every run has a number in a range."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

from unbraid.errors import SpecError
from unbraid.studies.claims.claim import Claim, Decision
from unbraid.studies.study_scores import StudyScores


@final
@dataclass(frozen=True)
class Within(Claim):
    """Every run of the settings has a number from `low` to `high`, both included; without one of them the range is
    open there. No test is made: it is for numbers that do not depend on chance, such as the size of a data set, and for
    laws that hold for every run.
    """

    metric: str
    settings: tuple[str, ...]
    low: float | None = None
    high: float | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.low is not None and self.high is not None and self.low > self.high:
            raise SpecError(f"Within: low is {self.low} and high is {self.high}; expected low <= high.")

    def subjects(self) -> tuple[Sequence[str], Sequence[str]]:
        return self.settings, (self.metric,)

    def test(self, scores: StudyScores) -> Decision:
        found = {
            (label, seed): value for label in self.settings for seed, value in scores.values(label, self.metric).items()
        }
        outside = {run: value for run, value in found.items() if not self._holds(value)}
        least, greatest = min(found.values()), max(found.values())
        where = f"is {_number(least)}" if least == greatest else f"lies from {least:.4g} to {greatest:.4g}"
        reason = (
            f"{self.metric} {where} ({len(found)} {'run' if len(found) == 1 else 'runs'}); expected {self._range()}."
        )
        if outside:
            (label, seed), value = next(iter(outside.items()))
            reason += f" {len(outside)} lie outside, such as {value:.4g} of {label} (seed {seed})."
        numbers = {"least": least, "greatest": greatest, "outside": float(len(outside))}
        return Decision("not reproduced" if outside else "reproduced", reason, numbers)

    def _holds(self, value: float) -> bool:
        return (self.low is None or self.low <= value) and (self.high is None or value <= self.high)

    def _range(self) -> str:
        if self.low is None or self.high is None:
            return f"at most {_number(self.high)}" if self.low is None else f"at least {_number(self.low)}"
        return _number(self.low) if self.low == self.high else f"{_number(self.low)} to {_number(self.high)}"


def _number(value: float | None) -> str:
    """Returns a count in full, and any other number with six digits."""
    if value is None:
        return "anything"
    return f"{value:,.0f}" if value.is_integer() and abs(value) < 1e15 else f"{value:,.6g}"
