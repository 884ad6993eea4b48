"""Equivalent: two settings score about the same."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

from unbraid.studies.claims.claim import Claim, Decision, Verdict
from unbraid.studies.statistics import equivalence
from unbraid.studies.study_scores import StudyScores

_VERDICTS: dict[str, Verdict] = {
    "equivalent": "reproduced",
    "different": "not reproduced",
    "undecided": "undecided",
}


@final
@dataclass(frozen=True)
class Equivalent(Claim):
    """The medians of two settings differ by less than `margin`: the 90 % interval of their difference, over resampled
    seeds, lies within it (two one-sided tests at 5 %).
    """

    metric: str
    ours: str
    theirs: str
    margin: float

    def subjects(self) -> tuple[Sequence[str], Sequence[str]]:
        return (self.ours, self.theirs), (self.metric,)

    def test(self, scores: StudyScores) -> Decision:
        ours = scores.of_seeds(self.ours, self.metric)
        theirs = scores.of_seeds(self.theirs, self.metric)
        found = equivalence(ours, theirs, self.margin)
        low, high = found.difference.interval
        reason = (
            f"The medians of {self.metric} differ by {found.difference.value:+.3f} ({low:+.3f} to {high:+.3f}, 90 %); "
            f"the margin is {self.margin:g}, {len(ours)} and {len(theirs)} seeds."
        )
        numbers = {"difference": found.difference.value, "low": low, "high": high}
        return Decision(_VERDICTS[found.verdict], reason, numbers)
