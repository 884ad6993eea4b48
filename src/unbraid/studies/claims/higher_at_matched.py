"""HigherAtMatched: one family scores above another where a second score is the same."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

from unbraid.studies.claims.claim import Claim, Decision, Verdict
from unbraid.studies.statistics.averages import Points, averaged_pairs, estimated, mean_height
from unbraid.studies.study_scores import StudyScores


@final
@dataclass(frozen=True)
class HigherAtMatched(Claim):
    """At the same value of `matched`, the settings `ours` score above `theirs` in the metric: averages of settings are
    joined by straight lines over `matched`, and the mean height of the lines over the range that both have differs by
    an amount whose 95 % interval, over resampled seeds, lies above 0.
    """

    metric: str
    matched: str
    ours: tuple[str, ...]
    theirs: tuple[str, ...]

    def subjects(self) -> tuple[Sequence[str], Sequence[str]]:
        return tuple(dict.fromkeys((*self.ours, *self.theirs))), (self.metric, self.matched)

    def test(self, scores: StudyScores) -> Decision:
        ours, theirs = (self._averages(scores, labels) for labels in (self.ours, self.theirs))
        low_end = max(points[0, :, 0].min() for points in (ours, theirs))
        high_end = min(points[0, :, 0].max() for points in (ours, theirs))
        if not low_end < high_end:
            return Decision("undecided", f"The two have no common range of {self.matched}.")
        found = estimated(mean_height(ours, low_end, high_end) - mean_height(theirs, low_end, high_end))
        low, high = found.interval
        verdict: Verdict = "undecided"
        if not low <= 0 <= high:
            verdict = "reproduced" if low > 0 else "not reproduced"
        if min(len(scores.values(label, self.metric)) for label in self.subjects()[0]) < 2:
            verdict = "undecided"
        reason = (
            f"At the same {self.matched}, from {low_end:.3g} to {high_end:.3g}, {self.metric} differs by "
            f"{found.value:+.3f} ({low:+.3f} to {high:+.3f})."
        )
        return Decision(verdict, reason, {"difference": found.value, "low": low, "high": high})

    def _averages(self, scores: StudyScores, labels: Sequence[str]) -> Points:
        return averaged_pairs({label: scores.paired(label, self.matched, self.metric) for label in labels})
