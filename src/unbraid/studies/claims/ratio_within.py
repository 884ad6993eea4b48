"""RatioWithin: one number of a run is so many times another."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

from unbraid.errors import SpecError
from unbraid.studies.claims.claim import Claim, Decision, Verdict
from unbraid.studies.study_scores import StudyScores


@final
@dataclass(frozen=True)
class RatioWithin(Claim):
    """In at least the `share` of the runs of these settings, `first` is from `low` to `high` times `second`. Both are
    numbers of the same run, and `second` is to be above 0; where it is not, the run does not count as within. No test
    is made; of one run it is undecided.
    """

    first: str
    second: str
    settings: tuple[str, ...]
    low: float = 0.0
    high: float | None = None
    share: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.high is not None and self.low > self.high:
            raise SpecError(f"RatioWithin: low is {self.low} and high is {self.high}; expected low <= high.")
        if not 0 < self.share <= 1:
            raise SpecError(f"RatioWithin: share is {self.share}; expected a number above 0, and at most 1.")

    def subjects(self) -> tuple[Sequence[str], Sequence[str]]:
        return self.settings, (self.first, self.second)

    def test(self, scores: StudyScores) -> Decision:
        pairs = [
            pair for label in self.settings for pair in zip(*scores.paired(label, self.first, self.second), strict=True)
        ]
        ratios = [first / second for first, second in pairs if second > 0]
        if not ratios:
            return Decision("undecided", f"{self.second} is above 0 in no run, so there is no ratio to it.")
        inside = sum(self.low <= ratio and (self.high is None or ratio <= self.high) for ratio in ratios)
        verdict: Verdict = "reproduced" if inside >= self.share * len(pairs) - 1e-9 else "not reproduced"
        if len(pairs) < 2:
            verdict = "undecided"
        reason = (
            f"{self.first} is {min(ratios):.3g} to {max(ratios):.3g} times {self.second} over {len(pairs)} runs; "
            f"{inside} of them have {self._range()}; expected {self.share:.0%}."
        )
        numbers = {"least": min(ratios), "greatest": max(ratios), "inside": inside / len(pairs)}
        return Decision(verdict, reason, numbers)

    def _range(self) -> str:
        if self.high is None:
            return f"at least {self.low:g}"
        return f"{self.low:g} to {self.high:g}" if self.low else f"at most {self.high:g}"
