"""Ratio: one setting scores so many times as much as another."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

from unbraid.errors import SpecError
from unbraid.studies.claims.claim import Claim, Decision, Verdict
from unbraid.studies.statistics import of_medians
from unbraid.studies.study_scores import StudyScores


@final
@dataclass(frozen=True)
class Ratio(Claim):
    """The median of `ours` is from `low` to `high` times that of `theirs`: the 95 % interval of the ratio, over
    resampled seeds, overlaps that range. It is for scores above 0.
    """

    metric: str
    ours: str
    theirs: str
    low: float = 0.0
    high: float | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.high is not None and self.low > self.high:
            raise SpecError(f"Ratio: low is {self.low} and high is {self.high}; expected low <= high.")

    def subjects(self) -> tuple[Sequence[str], Sequence[str]]:
        return (self.ours, self.theirs), (self.metric,)

    def test(self, scores: StudyScores) -> Decision:
        groups = {
            "ours": scores.of_seeds(self.ours, self.metric),
            "theirs": scores.of_seeds(self.theirs, self.metric),
        }
        if min(groups["theirs"]) <= 0:
            return Decision("undecided", f"{self.metric} of {self.theirs} is not above 0, so there is no ratio to it.")
        found = of_medians(groups, lambda medians: medians["ours"] / medians["theirs"])
        low, high = found.interval
        verdict: Verdict = (
            "reproduced" if (self.high is None or low <= self.high) and high >= self.low else "not reproduced"
        )
        if min(map(len, groups.values())) < 2:
            verdict = "undecided"
        reason = (
            f"The median of {self.metric} is {found.value:.2f} ({low:.2f} to {high:.2f}) times that of {self.theirs}; "
            f"expected {self._range()}."
        )
        return Decision(verdict, reason, {"ratio": found.value, "low": low, "high": high})

    def _range(self) -> str:
        if self.high is None:
            return f"at least {self.low:g}"
        return f"{self.low:g} to {self.high:g}" if self.low else f"at most {self.high:g}"
