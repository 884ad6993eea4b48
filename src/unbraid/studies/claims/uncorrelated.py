"""Uncorrelated: no correlation of two scores can be told."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

from unbraid.studies.claims.claim import Claim, Decision, Verdict
from unbraid.studies.claims.model_correlation import ModelCorrelation
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
        found = ModelCorrelation.of(
            *(scores, self.settings, self.first, self.second),
            resample_settings=True,
            and_how=", settings and seeds resampled",
        )
        low, high = found.found.interval
        is_so = abs(found.found.value) < self.below or low <= 0 <= high
        verdict: Verdict = "reproduced" if is_so else "not reproduced"
        if high - low > _TOO_WIDE:
            verdict = "undecided"
        reason = f"{found.told}; expected 0 inside, or between -{self.below:g} and {self.below:g}."
        return Decision(verdict, reason, found.numbers)
