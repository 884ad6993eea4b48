"""SameOrder: two scores put settings in the same order."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

import numpy as np
import scipy
from jaxtyping import Float64

from unbraid.errors import SpecError
from unbraid.studies.claims.claim import Claim, Decision, Verdict
from unbraid.studies.statistics import resampled_medians
from unbraid.studies.statistics.samples import percentiles
from unbraid.studies.study_scores import StudyScores

_NUM_RESAMPLES = 500


@final
@dataclass(frozen=True)
class SameOrder(Claim):
    """Kendall's tau of the medians of two metrics over these settings is at least `least`. Below it, it is undecided
    where the 95 % interval, over resampled seeds, reaches it. Each resample keeps both scores of a seed.
    """

    first: str
    second: str
    settings: tuple[str, ...]
    least: float = 0.9

    def __post_init__(self) -> None:
        super().__post_init__()
        if len(self.settings) < 3:
            raise SpecError(f"SameOrder: {len(self.settings)} settings were given; expected at least three.")

    def subjects(self) -> tuple[Sequence[str], Sequence[str]]:
        return self.settings, (self.first, self.second)

    def test(self, scores: StudyScores) -> Decision:
        pairs = {label: scores.paired(label, self.first, self.second) for label in self.settings}
        seen = _tau(*(np.array([np.median(pair[side]) for pair in pairs.values()]) for side in (0, 1)))
        # The streams of draws are named by the setting, so both scores are of the same resampled seeds.
        medians = [
            np.stack(list(resampled_medians(groups, num_resamples=_NUM_RESAMPLES).values()), axis=1)
            for groups in ({label: pair[side] for label, pair in pairs.items()} for side in (0, 1))
        ]
        low, high = percentiles(np.array([_tau(one, other) for one, other in zip(*medians, strict=True)]), 0.95)
        verdict: Verdict = "reproduced" if seen >= self.least else "not reproduced"
        if min(len(first) for first, _ in pairs.values()) < 2 or (seen < self.least <= high):
            verdict = "undecided"
        reason = (
            f"Kendall's tau of the medians of {self.first} and {self.second} over {len(pairs)} settings is {seen:.2f} "
            f"({low:.2f} to {high:.2f}); expected at least {self.least:g}."
        )
        return Decision(verdict, reason, {"tau": seen, "low": low, "high": high})


def _tau(one: Float64[np.ndarray, " setting"], other: Float64[np.ndarray, " setting"]) -> float:
    """Returns Kendall's tau; 0 where a score is the same in all settings."""
    tau = float(scipy.stats.kendalltau(one, other).statistic)
    return 0.0 if np.isnan(tau) else tau
