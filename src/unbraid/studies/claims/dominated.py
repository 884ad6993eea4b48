"""Dominated: whatever one family reaches in two scores, another reaches too."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

import numpy as np

from unbraid.studies.claims.claim import Claim, Decision, Verdict
from unbraid.studies.statistics import resampled_medians
from unbraid.studies.study_scores import StudyScores


@final
@dataclass(frozen=True)
class Dominated(Claim):
    """For each of the settings `theirs` one of `ours` has medians that are at least as good in both metrics, in at
    least the `share` of resamples of all seeds. Where none of theirs is dominated so often, it is not reproduced, and
    where some are, in part.
    """

    first: str
    second: str
    ours: tuple[str, ...]
    theirs: tuple[str, ...]
    share: float = 0.9

    def subjects(self) -> tuple[Sequence[str], Sequence[str]]:
        return (*self.ours, *self.theirs), (self.first, self.second)

    def test(self, scores: StudyScores) -> Decision:
        groups = {
            f"{metric} of {label}": [self._sign(scores, metric) * value for value in values.values()]
            for label in self.subjects()[0]
            for metric in (self.first, self.second)
            if (values := scores.values(label, metric))
        }
        medians = resampled_medians(groups)

        def is_better(label: str, other: str) -> np.ndarray:
            first, second = (
                medians[f"{metric} of {label}"] >= medians[f"{metric} of {other}"]
                for metric in (self.first, self.second)
            )
            return np.asarray(first & second)

        shares = {
            other: float(np.any([is_better(label, other) for label in self.ours], axis=0).mean())
            for other in self.theirs
        }
        held = [other for other, share in shares.items() if share >= self.share]
        verdict: Verdict = "in part" if held else "not reproduced"
        if len(held) == len(shares):
            verdict = "reproduced"
        if min(map(len, groups.values())) < 2:
            verdict = "undecided"
        told = ", ".join(f"{other} {share:.0%}" for other, share in shares.items())
        reason = (
            f"One of {len(self.ours)} settings is at least as good in {self.first} and {self.second} in this share of "
            f"resampled seeds: {told}; expected {self.share:.0%} or more."
        )
        return Decision(verdict, reason, shares)

    @staticmethod
    def _sign(scores: StudyScores, metric: str) -> float:
        return -1.0 if scores.higher_is_better.get(metric) is False else 1.0
