"""HigherInPairs: what belongs together in two models of one seed is higher in one of them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

from unbraid.studies.claims.claim import Claim, Decision, judged
from unbraid.studies.statistics import compare_pairs
from unbraid.studies.study_scores import StudyScores


@final
@dataclass(frozen=True)
class HigherInPairs(Claim):
    """`ours` lies above `theirs` in the parts of a score, such as those of matched latents, part by part and seed by
    seed, by a one-sided Wilcoxon test over all pairs. Parts of one model are not independent of each other, so a
    claim about models needs a test over seeds beside it.
    """

    metric: str
    ours: str
    theirs: str
    level: float = 0.05

    def subjects(self) -> tuple[Sequence[str], Sequence[str]]:
        return (self.ours, self.theirs), (self.metric,)

    def test(self, scores: StudyScores) -> Decision:
        ours, theirs = self._parts(scores, self.ours), self._parts(scores, self.theirs)
        shared = [key for key in ours if key in theirs]
        if not shared:
            return Decision("undecided", f"No seed of both settings has a part of {self.metric} in common.")
        first, second = [ours[key] for key in shared], [theirs[key] for key in shared]
        found, opposite = compare_pairs(first, second), compare_pairs(second, first)
        low, high = found.difference.interval
        reason = (
            f"{self.ours} is higher in {found.num_higher} of {len(shared)} pairs, the median difference is "
            f"{found.difference.value:+.3f} ({low:.3f} to {high:.3f}), p = {found.wilcoxon:.2g}."
        )
        numbers = {"difference": found.difference.value, "pairs": float(len(shared)), "p": found.wilcoxon}
        verdict = judged(found.wilcoxon, opposite.wilcoxon, self.level)
        return Decision(verdict, reason, numbers, found.wilcoxon, opposite.wilcoxon)

    def _parts(self, scores: StudyScores, label: str) -> dict[tuple[int, str], float]:
        """Returns every part of the score by seed and name."""
        return {
            (number.seed, number.of): number.value
            for number in scores
            if (number.setting, number.metric, number.scoring, number.quantity) == (label, self.metric, "", "part")
            and number.value == number.value
        }
