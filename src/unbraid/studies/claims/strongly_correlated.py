"""StronglyCorrelated: two scores go together, over settings that might have been others."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, final

from unbraid.studies.claims.claim import Claim, Decision, Verdict
from unbraid.studies.statistics import correlation_over_settings
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
        pairs = [scores.paired(label, self.first, self.second) for label in self.settings]
        found = correlation_over_settings(
            [first for first, _ in pairs], [second for _, second in pairs], resample_settings=True
        ).of_models
        sign = 1.0 if self.direction == "positive" else -1.0
        near, far = sorted(sign * end for end in found.interval)
        verdict: Verdict = "undecided"
        if sign * found.value >= self.strength and near > self.beyond:
            verdict = "reproduced"
        elif far < self.beyond:
            verdict = "not reproduced"
        low, high = found.interval
        reason = (
            f"The rank correlation of {self.first} and {self.second} over {sum(len(x) for x, _ in pairs)} models is "
            f"{found.value:+.2f} ({low:+.2f} to {high:+.2f}, settings and seeds resampled); expected "
            f"{sign * self.strength:+g} or beyond, and beyond {sign * self.beyond:+g} with confidence."
        )
        return Decision(verdict, reason, {"correlation": found.value, "low": low, "high": high})
