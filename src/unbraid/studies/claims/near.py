"""Near: a score is about what was printed."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

from unbraid.studies.claims.claim import Claim, Decision, Verdict
from unbraid.studies.statistics import best_of, median
from unbraid.studies.statistics.samples import Estimate
from unbraid.studies.study_scores import StudyScores


@final
@dataclass(frozen=True)
class Near(Claim):
    """The median of a setting is `value` within `tolerance`. It is undecided where the median lies outside that range
    and its 95 % interval reaches into it. With `best_of` it is the best of so many seeds, for a paper that shows its
    best model.
    """

    metric: str
    setting: str
    value: float
    tolerance: float
    best_of: int | None = None

    def subjects(self) -> tuple[Sequence[str], Sequence[str]]:
        return (self.setting,), (self.metric,)

    def test(self, scores: StudyScores) -> Decision:
        values = scores.of_seeds(self.setting, self.metric)
        found = median(values) if self.best_of is None else self._best(scores, values)
        low, high = found.interval
        least, most = self.value - self.tolerance, self.value + self.tolerance
        verdict: Verdict = "reproduced" if least <= found.value <= most else "not reproduced"
        reaches = low <= most and high >= least
        if len(values) < 2 or (verdict == "not reproduced" and reaches):
            verdict = "undecided"
        reason = (
            f"{self._what} of {self.metric} is {found.value:.3f} ({low:.3f} to {high:.3f}, {len(values)} seeds); "
            f"expected {self.value:g} within {self.tolerance:g}."
        )
        name = "median" if self.best_of is None else "best"
        return Decision(verdict, reason, {name: found.value, "low": low, "high": high})

    @property
    def _what(self) -> str:
        return "The median" if self.best_of is None else f"The best of {self.best_of} seeds"

    def _best(self, scores: StudyScores, values: list[float]) -> Estimate:
        is_low = scores.higher_is_better.get(self.metric) is False
        return best_of(values, self.best_of or 1, higher_is_better=not is_low)
