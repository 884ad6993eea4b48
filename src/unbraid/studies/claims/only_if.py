"""OnlyIf: a claim that means something only if a setting has learned something."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import final

from unbraid.studies.claims.claim import Claim, Decision
from unbraid.studies.statistics import median
from unbraid.studies.study_scores import StudyScores


@final
@dataclass(frozen=True)
class OnlyIf(Claim):
    """Another claim, which is decided only if the median of `metric` of the setting `guarded` is at least `least`;
    otherwise nothing is compared, and it is undecided. It is for a comparison with a model that may not have learned:
    to be better than that says nothing. `told_by` makes one of a claim and takes its sentence.
    """

    claim: Claim
    metric: str
    guarded: str
    least: float

    @classmethod
    def told_by(cls, claim: Claim, metric: str, guarded: str, least: float) -> "OnlyIf":
        """Returns the claim with this guard, and with its own sentence."""
        bare = replace(claim, sentence="", is_control=False)
        return cls(claim.sentence, bare, metric, guarded, least, is_control=claim.is_control)

    @property
    def level(self) -> float:
        """Returns the level of the claim's own test."""
        return float(getattr(self.claim, "level", 0.05))

    def subjects(self) -> tuple[Sequence[str], Sequence[str]]:
        settings, metrics = self.claim.subjects()
        return tuple(dict.fromkeys((*settings, self.guarded))), tuple(dict.fromkeys((*metrics, self.metric)))

    def check(self, labels: Collection[str], metrics: Collection[str]) -> None:
        super().check(labels, metrics)
        self.claim.check(labels, metrics)

    def test(self, scores: StudyScores) -> Decision:
        found = median(scores.of_seeds(self.guarded, self.metric))
        told = f"{self.guarded} has a median of {self.metric} of {found.value:.3g}"
        if found.value < self.least:
            reason = f"Not compared: {told}, where at least {self.least:g} was expected of a model that has learned."
            return Decision("undecided", reason, {"guard": found.value})
        decision = self.claim.test(scores)
        numbers = {**decision.numbers, "guard": found.value}
        return replace(decision, reason=f"{decision.reason} {told}, so there is something to compare.", numbers=numbers)
