"""AtMostTimes: one setting scores surely not much above another."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

import numpy as np
import scipy

from unbraid.errors import SpecError
from unbraid.studies.claims.claim import Claim, Decision, Verdict
from unbraid.studies.study_scores import StudyScores


@final
@dataclass(frozen=True)
class AtMostTimes(Claim):
    """The score of `ours` is at most `times` that of `theirs`: the 95 % interval of the mean over seeds of their ratio,
    seed by seed (Student's t), lies below. It is not reproduced if the interval lies above `refuted_above`, and
    undecided in between. It is for scores above 0, where less is better.
    """

    metric: str
    ours: str
    theirs: str
    times: float
    refuted_above: float

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 < self.times <= self.refuted_above:
            raise SpecError(
                f"AtMostTimes: times is {self.times} and refuted_above is {self.refuted_above}; expected "
                "0 < times <= refuted_above."
            )

    def subjects(self) -> tuple[Sequence[str], Sequence[str]]:
        return (self.ours, self.theirs), (self.metric,)

    def test(self, scores: StudyScores) -> Decision:
        ours, theirs = (scores.values(label, self.metric) for label in (self.ours, self.theirs))
        seeds = [seed for seed in ours if seed in theirs]
        if len(seeds) < 2:
            return Decision("undecided", f"{self.ours} and {self.theirs} share {len(seeds)} seeds; expected two.")
        if min(theirs[seed] for seed in seeds) <= 0:
            return Decision("undecided", f"{self.metric} of {self.theirs} is not above 0, so there is no ratio to it.")
        ratios = np.array([ours[seed] / theirs[seed] for seed in seeds])
        half = scipy.stats.t.ppf(0.975, len(seeds) - 1) * ratios.std(ddof=1) / math.sqrt(len(seeds))
        mean = float(ratios.mean())
        low, high = mean - float(half), mean + float(half)
        verdict: Verdict = "undecided"
        if high <= self.times:
            verdict = "reproduced"
        elif low > self.refuted_above:
            verdict = "not reproduced"
        reason = (
            f"{self.metric} is {mean:.3f} ({low:.3f} to {high:.3f}, {len(seeds)} seeds) times that of {self.theirs}; "
            f"expected at most {self.times:g} with confidence, refuted above {self.refuted_above:g}."
        )
        return Decision(verdict, reason, {"ratio": mean, "low": low, "high": high})
