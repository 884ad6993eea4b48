"""Reaches: the median or the mean of a setting is at a level."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, final

from unbraid.studies.claims.claim import Claim, Decision, Verdict
from unbraid.studies.statistics import median
from unbraid.studies.statistics.averages import averaged, estimated
from unbraid.studies.study_scores import StudyScores


@final
@dataclass(frozen=True)
class Reaches(Claim):
    """The median of a setting, or its mean, is at least `value`, and the lower end of its 95 % interval, over resampled
    seeds, is at least `surely`, where that is given. It is not reproduced if the whole interval lies below `value`.
    `AtLeast` asks more: that the whole interval lies above.
    """

    metric: str
    setting: str
    value: float
    surely: float | None = None
    statistic: Literal["median", "mean"] = "median"

    def subjects(self) -> tuple[Sequence[str], Sequence[str]]:
        return (self.setting,), (self.metric,)

    def test(self, scores: StudyScores) -> Decision:
        values = scores.of_seeds(self.setting, self.metric)
        found = median(values) if self.statistic == "median" else estimated(averaged({self.setting: values})[:, 0])
        low, high = found.interval
        verdict: Verdict = "undecided"
        if found.value >= self.value and (self.surely is None or low >= self.surely):
            verdict = "reproduced"
        elif high < self.value:
            verdict = "not reproduced"
        if len(values) < 2:
            verdict = "undecided"
        surely = "" if self.surely is None else f", and surely {self.surely:g}"
        reason = (
            f"The {self.statistic} of {self.metric} is {found.value:.3f} ({low:.3f} to {high:.3f}, {len(values)} "
            f"seeds); expected at least {self.value:g}{surely}."
        )
        return Decision(verdict, reason, {self.statistic: found.value, "low": low, "high": high})
