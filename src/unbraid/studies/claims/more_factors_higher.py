"""MoreFactorsHigher: one setting scores above another in most factors."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

import numpy as np
from jaxtyping import Float64

from unbraid import sampling
from unbraid.errors import SpecError
from unbraid.studies.claims.claim import Claim, Decision, Verdict
from unbraid.studies.statistics.samples import NUM_RESAMPLES, percentiles
from unbraid.studies.study_scores import StudyScores


@final
@dataclass(frozen=True)
class MoreFactorsHigher(Claim):
    """In at least `least` factors the median of `ours` is above that of `theirs`; a tie counts against it. The 95 %
    interval of the number of such factors decides, with seeds resampled, each of which keeps all its factors: it is
    undecided where `least` lies within.
    """

    metric: str
    ours: str
    theirs: str
    least: int

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.least < 1:
            raise SpecError(f"MoreFactorsHigher: least is {self.least}; expected 1 factor or more.")

    def subjects(self) -> tuple[Sequence[str], Sequence[str]]:
        return (self.ours, self.theirs), (self.metric,)

    def test(self, scores: StudyScores) -> Decision:
        names = scores.factors.get(self.metric, [])
        if not names:
            return Decision("undecided", f"No run has {self.metric} of a factor.")
        ours, theirs = (self._table(scores, label, names) for label in (self.ours, self.theirs))
        if not len(ours) or not len(theirs):
            return Decision("undecided", f"No seed has {self.metric} of all {len(names)} factors.")
        differences = np.median(ours, axis=0) - np.median(theirs, axis=0)
        above, below = int((differences > 0).sum()), int((differences < 0).sum())
        ends = percentiles(self._counts(ours, theirs), 0.95)
        verdict: Verdict = "undecided"
        if min(len(ours), len(theirs)) > 1 and not ends[0] < self.least <= ends[1]:
            verdict = "reproduced" if ends[0] >= self.least else "not reproduced"
        reason = (
            f"By medians, {self.ours} is above {self.theirs} in {above} of {len(names)} factors ({ends[0]:.0f} to "
            f"{ends[1]:.0f}), ties in {len(names) - above - below} and is below in {below}; expected at least "
            f"{self.least}, {len(ours)} and {len(theirs)} seeds."
        )
        return Decision(verdict, reason, {"above": above, "below": below, "low": ends[0], "high": ends[1]})

    def _table(self, scores: StudyScores, label: str, names: Sequence[str]) -> Float64[np.ndarray, "seed factor"]:
        """Returns the scores of the seeds that have one of every factor."""
        columns = [scores.values(label, self.metric, name) for name in names]
        seeds = [seed for seed in columns[0] if all(seed in column for column in columns)]
        return np.array([[column[seed] for column in columns] for seed in seeds]).reshape(len(seeds), len(names))

    @staticmethod
    def _counts(
        ours: Float64[np.ndarray, "seed factor"], theirs: Float64[np.ndarray, "other_seed factor"]
    ) -> Float64[np.ndarray, " resample"]:
        """Returns in how many factors ours has the higher median, in lists of resampled seeds."""
        medians = []
        for which, table in (("ours", ours), ("theirs", theirs)):
            drawn = sampling.uniform((NUM_RESAMPLES, len(table)), 0, f"factors of {which}").numpy()
            rows = np.minimum((drawn * len(table)).astype(np.int64), len(table) - 1)
            medians.append(np.median(table[rows], axis=1))
        return (medians[0] > medians[1]).sum(axis=1).astype(np.float64)
