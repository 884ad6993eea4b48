"""MediansInOrder: a score follows the order of settings."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

import numpy as np
import scipy

from unbraid.errors import SpecError
from unbraid.studies.claims.claim import Claim, Decision, Verdict
from unbraid.studies.statistics import of_medians
from unbraid.studies.study_scores import StudyScores


@final
@dataclass(frozen=True)
class MediansInOrder(Claim):
    """Spearman's rank correlation of the medians with the order of these settings is at least `least`, and its 95 %
    interval, over resampled seeds, lies above 0. It is not reproduced if the interval lies below `least`.
    """

    metric: str
    settings: tuple[str, ...]
    least: float = 0.95

    def __post_init__(self) -> None:
        super().__post_init__()
        if len(self.settings) < 3:
            raise SpecError("MediansInOrder is about at least three settings, in their order.")

    def subjects(self) -> tuple[Sequence[str], Sequence[str]]:
        return self.settings, (self.metric,)

    def test(self, scores: StudyScores) -> Decision:
        groups = {label: scores.of_seeds(label, self.metric) for label in self.settings}
        found = of_medians(groups, lambda medians: _ranked(np.stack(list(medians.values()), axis=1)))
        low, high = found.interval
        verdict: Verdict = "undecided"
        if found.value >= self.least and low > 0:
            verdict = "reproduced"
        elif high < self.least:
            verdict = "not reproduced"
        if min(map(len, groups.values())) < 2:
            verdict = "undecided"
        reason = (
            f"The rank correlation of the medians of {self.metric} with the order of {len(groups)} settings is "
            f"{found.value:+.2f} ({low:+.2f} to {high:+.2f}); expected at least {self.least:g}."
        )
        return Decision(verdict, reason, {"rank correlation": found.value, "low": low, "high": high})


def _ranked(medians: np.ndarray) -> np.ndarray:
    """Returns Spearman's correlation of each row with its order; 0 where all are equal."""
    ranks = scipy.stats.rankdata(medians, axis=1)
    places = np.arange(medians.shape[1]) - (medians.shape[1] - 1) / 2
    centred = ranks - ranks.mean(axis=1, keepdims=True)
    norms = np.sqrt((centred**2).sum(axis=1) * (places**2).sum())
    return np.divide(centred @ places, norms, out=np.zeros(len(medians)), where=norms > 0)
