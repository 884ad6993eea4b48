"""StronglyCorrelated: two scores go together, over settings that might have been others."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, final

from unbraid.studies.claims.claim import Claim, Decision
from unbraid.studies.claims.model_correlation import ModelCorrelation, beyond_with_confidence
from unbraid.studies.study_scores import StudyScores


@final
@dataclass(frozen=True)
class StronglyCorrelated(Claim):
    """The rank correlation of two metrics over the models of these settings is at least `strength` in this direction,
    and its 95 % interval lies beyond `beyond`. Settings are resampled, then seeds within them: the settings are a
    sample of those that might have been tried. It is not reproduced if the interval lies on the other side of `beyond`.
    """

    first: str
    second: str
    settings: tuple[str, ...]
    direction: Literal["positive", "negative"] = "positive"
    strength: float = 0.5
    beyond: float = 0.0

    def subjects(self) -> tuple[Sequence[str], Sequence[str]]:
        return self.settings, (self.first, self.second)

    def test(self, scores: StudyScores) -> Decision:
        found = ModelCorrelation.of(
            *(scores, self.settings, self.first, self.second),
            resample_settings=True,
            and_how=", settings and seeds resampled",
        )
        sign = 1.0 if self.direction == "positive" else -1.0
        reason = (
            f"{found.told}; expected {sign * self.strength:+g} or beyond, and beyond {sign * self.beyond:+g} with "
            "confidence."
        )
        verdict = beyond_with_confidence(found.found, self.direction, self.beyond, self.strength)
        return Decision(verdict, reason, found.numbers)
