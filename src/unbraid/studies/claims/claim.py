"""What a claim is: a sentence, the test that decides it, and what came out."""

from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, final

from unbraid.errors import SpecError
from unbraid.names import suggestion
from unbraid.recipes import Recipe
from unbraid.studies.statistics import holm
from unbraid.studies.statistics.samples import StatisticsError
from unbraid.studies.study_scores import StudyScores, metric_and_part

Verdict = Literal["reproduced", "in part", "not reproduced", "undecided"]
"""What scores say of a claim, or the claims of an item together."""


@final
@dataclass(frozen=True)
class Decision:
    """What came of a claim: the verdict, the reason in a sentence, and the numbers behind it by name. `p_value` is that
    of its one test, where it has one, and `opposite` that of the test of the opposite: both are adjusted for being one
    of many.
    """

    verdict: Verdict
    reason: str
    numbers: Mapping[str, float] = field(default_factory=dict)
    p_value: float | None = None
    opposite: float | None = None


@dataclass(frozen=True)
class Claim(Recipe, ABC):
    """A sentence about settings that scores may confirm or refute, and the test by which they do.

    A claim that turns out false is a result and no error. A metric may name a part or a factor of a score, as in
    "rmig:scale". A kind of claim of one's own says in `subjects` which settings and metrics it reads, and decides in
    `test`. A control is a claim of one's own beside those that are examined: it is decided and shown, and does not
    count in the verdict of them all.
    """

    sentence: str
    is_control: bool = field(default=False, kw_only=True)

    @property
    def told(self) -> str:
        """Returns the sentence as tables show it: that of a control says that it is one."""
        return f"Control: {self.sentence}" if self.is_control else self.sentence

    @abstractmethod
    def subjects(self) -> tuple[Sequence[str], Sequence[str]]:
        """Returns the labels of the settings and the names of the metrics that the claim is about."""

    @abstractmethod
    def test(self, scores: StudyScores) -> Decision:
        """Returns what the scores say of the claim."""

    @final
    def decide(self, scores: StudyScores) -> Decision:
        """Returns what the scores say of the claim; "undecided" if there are too few of them."""
        settings, metrics = self.subjects()
        scores.check(settings, metrics)
        lacking = [
            f"{label} has no {metric}" for label in settings for metric in metrics if not scores.values(label, metric)
        ]
        if lacking:
            return Decision("undecided", f"Scores are missing: {'; '.join(lacking)}.")
        try:
            return self.test(scores)
        except StatisticsError as error:
            return Decision("undecided", str(error))

    def check(self, labels: Collection[str], metrics: Collection[str]) -> None:
        """Raises if the claim is about a setting or a metric that its study does not have."""
        about, measured_by = self.subjects()
        for label in about:
            if label not in labels:
                raise SpecError(f"A claim is about the setting {label!r}. {suggestion(label, labels)}")
        for metric in measured_by:
            if metric_and_part(metric, metrics)[0] not in metrics:
                raise SpecError(f"A claim is about the metric {metric!r}. {suggestion(metric, metrics)}")


def decide_all(claims: Sequence[Claim], scores: StudyScores) -> list[Decision]:
    """Returns what the scores say of each claim. The tests that reproduce claims are adjusted for being many (Holm),
    and so are those of their opposites, which refute them: a claim of which neither is then significant is undecided.
    Controls are adjusted among themselves.
    """
    decisions = [claim.decide(scores) for claim in claims]
    for is_control in (False, True):
        _adjust(decisions, claims, is_control)
    return decisions


def _adjust(decisions: list[Decision], claims: Sequence[Claim], is_control: bool) -> None:
    """Adjusts the decisions of all claims, or of all controls, for being many."""
    places = [place for place, claim in enumerate(claims) if claim.is_control == is_control]
    among_all = _adjusted({place: decisions[place].p_value for place in places})
    opposites = _adjusted({place: decisions[place].opposite for place in places})
    for place, p_value in among_all.items():
        decision, level = decisions[place], getattr(claims[place], "level", 0.05)
        is_refuted = decision.verdict == "not reproduced"
        by_opposite = is_refuted and place in opposites
        alone, adjusted = (decision.opposite, opposites[place]) if by_opposite else (decision.p_value, p_value)
        which = "the opposite has p" if by_opposite else "p"
        num_tests = len(opposites if by_opposite else among_all)
        note = f" Among {num_tests} tests, {which} = {adjusted:.2g} (Holm)." if adjusted != alone else ""
        is_lost = adjusted > level and (by_opposite or not is_refuted)
        decisions[place] = replace(
            decision,
            verdict="undecided" if is_lost else decision.verdict,
            reason=decision.reason + note,
            numbers={**decision.numbers, "p among all": p_value},
        )


def _adjusted(p_values: Mapping[int, float | None]) -> dict[int, float]:
    """Returns the p-values that are known, adjusted for their number."""
    given = {place: p_value for place, p_value in p_values.items() if p_value is not None}
    return dict(zip(given, holm(list(given.values())), strict=True))


def judged(p_value: float, opposite: float, level: float) -> Verdict:
    """Returns the verdict of a one-sided test and of the test of the opposite."""
    if p_value <= level:
        return "reproduced"
    return "not reproduced" if opposite <= level else "undecided"
