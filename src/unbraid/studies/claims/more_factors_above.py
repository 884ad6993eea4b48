"""MoreFactorsAbove: one setting has more factors with a high score than another."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

from unbraid.studies.claims.claim import Claim, Decision, judged
from unbraid.studies.statistics import compare
from unbraid.studies.study_scores import StudyScores


@final
@dataclass(frozen=True)
class MoreFactorsAbove(Claim):
    """More factors have a score of `threshold` or more in a model of `ours` than in one of `theirs`, by a one-sided
    exact Mann-Whitney test of their numbers over seeds.
    """

    metric: str
    ours: str
    theirs: str
    threshold: float
    level: float = 0.05

    def subjects(self) -> tuple[Sequence[str], Sequence[str]]:
        return (self.ours, self.theirs), (self.metric,)

    def test(self, scores: StudyScores) -> Decision:
        ours, theirs = (self._counts(scores, label) for label in (self.ours, self.theirs))
        found, opposite = compare(ours, theirs), compare(theirs, ours)
        means = sum(ours) / len(ours), sum(theirs) / len(theirs)
        reason = (
            f"On average {means[0]:.1f} factors have {self.metric} of {self.threshold:g} or more, and {means[1]:.1f} "
            f"in {self.theirs}; P(more) = {found.probability.value:.2f}, p = {found.p_value:.2g}, {len(ours)} and "
            f"{len(theirs)} seeds."
        )
        numbers = {"mean": means[0], "other mean": means[1], "p": found.p_value}
        verdict = judged(found.p_value, opposite.p_value, self.level)
        return Decision(verdict, reason, numbers, found.p_value, opposite.p_value)

    def _counts(self, scores: StudyScores, label: str) -> list[float]:
        """Returns how many factors reach the threshold in each seed that has a score."""
        counts = dict.fromkeys(scores.values(label, self.metric), 0.0)
        for number in scores:
            is_asked = (number.setting, number.metric, number.scoring) == (label, self.metric, "")
            if is_asked and number.quantity == "factor" and number.value >= self.threshold and number.seed in counts:
                counts[number.seed] += 1
        return list(counts.values())
