"""TellsApart: a score tells the models of two families apart, or does not."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

import numpy as np

from unbraid.errors import SpecError
from unbraid.studies.claims.claim import Claim, Decision, Verdict
from unbraid.studies.statistics import shares_in_order
from unbraid.studies.statistics.averages import estimated
from unbraid.studies.study_scores import StudyScores


@final
@dataclass(frozen=True)
class TellsApart(Claim):
    """The area under the ROC curve of telling the models of `ours` from those of `theirs` by the metric lies from `low`
    to `high`. It is that of the better direction, so 0.5 is chance and 1 is fully apart. Outside, it is undecided where
    the 95 % interval, over resampled seeds, reaches into that range.
    """

    metric: str
    ours: tuple[str, ...]
    theirs: tuple[str, ...]
    low: float = 0.5
    high: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0.5 <= self.low <= self.high <= 1:
            raise SpecError(f"TellsApart: low is {self.low} and high is {self.high}; expected 0.5 <= low <= high <= 1.")
        if not self.ours or not self.theirs or set(self.ours) & set(self.theirs):
            raise SpecError("TellsApart: expected two families of settings that have none in common.")

    def subjects(self) -> tuple[Sequence[str], Sequence[str]]:
        return (*self.ours, *self.theirs), (self.metric,)

    def test(self, scores: StudyScores) -> Decision:
        groups = {label: scores.of_seeds(label, self.metric) for label in dict.fromkeys(self.subjects()[0])}
        shares = shares_in_order(groups, [(other, one) for one in self.ours for other in self.theirs])
        found = estimated(np.maximum(shares, 1 - shares))
        low, high = found.interval
        verdict: Verdict = "undecided"
        if self.low <= found.value <= self.high:
            verdict = "reproduced"
        elif high < self.low or low > self.high:
            verdict = "not reproduced"
        if min(map(len, groups.values())) < 2:
            verdict = "undecided"
        side = "above" if shares[0] >= 0.5 else "below"
        reason = (
            f"By {self.metric} the families are told apart with an AUC of {found.value:.2f} ({low:.2f} to {high:.2f}), "
            f"{self.ours[0]} and its like {side}; expected {self._range()}."
        )
        return Decision(verdict, reason, {"auc": found.value, "low": low, "high": high})

    def _range(self) -> str:
        if self.high == 1:
            return f"at least {self.low:g}"
        return f"at most {self.high:g}" if self.low == 0.5 else f"{self.low:g} to {self.high:g}"
