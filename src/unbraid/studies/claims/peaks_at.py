"""PeaksAt: of a sweep, certain settings score best."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

import numpy as np

from unbraid.errors import SpecError
from unbraid.studies.claims.claim import Claim, Decision, Verdict
from unbraid.studies.statistics.averages import averaged
from unbraid.studies.study_scores import StudyScores


@final
@dataclass(frozen=True)
class PeaksAt(Claim):
    """The setting with the highest average is one of those `expected`, in at least the `share` of resamples of all
    seeds. It is not reproduced if one other setting has the highest average in so many.
    """

    metric: str
    settings: tuple[str, ...]
    expected: tuple[str, ...]
    share: float = 0.5

    def __post_init__(self) -> None:
        super().__post_init__()
        if unknown := [label for label in self.expected if label not in self.settings]:
            raise SpecError(f"PeaksAt: {unknown[0]!r} is expected, and is none of the settings that are compared.")

    def subjects(self) -> tuple[Sequence[str], Sequence[str]]:
        return self.settings, (self.metric,)

    def test(self, scores: StudyScores) -> Decision:
        groups = {label: scores.of_seeds(label, self.metric) for label in self.settings}
        averages = averaged(groups)
        counts = np.bincount(averages[1:].argmax(axis=1), minlength=len(groups)) / (len(averages) - 1)
        shares = {label: float(count) for label, count in zip(self.settings, counts, strict=True)}
        among = sum(shares[label] for label in self.expected)
        verdict: Verdict = "reproduced" if among >= self.share else "undecided"
        if max((share for label, share in shares.items() if label not in self.expected), default=0.0) >= self.share:
            verdict = "not reproduced"
        if min(map(len, groups.values())) < 2:
            verdict = "undecided"
        told = ", ".join(f"{label} {share:.0%}" for label, share in shares.items() if share >= 0.05)
        reason = (
            f"{self.metric} is highest at {self.settings[int(averages[0].argmax())]}; over resampled seeds: {told}."
        )
        return Decision(verdict, reason, shares)
