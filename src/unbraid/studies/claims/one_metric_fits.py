"""OneMetricFits: one of several metrics gives all that was printed."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

from unbraid.errors import SpecError
from unbraid.studies.claims.claim import Claim, Decision, Verdict
from unbraid.studies.statistics import median
from unbraid.studies.study_scores import StudyScores


@final
@dataclass(frozen=True)
class OneMetricFits(Claim):
    """For numbers that were printed without their unit: the metric whose median of the first setting is nearest to what
    was printed for it, as a ratio, is that of the paper. Then the median of every setting is what was printed, up to
    the factor `factor` either way; it is undecided where a median is not and its 95 % interval reaches there.
    """

    metrics: tuple[str, ...]
    settings: tuple[str, ...]
    printed: tuple[float, ...]
    factor: float = 1.5

    def __post_init__(self) -> None:
        super().__post_init__()
        if len(self.settings) != len(self.printed) or min(self.printed, default=0) <= 0 or self.factor <= 1:
            raise SpecError("OneMetricFits: expected a printed number above 0 for each setting, and a factor above 1.")

    def subjects(self) -> tuple[Sequence[str], Sequence[str]]:
        return self.settings, self.metrics

    def test(self, scores: StudyScores) -> Decision:
        first = {metric: median(scores.of_seeds(self.settings[0], metric)) for metric in self.metrics}
        if min(found.value for found in first.values()) <= 0:
            return Decision("undecided", f"A score of {self.settings[0]} is not above 0, so there is no ratio to it.")
        metric = min(first, key=lambda name: abs(math.log(first[name].value / self.printed[0])))
        told, fits, reaches, fewest = [], [], [], math.inf
        for label, printed in zip(self.settings, self.printed, strict=True):
            values = scores.of_seeds(label, metric)
            found = median(values)
            least, most = printed / self.factor, printed * self.factor
            fits.append(least <= found.value <= most)
            reaches.append(found.interval[0] <= most and found.interval[1] >= least)
            told.append(f"{label} {found.value:.3g} (printed {printed:g})")
            fewest = min(fewest, len(values))
        verdict: Verdict = "reproduced" if all(fits) else "not reproduced"
        if fewest < 2 or (not all(fits) and all(reaches)):
            verdict = "undecided"
        reason = (
            f"{metric} is nearest for {self.settings[0]}; its medians are {', '.join(told)}; expected each within a "
            f"factor of {self.factor:g}."
        )
        return Decision(verdict, reason, {"fitting": float(sum(fits))})
