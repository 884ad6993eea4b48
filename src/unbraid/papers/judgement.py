"""From kept scores to a verdict."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

from unbraid.papers.item import Item, Scale
from unbraid.studies.claims import Claim, Decision, Verdict, decide_all
from unbraid.studies.study_scores import StudyScores


@final
@dataclass(frozen=True)
class Judgement:
    """What scores say of an item at one scale: a decision for each claim, and the verdict of them all. Of the
    `num_asked` runs, `num_runs` are trained and have scores.
    """

    item: Item
    scale: Scale
    scores: StudyScores
    claims: tuple[Claim, ...]
    decisions: tuple[Decision, ...]
    num_runs: int
    num_asked: int

    @property
    def verdict(self) -> Verdict:
        """Returns the verdict of all claims together."""
        return overall(self.verdicts)

    @property
    def verdicts(self) -> list[Verdict]:
        """Returns the verdict of each claim of the paper: controls do not count."""
        of_claims = zip(self.claims, self.decisions, strict=True)
        return [decision.verdict for claim, decision in of_claims if not claim.is_control]

    @property
    def is_partial(self) -> bool:
        """Whether runs are missing."""
        return self.num_runs < self.num_asked


def judge(item: Item, scale: Scale, scores: StudyScores) -> Judgement:
    """Returns what the scores say of the item."""
    work = item.at(scale)
    decisions = decide_all(work.claims, scores)
    scored = {number.run for number in scores.numbers}
    num_runs = sum(run.state == "finished" and run.run in scored for run in scores.runs)
    return Judgement(item, scale, scores, work.claims, tuple(decisions), num_runs, work.num_runs)


def overall(verdicts: Sequence[Verdict]) -> Verdict:
    """Returns the verdict of several: that of all of them where they agree, "in part" where some hold and others do
    not, and "undecided" where none is decided.
    """
    found = set(verdicts)
    if len(found) == 1:
        return next(iter(found))
    if not found:
        return "undecided"
    if found & {"reproduced", "in part"}:
        return "in part"
    return "not reproduced"
