"""Correlated: two scores go together over settings and seeds."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, final

from unbraid.studies.claims.claim import Claim, Decision
from unbraid.studies.claims.model_correlation import ModelCorrelation, beyond_with_confidence
from unbraid.studies.study_scores import StudyScores


@final
@dataclass(frozen=True)
class Correlated(Claim):
    """Two metrics are positively, or negatively, correlated over the models of these settings: the 95 % interval of the
    rank correlation, with seeds resampled within settings, lies on that side of `beyond`.
    """

    first: str
    second: str
    settings: tuple[str, ...]
    direction: Literal["positive", "negative"] = "positive"
    beyond: float = 0.0

    def subjects(self) -> tuple[Sequence[str], Sequence[str]]:
        return self.settings, (self.first, self.second)

    def test(self, scores: StudyScores) -> Decision:
        found = ModelCorrelation.of(scores, self.settings, self.first, self.second)
        verdict = beyond_with_confidence(found.found, self.direction, self.beyond)
        return Decision(verdict, f"{found.told}.", found.numbers)
