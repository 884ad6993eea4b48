"""Growing: a score rises, or falls, along an ordered list of settings."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, final

from unbraid.errors import SpecError
from unbraid.studies.claims.claim import Claim, Decision, judged
from unbraid.studies.statistics import trend
from unbraid.studies.study_scores import StudyScores


@final
@dataclass(frozen=True)
class Growing(Claim):
    """The metric rises from the first of these settings to the last, or falls, by a Jonckheere-Terpstra test over
    seeds. A significant trend in which two or more neighbouring medians turn back is reproduced in part.
    """

    metric: str
    settings: tuple[str, ...]
    direction: Literal["rises", "falls"] = "rises"
    level: float = 0.05

    def __post_init__(self) -> None:
        super().__post_init__()
        if len(self.settings) < 2:
            raise SpecError("A claim of growth is about at least two settings, in their order.")

    def subjects(self) -> tuple[Sequence[str], Sequence[str]]:
        return self.settings, (self.metric,)

    def test(self, scores: StudyScores) -> Decision:
        groups = [scores.of_seeds(label, self.metric) for label in self.settings]
        ordered = groups if self.direction == "rises" else groups[::-1]
        found, opposite = trend(ordered), trend(ordered[::-1])
        verdict = judged(found.p_value, opposite.p_value, self.level)
        if verdict == "reproduced" and found.num_inversions > 1:
            verdict = "in part"
        reason = (
            f"{self.metric} {self.direction} in {found.share_in_order:.0%} of pairs of seeds, p = {found.p_value:.2g}; "
            f"{found.num_inversions} of {len(groups) - 1} neighbouring medians turn back."
        )
        numbers = {"share in order": found.share_in_order, "p": found.p_value, "turning back": found.num_inversions}
        return Decision(verdict, reason, numbers, found.p_value, opposite.p_value)
