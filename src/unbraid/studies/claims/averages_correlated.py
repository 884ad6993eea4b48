"""AveragesCorrelated: the averages of settings lie along a line."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, final

from unbraid.studies.claims.claim import Claim, Decision
from unbraid.studies.claims.model_correlation import beyond_with_confidence
from unbraid.studies.statistics.averages import averaged_pairs, correlations, estimated
from unbraid.studies.study_scores import StudyScores


@final
@dataclass(frozen=True)
class AveragesCorrelated(Claim):
    """Pearson's r of two metrics over these settings, each the average of its seeds, is at least `strength` in this
    direction, and its 95 % interval, over resampled seeds, lies beyond `beyond`. It is not reproduced if the interval
    lies on the other side of `beyond`.
    """

    first: str
    second: str
    settings: tuple[str, ...]
    direction: Literal["positive", "negative"] = "positive"
    strength: float = 0.7
    beyond: float = 0.3

    def subjects(self) -> tuple[Sequence[str], Sequence[str]]:
        return self.settings, (self.first, self.second)

    def test(self, scores: StudyScores) -> Decision:
        pairs = {label: scores.paired(label, self.first, self.second) for label in self.settings}
        found = estimated(correlations(averaged_pairs(pairs)))
        verdict = beyond_with_confidence(found, self.direction, self.beyond, self.strength)
        if min(len(x) for x, _ in pairs.values()) < 2:
            verdict = "undecided"
        sign = 1.0 if self.direction == "positive" else -1.0
        low, high = found.interval
        reason = (
            f"r of the average {self.first} and {self.second} over {len(self.settings)} settings is {found.value:+.2f} "
            f"({low:+.2f} to {high:+.2f}); expected {sign * self.strength:+g} or beyond, and beyond "
            f"{sign * self.beyond:+g} with confidence."
        )
        return Decision(verdict, reason, {"r": found.value, "low": low, "high": high})
