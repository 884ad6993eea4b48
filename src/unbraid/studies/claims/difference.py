"""Difference: two numbers of every run lie so far apart."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

from unbraid.errors import SpecError
from unbraid.studies.claims.claim import Claim, Decision
from unbraid.studies.study_scores import StudyScores


@final
@dataclass(frozen=True)
class Difference(Claim):
    """In at least the `share` of the runs of these settings, `first` less `second` lies from `low` to `high`, both
    included. Both are numbers of the same run, so no test is made: it is for laws, such as how two estimates of one
    quantity go together.
    """

    first: str
    second: str
    settings: tuple[str, ...]
    low: float | None = None
    high: float | None = None
    share: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self._low <= self._high:
            raise SpecError(f"Difference: low is {self.low} and high is {self.high}; expected low <= high.")
        if not 0 < self.share <= 1:
            raise SpecError(f"Difference: share is {self.share}; expected a number above 0, and at most 1.")

    @property
    def _low(self) -> float:
        return float("-inf") if self.low is None else self.low

    @property
    def _high(self) -> float:
        return float("inf") if self.high is None else self.high

    def subjects(self) -> tuple[Sequence[str], Sequence[str]]:
        return self.settings, (self.first, self.second)

    def test(self, scores: StudyScores) -> Decision:
        found = [
            one - other
            for label in self.settings
            for one, other in zip(*scores.paired(label, self.first, self.second), strict=True)
        ]
        if not found:
            return Decision("undecided", "No run has both numbers.")
        inside = sum(self._low <= difference <= self._high for difference in found)
        reason = (
            f"{self.first} less {self.second} lies from {min(found):.4g} to {max(found):.4g} over {len(found)} runs; "
            f"{inside} of them have {self._range()}."
        )
        numbers = {"least": min(found), "greatest": max(found), "inside": inside / len(found)}
        return Decision("reproduced" if inside >= self.share * len(found) else "not reproduced", reason, numbers)

    def _range(self) -> str:
        if self.low is None:
            return f"at most {self._high:g}, as expected"
        end = f"at least {self.low:g}" if self.high is None else f"{self.low:g} to {self.high:g}"
        return f"{end}, as expected"
