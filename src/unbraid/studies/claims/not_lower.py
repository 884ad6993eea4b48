"""NotLower: one setting does not score below another."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

from unbraid.errors import SpecError
from unbraid.studies.claims.claim import Claim, Decision, Verdict
from unbraid.studies.statistics import of_medians
from unbraid.studies.study_scores import StudyScores


@final
@dataclass(frozen=True)
class NotLower(Claim):
    """The median of `ours` is not below that of `theirs` by `margin` or more: the 90 % interval of the difference, over
    resampled seeds, lies above -`margin` (a one-sided test at 5 %). It is not reproduced if the interval lies below 0
    and reaches beyond the margin. That no difference was found is no evidence that there is none, so a wide interval
    is undecided.
    """

    metric: str
    ours: str
    theirs: str
    margin: float

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.margin <= 0:
            raise SpecError(f"NotLower: margin is {self.margin}; expected a number above 0.")

    def subjects(self) -> tuple[Sequence[str], Sequence[str]]:
        return (self.ours, self.theirs), (self.metric,)

    def test(self, scores: StudyScores) -> Decision:
        groups = {
            "ours": scores.of_seeds(self.ours, self.metric),
            "theirs": scores.of_seeds(self.theirs, self.metric),
        }
        found = of_medians(groups, lambda medians: medians["ours"] - medians["theirs"], level=0.9)
        low, high = found.interval
        verdict: Verdict = "reproduced" if low > -self.margin else "undecided"
        if low <= -self.margin and high < 0:
            verdict = "not reproduced"
        if min(map(len, groups.values())) < 2:
            verdict = "undecided"
        reason = (
            f"The medians of {self.metric} differ by {found.value:+.3f} ({low:+.3f} to {high:+.3f}, 90 %); expected "
            f"above {-self.margin:g}, {len(groups['ours'])} and {len(groups['theirs'])} seeds."
        )
        return Decision(verdict, reason, {"difference": found.value, "low": low, "high": high})
