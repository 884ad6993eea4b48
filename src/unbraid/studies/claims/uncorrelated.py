"""Uncorrelated: no correlation of two scores can be told."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

from unbraid.studies.claims.claim import Claim, Decision, Verdict
from unbraid.studies.statistics import correlation_over_settings
from unbraid.studies.study_scores import StudyScores

_TOO_WIDE = 1.5


@final
@dataclass(frozen=True)
class Uncorrelated(Claim):
    """The rank correlation of two metrics over the models of these settings is smaller than `below`, positive or
    negative, or its 95 % interval holds 0; settings are resampled, then seeds within them. An interval wider than 1.5
    says nothing, and leaves it undecided. `WeaklyCorrelated` asks more: that the whole interval lies near 0.
    """

    first: str
    second: str
    settings: tuple[str, ...]
    below: float = 0.3

    def subjects(self) -> tuple[Sequence[str], Sequence[str]]:
        return self.settings, (self.first, self.second)

    def test(self, scores: StudyScores) -> Decision:
        pairs = [scores.paired(label, self.first, self.second) for label in self.settings]
        found = correlation_over_settings(
            [first for first, _ in pairs], [second for _, second in pairs], resample_settings=True
        ).of_models
        low, high = found.interval
        is_so = abs(found.value) < self.below or low <= 0 <= high
        verdict: Verdict = "reproduced" if is_so else "not reproduced"
        if high - low > _TOO_WIDE:
            verdict = "undecided"
        reason = (
            f"The rank correlation of {self.first} and {self.second} over {sum(len(x) for x, _ in pairs)} models is "
            f"{found.value:+.2f} ({low:+.2f} to {high:+.2f}, settings and seeds resampled); expected 0 inside, or "
            f"between -{self.below:g} and {self.below:g}."
        )
        return Decision(verdict, reason, {"correlation": found.value, "low": low, "high": high})
