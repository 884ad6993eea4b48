"""EquivalentPairs: two settings score about the same, seed by seed."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

from unbraid.errors import SpecError
from unbraid.studies.claims.claim import Claim, Decision, Verdict
from unbraid.studies.statistics.averages import averaged, estimated
from unbraid.studies.study_scores import StudyScores


@final
@dataclass(frozen=True)
class EquivalentPairs(Claim):
    """Two settings that were trained with the same seeds differ by less than `margin` on average: the 90 % interval of
    the mean difference of a seed, over resampled seeds, lies within it (two one-sided tests at 5 %). Wholly outside it
    is not reproduced.
    """

    metric: str
    ours: str
    theirs: str
    margin: float

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.margin > 0:
            raise SpecError(f"EquivalentPairs: margin is {self.margin}; expected a number above 0.")

    def subjects(self) -> tuple[Sequence[str], Sequence[str]]:
        return (self.ours, self.theirs), (self.metric,)

    def test(self, scores: StudyScores) -> Decision:
        ours, theirs = (scores.values(label, self.metric) for label in (self.ours, self.theirs))
        differences = [ours[seed] - theirs[seed] for seed in ours if seed in theirs]
        if len(differences) < 2:
            return Decision("undecided", f"{self.ours} and {self.theirs} share {len(differences)} seeds.")
        found = estimated(averaged({"differences": differences}, num_resamples=10_000)[:, 0], level=0.9)
        low, high = found.interval
        verdict: Verdict = "undecided"
        if -self.margin <= low and high <= self.margin:
            verdict = "reproduced"
        elif high < -self.margin or low > self.margin:
            verdict = "not reproduced"
        side = "lower" if high < 0 else "higher" if low > 0 else "neither higher nor lower"
        reason = (
            f"{self.ours} is {found.value:+.4f} ({low:+.4f} to {high:+.4f}, 90 %) from {self.theirs} in {self.metric}, "
            f"{side}, over {len(differences)} seeds that both have; the margin is {self.margin:g}."
        )
        return Decision(verdict, reason, {"difference": found.value, "low": low, "high": high})
