"""BestOnFactors: one setting has the best score of most factors."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, final

import numpy as np
from jaxtyping import Bool

from unbraid.errors import SpecError
from unbraid.studies.claims.claim import Claim, Decision, Verdict
from unbraid.studies.statistics import resampled_medians
from unbraid.studies.statistics.medians import Medians
from unbraid.studies.statistics.samples import percentiles
from unbraid.studies.study_scores import StudyScores, metric_and_part

_NUM_RESAMPLES = 500


@final
@dataclass(frozen=True)
class BestOnFactors(Claim):
    """For at least `least` factors, the median of `ours` is above that of each of `theirs`, or below it where the
    lowest score is asked for. With fewer, it is undecided where the 95 % interval of their number, over resampled
    seeds, reaches `least`.
    """

    metric: str
    ours: str
    theirs: tuple[str, ...]
    least: int
    which: Literal["highest", "lowest"] = "highest"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.least < 1 or not self.theirs:
            raise SpecError("BestOnFactors: expected at least one factor, and at least one other setting.")

    def subjects(self) -> tuple[Sequence[str], Sequence[str]]:
        return (self.ours, *self.theirs), (self.metric,)

    def test(self, scores: StudyScores) -> Decision:
        metric = metric_and_part(self.metric, scores.higher_is_better)[0]
        factors = scores.factors.get(metric, [])
        if len(factors) < self.least:
            return Decision(
                "undecided", f"{metric} has numbers of {len(factors)} factors; expected {self.least} or more."
            )
        seen, resampled = 0, np.zeros(_NUM_RESAMPLES)
        for factor in factors:
            groups = {label: scores.of_seeds(label, metric, factor) for label in self.subjects()[0]}
            medians = resampled_medians(groups, num_resamples=_NUM_RESAMPLES)
            seen += bool(self._is_best({label: np.array([np.median(values)]) for label, values in groups.items()})[0])
            resampled += self._is_best(medians)
        low, high = percentiles(resampled, 0.95)
        verdict: Verdict = "reproduced" if seen >= self.least else "not reproduced"
        few = min(len(scores.values(label, self.metric)) for label in self.subjects()[0]) < 2
        if few or (seen < self.least <= high):
            verdict = "undecided"
        reason = (
            f"{self.ours} has the {self.which} median of {metric} for {seen} of {len(factors)} factors ({low:.0f} to "
            f"{high:.0f}); expected {self.least}."
        )
        return Decision(verdict, reason, {"factors": seen, "low": low, "high": high})

    def _is_best(self, medians: Medians) -> Bool[np.ndarray, " resample"]:
        """Returns in which resamples ours has the best median."""
        sign = 1 if self.which == "highest" else -1
        rivals = np.max([sign * medians[label] for label in self.theirs], axis=0)
        return sign * medians[self.ours] > rivals
