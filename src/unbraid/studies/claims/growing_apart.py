"""GrowingApart: the difference of two scores rises, or falls, along an ordered list of settings."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, final

import numpy as np

from unbraid.errors import SpecError
from unbraid.studies.claims.claim import Claim, Decision, judged
from unbraid.studies.statistics import trend
from unbraid.studies.study_scores import StudyScores


@final
@dataclass(frozen=True)
class GrowingApart(Claim):
    """`first` less `second` of the same run rises from the first of these settings to the last, or falls, by a
    Jonckheere-Terpstra test over seeds. If two or more neighbouring medians turn back, it is reproduced in part.
    """

    first: str
    second: str
    settings: tuple[str, ...]
    direction: Literal["rises", "falls"] = "rises"
    level: float = 0.01

    def __post_init__(self) -> None:
        super().__post_init__()
        if len(self.settings) < 2:
            raise SpecError("GrowingApart: expected at least two settings, in their order.")

    def subjects(self) -> tuple[Sequence[str], Sequence[str]]:
        return self.settings, (self.first, self.second)

    def test(self, scores: StudyScores) -> Decision:
        groups = [np.subtract(*scores.paired(label, self.first, self.second)) for label in self.settings]
        ordered = groups if self.direction == "rises" else groups[::-1]
        found, opposite = trend(ordered), trend(ordered[::-1])
        verdict = judged(found.p_value, opposite.p_value, self.level)
        if verdict == "reproduced" and found.num_inversions > 1:
            verdict = "in part"
        medians = ", ".join(f"{float(np.median(group)):.3f}" for group in groups)
        reason = (
            f"{self.first} less {self.second} has the medians {medians}; it {self.direction} in "
            f"{found.share_in_order:.0%} of pairs of seeds, p = {found.p_value:.2g}."
        )
        numbers = {"share in order": found.share_in_order, "p": found.p_value, "turning back": found.num_inversions}
        return Decision(verdict, reason, numbers, found.p_value, opposite.p_value)
