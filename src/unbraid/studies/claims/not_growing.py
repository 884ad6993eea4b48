"""NotGrowing: a score does not rise, or does not fall, along an ordered list of settings."""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, final

from unbraid.errors import SpecError
from unbraid.studies.claims.claim import Claim, Decision, Verdict
from unbraid.studies.statistics import shares_in_order, trend
from unbraid.studies.statistics.averages import estimated
from unbraid.studies.study_scores import StudyScores


@final
@dataclass(frozen=True)
class NotGrowing(Claim):
    """The metric does not rise (or fall) from the first of these settings to the last. It is not reproduced if a
    Jonckheere-Terpstra test finds that it does. Not to find it is no proof, so it is reproduced only if, in addition,
    seeds of a later setting lie above (or below) those of an earlier one in less than the share `below` of pairs, by
    the upper end of the 95 % interval over resampled seeds.
    """

    metric: str
    settings: tuple[str, ...]
    direction: Literal["rises", "falls"] = "rises"
    below: float = 0.75
    level: float = 0.01

    def __post_init__(self) -> None:
        super().__post_init__()
        if len(self.settings) < 2:
            raise SpecError("NotGrowing: expected at least two settings, in their order.")

    def subjects(self) -> tuple[Sequence[str], Sequence[str]]:
        return self.settings, (self.metric,)

    def test(self, scores: StudyScores) -> Decision:
        groups = {label: scores.of_seeds(label, self.metric) for label in self.settings}
        ordered = self.settings if self.direction == "rises" else self.settings[::-1]
        p_value = trend([groups[label] for label in ordered]).p_value
        found = estimated(shares_in_order(groups, list(itertools.combinations(ordered, 2))))
        low, high = found.interval
        verdict: Verdict = "undecided"
        if p_value <= self.level:
            verdict = "not reproduced"
        elif high < self.below and min(map(len, groups.values())) > 1:
            verdict = "reproduced"
        reason = (
            f"{self.metric} {self.direction} in {found.value:.0%} of pairs of seeds ({low:.0%} to {high:.0%}), "
            f"p = {p_value:.2g}; expected less than {self.below:.0%}, and p above {self.level:g}."
        )
        return Decision(verdict, reason, {"share in order": found.value, "low": low, "high": high, "p": p_value})
