"""ClearlyHigher: settings score above others, by a test and by an interval."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

from unbraid.errors import SpecError
from unbraid.studies.claims.claim import Claim, Decision, Verdict, judged
from unbraid.studies.statistics import Comparison, compare, seeds_needed
from unbraid.studies.study_scores import StudyScores


@final
@dataclass(frozen=True)
class ClearlyHigher(Claim):
    """The seeds of `ours` together score above those of `theirs` together: a one-sided exact Mann-Whitney test says so,
    and the 95 % interval of the shift (Hodges-Lehmann) excludes 0. With `each`, they score above each of `theirs` by
    itself, and the largest p counts; one of them that is clearly higher refutes the claim.
    """

    metric: str
    ours: tuple[str, ...]
    theirs: tuple[str, ...]
    each: bool = False
    level: float = 0.05

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.ours or not self.theirs:
            raise SpecError("ClearlyHigher: a side has no settings; expected at least one on each.")
        if both := set(self.ours) & set(self.theirs):
            raise SpecError(f"ClearlyHigher: {min(both)!r} is on both sides.")

    def subjects(self) -> tuple[Sequence[str], Sequence[str]]:
        return (*self.ours, *self.theirs), (self.metric,)

    def test(self, scores: StudyScores) -> Decision:
        ours = self._pooled(scores, self.ours)
        rivals = [(label,) for label in self.theirs] if self.each else [self.theirs]
        found = {labels: compare(ours, self._pooled(scores, labels)) for labels in rivals}
        # That of one among several is adjusted for being one of as many.
        opposites = {
            labels: min(1.0, len(rivals) * compare(self._pooled(scores, labels), ours).p_value) for labels in found
        }
        verdicts = [self._verdict(one, opposites[labels]) for labels, one in found.items()]
        closest = min(found, key=lambda labels: found[labels].shift.value)
        p_value, (low, high) = max(one.p_value for one in found.values()), found[closest].shift.interval
        nearest = f"the closest of {len(rivals)}, {closest[0]}" if len(rivals) > 1 else ", ".join(closest)
        reason = (
            f"{', '.join(self.ours)} lies {found[closest].shift.value:+.3f} ({low:.3f} to {high:.3f}) from {nearest} "
            f"in {self.metric}; P(higher) = {found[closest].probability.value:.2f}, p = {p_value:.2g}, {len(ours)} and "
            f"{len(self._pooled(scores, closest))} seeds."
        )
        numbers = {
            "shift": found[closest].shift.value,
            "shift low": low,
            "shift high": high,
            "probability": found[closest].probability.value,
            "p": p_value,
            "p of the opposite": min(opposites.values()),
        }
        verdict = _of_all(verdicts)
        needed = seeds_needed(ours, self._pooled(scores, closest), level=self.level) if verdict == "undecided" else None
        advice = f" About {needed} seeds each would tell, if the difference is what it seems." if needed else ""
        return Decision(verdict, reason + advice, numbers, p_value, min(opposites.values()))

    def _verdict(self, found: Comparison, opposite: float) -> Verdict:
        """Returns what one comparison says; one whose interval holds 0 decides nothing."""
        low, high = found.shift.interval
        return "undecided" if low <= 0 <= high else judged(found.p_value, opposite, self.level)

    def _pooled(self, scores: StudyScores, labels: Sequence[str]) -> list[float]:
        return [value for label in labels for value in scores.values(label, self.metric).values()]


def _of_all(verdicts: Sequence[Verdict]) -> Verdict:
    if "not reproduced" in verdicts:
        return "not reproduced"
    return "undecided" if "undecided" in verdicts else "reproduced"
