"""OnLine: two scores of all models lie on a given line."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

import numpy as np

from unbraid.errors import SpecError
from unbraid.studies.claims.claim import Claim, Decision
from unbraid.studies.study_scores import StudyScores


@final
@dataclass(frozen=True)
class OnLine(Claim):
    """Over the models of these settings, the least-squares line of `second` on `first` has this slope and this offset,
    each within its tolerance, and residuals with a standard deviation of at most `scatter`. It is for laws of
    estimates, so no test is made.
    """

    first: str
    second: str
    settings: tuple[str, ...]
    slope: float = 1.0
    slope_tolerance: float = 0.02
    offset: float = 0.0
    offset_tolerance: float = 0.03
    scatter: float = 0.03

    def __post_init__(self) -> None:
        super().__post_init__()
        if min(self.slope_tolerance, self.offset_tolerance, self.scatter) < 0:
            raise SpecError("OnLine: a tolerance is below 0; expected 0 or more.")

    def subjects(self) -> tuple[Sequence[str], Sequence[str]]:
        return self.settings, (self.first, self.second)

    def test(self, scores: StudyScores) -> Decision:
        pairs = [scores.paired(label, self.first, self.second) for label in self.settings]
        x, y = (np.concatenate([pair[side] for pair in pairs]) for side in (0, 1))
        if len(x) < 3 or float(np.ptp(x)) == 0:
            return Decision("undecided", f"Too few models differ in {self.first} to draw a line through them.")
        slope, offset = (float(each) for each in np.polyfit(x, y, 1))
        scatter = float((y - slope * x - offset).std())
        is_so = (
            abs(slope - self.slope) <= self.slope_tolerance
            and abs(offset - self.offset) <= self.offset_tolerance
            and scatter <= self.scatter
        )
        reason = (
            f"Over {len(x)} models {self.second} is {slope:.3f} times {self.first} {offset:+.3f}, with residuals of "
            f"{scatter:.3g}; expected {self.slope:g} ± {self.slope_tolerance:g}, {self.offset:+g} ± "
            f"{self.offset_tolerance:g} and at most {self.scatter:g}."
        )
        numbers = {"slope": slope, "offset": offset, "residuals": scatter}
        return Decision("reproduced" if is_so else "not reproduced", reason, numbers)
