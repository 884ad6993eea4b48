"""InScoring: a claim about another scoring of the same runs."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import final

from unbraid.evaluation.scoring import Scoring
from unbraid.runs.kept_scores import question_key
from unbraid.studies.claims.claim import Claim, Decision
from unbraid.studies.study_scores import StudyScores


@final
@dataclass(frozen=True)
class InScoring(Claim):
    """Another claim, decided by the scores that a study has in a scoring that is not its first, such as without
    discrete latents. Models of the settings `alike` answer both scorings alike, such as those without any discrete
    latent, and have scores in the first alone, which are then read. `told_by` makes one of a claim and its sentence.
    """

    claim: Claim
    scoring: Scoring
    alike: tuple[str, ...] = ()

    @classmethod
    def told_by(
        cls, claim: Claim, scoring: Scoring, where: str, *, alike: tuple[str, ...] = (), is_control: bool = False
    ) -> "InScoring":
        """Returns the claim in this scoring. Its sentence is that of the claim, after the words that say where."""
        bare = replace(claim, sentence="", is_control=False)
        return cls(f"{where}: {claim.sentence}", bare, scoring, alike, is_control=is_control or claim.is_control)

    @property
    def level(self) -> float:
        """Returns the level of the claim's own test."""
        return float(getattr(self.claim, "level", 0.05))

    def subjects(self) -> tuple[Sequence[str], Sequence[str]]:
        return self.claim.subjects()

    def check(self, labels: Collection[str], metrics: Collection[str]) -> None:
        self.claim.check(labels, metrics)

    def test(self, scores: StudyScores) -> Decision:
        name = question_key("", self.scoring.changes()).strip()
        numbers = tuple(
            number._replace(scoring="")
            for number in scores.numbers
            if number.scoring == ("" if number.setting in self.alike else name)
        )
        if all(number.scoring != name for number in scores.numbers):
            return Decision("undecided", f"No run has a score in the scoring {name}.")
        return self.claim.decide(replace(scores, numbers=numbers, over=None))
