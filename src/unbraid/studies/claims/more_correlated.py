"""MoreCorrelated: two scores go together more closely in one family than in another."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, final

from unbraid.studies.claims.claim import Claim, Decision, Verdict
from unbraid.studies.statistics.averages import Points, averaged_pairs, correlations, estimated
from unbraid.studies.study_scores import StudyScores


@final
@dataclass(frozen=True)
class MoreCorrelated(Claim):
    """Pearson's r of two metrics over the averages of the settings `ours` lies further in this direction than that over
    `theirs`: the 90 % interval of the difference, over resampled seeds, lies on that side of 0. The two may share
    settings, such as the end of both sweeps.
    """

    first: str
    second: str
    ours: tuple[str, ...]
    theirs: tuple[str, ...]
    direction: Literal["positive", "negative"] = "negative"

    def subjects(self) -> tuple[Sequence[str], Sequence[str]]:
        return tuple(dict.fromkeys((*self.ours, *self.theirs))), (self.first, self.second)

    def test(self, scores: StudyScores) -> Decision:
        ours, theirs = (self._averages(scores, labels) for labels in (self.ours, self.theirs))
        sign = 1.0 if self.direction == "positive" else -1.0
        r, others = correlations(ours), correlations(theirs)
        found = estimated(r - others, level=0.9)
        low, high = found.interval
        verdict: Verdict = "undecided"
        if not low <= 0 <= high:
            verdict = "reproduced" if sign * low > 0 else "not reproduced"
        if min(len(scores.values(label, self.first)) for label in self.subjects()[0]) < 2:
            verdict = "undecided"
        reason = (
            f"r of the average {self.first} and {self.second} is {r[0]:+.2f}, and {others[0]:+.2f} in the others: a "
            f"difference of {found.value:+.2f} ({low:+.2f} to {high:+.2f}, 90 %)."
        )
        return Decision(verdict, reason, {"r": float(r[0]), "other r": float(others[0]), "low": low, "high": high})

    def _averages(self, scores: StudyScores, labels: Sequence[str]) -> Points:
        return averaged_pairs({label: scores.paired(label, self.first, self.second) for label in labels})
