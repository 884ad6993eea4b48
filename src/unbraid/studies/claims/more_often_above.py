"""MoreOftenAbove: good seeds are more frequent in one setting than in another."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

import scipy

from unbraid.studies.claims.claim import Claim, Decision, judged
from unbraid.studies.study_scores import StudyScores


@final
@dataclass(frozen=True)
class MoreOftenAbove(Claim):
    """A larger share of the seeds of `ours` than of `theirs` scores above `fraction` of the best seed of `ours`, by
    Fisher's one-sided exact test. Both may be several settings, whose seeds are pooled.
    """

    metric: str
    ours: tuple[str, ...]
    theirs: tuple[str, ...]
    fraction: float = 0.5
    level: float = 0.05

    def subjects(self) -> tuple[Sequence[str], Sequence[str]]:
        return (*self.ours, *self.theirs), (self.metric,)

    def test(self, scores: StudyScores) -> Decision:
        groups = [
            [value for label in labels for value in scores.values(label, self.metric).values()]
            for labels in (self.ours, self.theirs)
        ]
        limit = self.fraction * max(groups[0])
        good = [sum(value > limit for value in values) for values in groups]
        table = [[count, len(values) - count] for count, values in zip(good, groups, strict=True)]
        more, fewer = (
            float(scipy.stats.fisher_exact(rows, alternative="greater").pvalue) for rows in (table, table[::-1])
        )
        reason = (
            f"{good[0]} of {len(groups[0])} seeds lie above {limit:.3f} in {self.metric}, and {good[1]} of "
            f"{len(groups[1])} of the others; p = {more:.2g}."
        )
        numbers = {
            "limit": limit,
            "share": good[0] / len(groups[0]),
            "other share": good[1] / len(groups[1]),
            "p": more,
        }
        return Decision(judged(more, fewer, self.level), reason, numbers, more, fewer)
