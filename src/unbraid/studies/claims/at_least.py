"""AtLeast: a setting reaches a level."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, final

from unbraid.studies.claims.claim import Claim, Decision, Verdict
from unbraid.studies.statistics import median
from unbraid.studies.study_scores import StudyScores


@final
@dataclass(frozen=True)
class AtLeast(Claim):
    """The median of a setting, or its best seed, is at least `value`. Of a median, the 95 % interval over resampled
    seeds decides, and it is undecided where `value` lies within it; a best seed is as it is.
    """

    metric: str
    setting: str
    value: float
    statistic: Literal["median", "best"] = "median"

    def subjects(self) -> tuple[Sequence[str], Sequence[str]]:
        return (self.setting,), (self.metric,)

    def test(self, scores: StudyScores) -> Decision:
        values = scores.of_seeds(self.setting, self.metric)
        if self.statistic == "best":
            best = max(values)
            reason = f"The best of {len(values)} seeds has {self.metric} {best:.3f}; expected at least {self.value:g}."
            return Decision("reproduced" if best >= self.value else "not reproduced", reason, {"best": best})
        found = median(values)
        low, high = found.interval
        verdict: Verdict = "undecided"
        if len(values) > 1 and not low < self.value <= high:
            verdict = "reproduced" if low >= self.value else "not reproduced"
        reason = (
            f"The median of {self.metric} is {found.value:.3f} ({low:.3f} to {high:.3f}, {len(values)} seeds); "
            f"expected at least {self.value:g}."
        )
        return Decision(verdict, reason, {"median": found.value, "low": low, "high": high})
