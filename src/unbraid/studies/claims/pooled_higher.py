"""PooledHigher: several settings together score above as many others."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

from unbraid.errors import SpecError
from unbraid.studies.claims.claim import Claim, Decision, judged
from unbraid.studies.statistics import compare
from unbraid.studies.study_scores import StudyScores


@final
@dataclass(frozen=True)
class PooledHigher(Claim):
    """The seeds of `ours` together score above those of `theirs`, by a one-sided Mann-Whitney test. The settings stand
    in pairs, such as one method under two conditions, and the shift of each pair is told beside it.
    """

    metric: str
    ours: tuple[str, ...]
    theirs: tuple[str, ...]
    level: float = 0.05

    def __post_init__(self) -> None:
        super().__post_init__()
        if len(self.ours) != len(self.theirs) or not self.ours:
            raise SpecError(
                f"PooledHigher: {len(self.ours)} and {len(self.theirs)} settings were given; expected as many of one "
                "kind as of the other."
            )

    def subjects(self) -> tuple[Sequence[str], Sequence[str]]:
        return (*self.ours, *self.theirs), (self.metric,)

    def test(self, scores: StudyScores) -> Decision:
        ours, theirs = (self._pooled(scores, labels) for labels in (self.ours, self.theirs))
        found, opposite = compare(ours, theirs), compare(theirs, ours)
        shifts = {
            f"{one} over {other}": compare(self._pooled(scores, [one]), self._pooled(scores, [other])).shift.value
            for one, other in zip(self.ours, self.theirs, strict=True)
        }
        told = ", ".join(f"{shift:+.3f} ({pair})" for pair, shift in shifts.items())
        reason = (
            f"P(higher) = {found.probability.value:.2f} in {self.metric}, p = {found.p_value:.2g}, {len(ours)} and "
            f"{len(theirs)} seeds; by pairs {told}."
        )
        numbers = {"probability": found.probability.value, "p": found.p_value, **shifts}
        verdict = judged(found.p_value, opposite.p_value, self.level)
        return Decision(verdict, reason, numbers, found.p_value, opposite.p_value)

    def _pooled(self, scores: StudyScores, labels: Sequence[str]) -> list[float]:
        return [value for label in labels for value in scores.values(label, self.metric).values()]
