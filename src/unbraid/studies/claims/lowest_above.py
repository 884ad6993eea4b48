"""LowestAbove: the worst seed of one setting beats the middle one of another."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

import numpy as np

from unbraid.studies.claims.claim import Claim, Decision, Verdict
from unbraid.studies.study_scores import StudyScores


@final
@dataclass(frozen=True)
class LowestAbove(Claim):
    """The lowest seed of `ours` scores above the median of each of `theirs`. The lowest falls with the number of seeds,
    so the verdict is about as many as there are, which it names; it takes at least 5.
    """

    metric: str
    ours: str
    theirs: tuple[str, ...]

    def subjects(self) -> tuple[Sequence[str], Sequence[str]]:
        return (self.ours, *self.theirs), (self.metric,)

    def test(self, scores: StudyScores) -> Decision:
        values = scores.of_seeds(self.ours, self.metric)
        lowest = min(values)
        medians = {label: float(np.median(scores.of_seeds(label, self.metric))) for label in self.theirs}
        held = [label for label, middle in medians.items() if lowest > middle]
        verdict: Verdict = "in part" if held else "not reproduced"
        if len(held) == len(medians):
            verdict = "reproduced"
        if len(values) < 5:
            verdict = "undecided"
        told = ", ".join(f"{label} {middle:.3f}" for label, middle in medians.items())
        reason = f"The lowest of {len(values)} seeds has {self.metric} {lowest:.3f}; the medians are {told}."
        return Decision(verdict, reason, {"lowest": lowest, **medians})
