"""Interaction: a change gains more in one place than in another."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

from unbraid.studies.claims.claim import Claim, Decision, Verdict
from unbraid.studies.statistics import of_medians
from unbraid.studies.study_scores import StudyScores


@final
@dataclass(frozen=True)
class Interaction(Claim):
    """`ours` lies further above `theirs` than `other_ours` above `other_theirs`: the 95 % interval of the difference of
    the two differences of medians, over resampled seeds, lies above 0.
    """

    metric: str
    ours: str
    theirs: str
    other_ours: str
    other_theirs: str

    def subjects(self) -> tuple[Sequence[str], Sequence[str]]:
        return (self.ours, self.theirs, self.other_ours, self.other_theirs), (self.metric,)

    def test(self, scores: StudyScores) -> Decision:
        labels = self.subjects()[0]
        groups = {label: scores.of_seeds(label, self.metric) for label in labels}
        found = of_medians(
            groups, lambda m: m[self.ours] - m[self.theirs] - (m[self.other_ours] - m[self.other_theirs])
        )
        low, high = found.interval
        verdict: Verdict = "undecided"
        if min(map(len, groups.values())) > 1 and not low <= 0 <= high:
            verdict = "reproduced" if low > 0 else "not reproduced"
        reason = (
            f"In {self.metric}, {self.ours} gains {found.value:+.3f} ({low:+.3f} to {high:+.3f}) more over "
            f"{self.theirs} than {self.other_ours} over {self.other_theirs}."
        )
        return Decision(verdict, reason, {"interaction": found.value, "low": low, "high": high})
