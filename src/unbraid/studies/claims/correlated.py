"""Correlated: two scores go together over settings and seeds."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, final

from unbraid.studies.claims.claim import Claim, Decision, Verdict
from unbraid.studies.statistics import correlation_over_settings
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
        pairs = [scores.paired(label, self.first, self.second) for label in self.settings]
        found = correlation_over_settings([first for first, _ in pairs], [second for _, second in pairs]).of_models
        sign = 1.0 if self.direction == "positive" else -1.0
        near, far = sorted(sign * end for end in found.interval)
        verdict: Verdict = "undecided"
        if near > self.beyond:
            verdict = "reproduced"
        elif far < self.beyond:
            verdict = "not reproduced"
        low, high = found.interval
        reason = (
            f"The rank correlation of {self.first} and {self.second} over {sum(len(x) for x, _ in pairs)} models is "
            f"{found.value:+.2f} ({low:+.2f} to {high:+.2f})."
        )
        return Decision(verdict, reason, {"correlation": found.value, "low": low, "high": high})
