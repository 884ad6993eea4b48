"""BelowItsBest: at the end of a sweep a score has fallen again."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

import numpy as np

from unbraid.errors import SpecError
from unbraid.studies.claims.claim import Claim, Decision, judged
from unbraid.studies.statistics import compare
from unbraid.studies.study_scores import StudyScores


@final
@dataclass(frozen=True)
class BelowItsBest(Claim):
    """The last of these settings scores below that with the highest average, by a one-sided exact Mann-Whitney test.
    Which one that is was not known before, so p is multiplied by the number of the others. It is not reproduced if the
    last scores above every other one, each by the test.
    """

    metric: str
    settings: tuple[str, ...]
    level: float = 0.05

    def __post_init__(self) -> None:
        super().__post_init__()
        if len(self.settings) < 2:
            raise SpecError("BelowItsBest is about at least two settings, in their order.")

    def subjects(self) -> tuple[Sequence[str], Sequence[str]]:
        return self.settings, (self.metric,)

    def test(self, scores: StudyScores) -> Decision:
        groups = {label: scores.of_seeds(label, self.metric) for label in self.settings}
        *others, last = self.settings
        best = max(others, key=lambda label: float(np.mean(groups[label])))
        p_value = min(1.0, len(others) * compare(groups[best], groups[last]).p_value)
        opposite = max(compare(groups[last], groups[label]).p_value for label in others)
        fall = float(np.mean(groups[best]) - np.mean(groups[last]))
        reason = (
            f"The average of {self.metric} is highest at {best}, {fall:+.3f} from that of {last}; p = {p_value:.2g} "
            f"for one chosen among {len(others)}, {len(groups[best])} and {len(groups[last])} seeds."
        )
        verdict = judged(p_value, opposite, self.level)
        return Decision(verdict, reason, {"fall": fall, "p": p_value}, p_value, opposite)
