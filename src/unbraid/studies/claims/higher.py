"""Higher: one setting scores above another."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

from unbraid.studies.claims.claim import Claim, Decision, judged
from unbraid.studies.statistics import compare, seeds_needed
from unbraid.studies.study_scores import StudyScores


@final
@dataclass(frozen=True)
class Higher(Claim):
    """`ours` scores above `theirs` in the metric, by a one-sided exact Mann-Whitney test over seeds.

    If the test of the opposite is significant, the claim is not reproduced; if neither is, it is undecided.
    """

    metric: str
    ours: str
    theirs: str
    level: float = 0.05

    def subjects(self) -> tuple[Sequence[str], Sequence[str]]:
        return (self.ours, self.theirs), (self.metric,)

    def test(self, scores: StudyScores) -> Decision:
        ours = scores.of_seeds(self.ours, self.metric)
        theirs = scores.of_seeds(self.theirs, self.metric)
        found, opposite = compare(ours, theirs), compare(theirs, ours)
        low, high = found.shift.interval
        verdict = judged(found.p_value, opposite.p_value, self.level)
        needed = seeds_needed(ours, theirs, level=self.level)
        advice = (
            f" About {needed} seeds each would tell, if the difference is what it seems."
            if verdict == "undecided" and needed
            else ""
        )
        reason = (
            f"{self.ours} lies {found.shift.value:+.3f} ({low:.3f} to {high:.3f}) from {self.theirs} in {self.metric}; "
            f"P(higher) = {found.probability.value:.2f}, p = {found.p_value:.2g}, {len(ours)} and {len(theirs)} seeds."
        )
        numbers = {
            "shift": found.shift.value,
            "shift low": low,
            "shift high": high,
            "probability": found.probability.value,
            "p": found.p_value,
            "p of the opposite": opposite.p_value,
        }
        return Decision(verdict, reason + advice, numbers, found.p_value, opposite.p_value)
