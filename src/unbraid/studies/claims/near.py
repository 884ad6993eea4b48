"""Near: a score is about what was printed."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

from unbraid.studies.claims.claim import Claim, Decision, Verdict
from unbraid.studies.statistics import median
from unbraid.studies.study_scores import StudyScores


@final
@dataclass(frozen=True)
class Near(Claim):
    """The median of a setting is `value` within `tolerance`: the 95 % interval of the median overlaps that range."""

    metric: str
    setting: str
    value: float
    tolerance: float

    def subjects(self) -> tuple[Sequence[str], Sequence[str]]:
        return (self.setting,), (self.metric,)

    def test(self, scores: StudyScores) -> Decision:
        values = list(scores.values(self.setting, self.metric).values())
        found = median(values)
        low, high = found.interval
        overlaps = low <= self.value + self.tolerance and high >= self.value - self.tolerance
        verdict: Verdict = "reproduced" if overlaps else "not reproduced"
        if len(values) < 2:
            verdict = "undecided"
        reason = (
            f"The median of {self.metric} is {found.value:.3f} ({low:.3f} to {high:.3f}, {len(values)} seeds); "
            f"expected {self.value:g} within {self.tolerance:g}."
        )
        return Decision(verdict, reason, {"median": found.value, "low": low, "high": high})
