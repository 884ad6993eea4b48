"""WeaklyCorrelated: two scores hardly go together."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

from unbraid.studies.claims.claim import Claim, Decision, Verdict
from unbraid.studies.statistics import correlation_over_settings
from unbraid.studies.study_scores import StudyScores


@final
@dataclass(frozen=True)
class WeaklyCorrelated(Claim):
    """The rank correlation of two metrics over the models of these settings is smaller than `below`, positive or
    negative: its 95 % interval, with seeds resampled within settings, lies between -`below` and `below`. It depends on
    which settings are pooled, so the correlation within settings, of their means taken away, is told beside it.
    """

    first: str
    second: str
    settings: tuple[str, ...]
    below: float = 0.6

    def subjects(self) -> tuple[Sequence[str], Sequence[str]]:
        return self.settings, (self.first, self.second)

    def test(self, scores: StudyScores) -> Decision:
        pairs = [scores.paired(label, self.first, self.second) for label in self.settings]
        found = correlation_over_settings([one for one, _ in pairs], [other for _, other in pairs]).of_models
        within = correlation_over_settings(
            [_centred(one) for one, _ in pairs], [_centred(other) for _, other in pairs], num_resamples=1
        ).of_models
        low, high = found.interval
        verdict: Verdict = "undecided"
        if -self.below < low and high < self.below:
            verdict = "reproduced"
        elif low > self.below or high < -self.below:
            verdict = "not reproduced"
        reason = (
            f"The rank correlation of {self.first} and {self.second} over {sum(len(x) for x, _ in pairs)} models is "
            f"{found.value:+.2f} ({low:+.2f} to {high:+.2f}), and {within.value:+.2f} within settings; expected "
            f"between -{self.below:g} and {self.below:g}."
        )
        return Decision(verdict, reason, {"correlation": found.value, "low": low, "high": high, "within": within.value})


def _centred(values: Sequence[float]) -> list[float]:
    mean = sum(values) / len(values)
    return [value - mean for value in values]
