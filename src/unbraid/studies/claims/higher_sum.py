"""HigherSum: several numbers of a setting together lie above those of another."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import final

from unbraid.errors import SpecError
from unbraid.studies.claims.claim import Claim, Decision
from unbraid.studies.claims.higher import Higher
from unbraid.studies.study_scores import Number, StudyScores


@final
@dataclass(frozen=True)
class HigherSum(Claim):
    """The sum of these metrics, run by run, is higher for `ours` than for `theirs`, by the test of `Higher`. It is for
    terms of one quantity that are kept apart.
    """

    metrics: tuple[str, ...]
    ours: str
    theirs: str
    level: float = 0.05

    def __post_init__(self) -> None:
        super().__post_init__()
        if len(self.metrics) < 2:
            raise SpecError(f"HigherSum: metrics are {self.metrics}; expected at least two.")

    def subjects(self) -> tuple[Sequence[str], Sequence[str]]:
        return (self.ours, self.theirs), self.metrics

    def test(self, scores: StudyScores) -> Decision:
        name = " + ".join(self.metrics)
        numbers = tuple(
            Number(label, seed, name, "", "value", "", total, math.nan, math.nan, "")
            for label in (self.ours, self.theirs)
            for seed, total in self._sums(scores, label).items()
        )
        summed = replace(scores, metrics=(name,), higher_is_better={name: None}, numbers=numbers)
        return Higher(self.sentence, name, self.ours, self.theirs, self.level).test(summed)

    def _sums(self, scores: StudyScores, label: str) -> dict[int, float]:
        """Returns the sum of each seed that has all of the metrics."""
        first, *others = (scores.values(label, metric) for metric in self.metrics)
        return {
            seed: value + sum(each[seed] for each in others)
            for seed, value in first.items()
            if all(seed in each for each in others)
        }
