"""MostWithin: most runs have a number in a range."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

from unbraid.errors import SpecError
from unbraid.studies.claims.claim import Claim, Decision, Verdict
from unbraid.studies.study_scores import StudyScores


@final
@dataclass(frozen=True)
class MostWithin(Claim):
    """At least the `share` of the runs of each of these settings has a number from `low` to `high`, both included, such
    as three of four seeds. Without an end, the range is open there. No test is made; of one run it is undecided.
    """

    metric: str
    settings: tuple[str, ...]
    low: float | None = None
    high: float | None = None
    share: float = 0.75

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.low is None and self.high is None:
            raise SpecError("MostWithin: neither low nor high is given; expected at least one of them.")
        if self.low is not None and self.high is not None and self.low > self.high:
            raise SpecError(f"MostWithin: low is {self.low} and high is {self.high}; expected low <= high.")
        if not 0 < self.share <= 1:
            raise SpecError(f"MostWithin: share is {self.share}; expected a number above 0, and at most 1.")

    def subjects(self) -> tuple[Sequence[str], Sequence[str]]:
        return self.settings, (self.metric,)

    def test(self, scores: StudyScores) -> Decision:
        found = {label: scores.of_seeds(label, self.metric) for label in self.settings}
        inside = {label: sum(map(self._holds, values)) for label, values in found.items()}
        is_so = all(inside[label] >= self.share * len(values) - 1e-9 for label, values in found.items())
        verdict: Verdict = "reproduced" if is_so else "not reproduced"
        if min(map(len, found.values())) < 2:
            verdict = "undecided"
        told = ", ".join(f"{inside[label]} of {len(values)} of {label}" for label, values in found.items())
        least, most = min(map(min, found.values())), max(map(max, found.values()))
        reason = (
            f"{self.metric} lies from {least:.4g} to {most:.4g}; {told} have {self._range()}; expected "
            f"{self.share:.0%} of them."
        )
        shares = {label: inside[label] / len(values) for label, values in found.items()}
        return Decision(verdict, reason, {"least": least, "greatest": most, **shares})

    def _holds(self, value: float) -> bool:
        return (self.low is None or self.low <= value) and (self.high is None or value <= self.high)

    def _range(self) -> str:
        if self.low is None:
            return f"at most {self.high:g}"
        if self.high is None:
            return f"at least {self.low:g}"
        return f"{self.low:g}" if self.low == self.high else f"{self.low:g} to {self.high:g}"
