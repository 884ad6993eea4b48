"""MostReach: most settings reach a level."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

from unbraid.errors import SpecError
from unbraid.studies.claims.claim import Claim, Decision, Verdict
from unbraid.studies.statistics import median
from unbraid.studies.study_scores import StudyScores


@final
@dataclass(frozen=True)
class MostReach(Claim):
    """At least the share `share` of the settings has a median of `value` or more. A setting surely reaches it if the
    95 % interval of its median over resampled seeds lies there, and surely does not if it lies below; where those in
    between decide, or a setting has one seed alone, the claim is undecided.
    """

    metric: str
    settings: tuple[str, ...]
    value: float
    share: float = 0.8

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 < self.share <= 1:
            raise SpecError(f"MostReach: share is {self.share}; expected a number above 0, and at most 1.")

    def subjects(self) -> tuple[Sequence[str], Sequence[str]]:
        return self.settings, (self.metric,)

    def test(self, scores: StudyScores) -> Decision:
        seen, surely, possibly = 0, 0, 0
        for label in self.settings:
            values = scores.of_seeds(label, self.metric)
            found = median(values)
            low, high = found.interval
            seen += found.value >= self.value
            surely += len(values) > 1 and low >= self.value
            possibly += len(values) == 1 or high >= self.value
        needed = self.share * len(self.settings) - 1e-9
        verdict: Verdict = "undecided"
        if surely >= needed or possibly < needed:
            verdict = "reproduced" if surely >= needed else "not reproduced"
        reason = (
            f"{seen} of {len(self.settings)} settings have a median of {self.metric} of {self.value:g} or more, "
            f"{surely} of them surely; expected {self.share:.0%} of them."
        )
        return Decision(verdict, reason, {"reach it": seen, "surely": surely, "possibly": possibly})
