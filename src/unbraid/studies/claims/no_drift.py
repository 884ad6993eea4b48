"""NoDrift: one estimate is not higher than another in nearly all settings, nor lower."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

import numpy as np

from unbraid.errors import SpecError
from unbraid.studies.claims.claim import Claim, Decision, Verdict
from unbraid.studies.study_scores import StudyScores


@final
@dataclass(frozen=True)
class NoDrift(Claim):
    """`first` lies above `second` in fewer than `most` of the settings, and below it in fewer: a bias would move nearly
    all of them the same way. The sign of a setting is that of the median difference of its seeds.
    """

    first: str
    second: str
    settings: tuple[str, ...]
    most: int

    def __post_init__(self) -> None:
        super().__post_init__()
        if not len(self.settings) / 2 < self.most <= len(self.settings):
            raise SpecError(
                f"NoDrift: most is {self.most} of {len(self.settings)} settings; expected more than half of them."
            )

    def subjects(self) -> tuple[Sequence[str], Sequence[str]]:
        return self.settings, (self.first, self.second)

    def test(self, scores: StudyScores) -> Decision:
        found = []
        for label in self.settings:
            first, second = scores.paired(label, self.first, self.second)
            if not first:
                return Decision("undecided", f"No run of {label} has both numbers.")
            found.append(float(np.median(np.subtract(first, second))))
        above, below = sum(each > 0 for each in found), sum(each < 0 for each in found)
        verdict: Verdict = "not reproduced" if max(above, below) >= self.most else "reproduced"
        reason = (
            f"{self.first} lies above {self.second} in {above} of {len(found)} settings and below it in {below}, by "
            f"{max(map(abs, found)):.3g} at most; {self.most} on one side would be a drift."
        )
        return Decision(verdict, reason, {"above": above, "below": below})
