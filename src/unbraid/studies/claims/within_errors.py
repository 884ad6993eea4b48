"""WithinErrors: two estimates of every run agree, as far as their own errors allow."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

from unbraid.errors import SpecError
from unbraid.metrics.metric import QUANTILE
from unbraid.studies.claims.claim import Claim, Decision
from unbraid.studies.study_scores import StudyScores, metric_and_part


@final
@dataclass(frozen=True)
class WithinErrors(Claim):
    """In at least the `share` of the runs of these settings, `first` lies within `num_errors` of its own standard
    errors of `second`. The standard error is that of the score of one run, from its 95 % interval, and no test over
    seeds is made. It is undecided where runs have no such interval.
    """

    first: str
    second: str
    settings: tuple[str, ...]
    num_errors: float = 3.0
    share: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if not (self.num_errors > 0 and 0 < self.share <= 1):
            raise SpecError(
                f"WithinErrors: num_errors is {self.num_errors} and share {self.share}; expected a number above 0, and "
                "a share above 0 and at most 1."
            )

    def subjects(self) -> tuple[Sequence[str], Sequence[str]]:
        return self.settings, (self.first, self.second)

    def test(self, scores: StudyScores) -> Decision:
        errors = self._errors(scores)
        found, num_runs = [], 0
        for label in self.settings:
            one, other = scores.values(label, self.first), scores.values(label, self.second)
            seeds = [seed for seed in one if seed in other]
            num_runs += len(seeds)
            found += [
                _in_errors(abs(one[seed] - other[seed]), errors[label, seed])
                for seed in seeds
                if (label, seed) in errors
            ]
        if len(found) < num_runs or not found:
            return Decision(
                "undecided", f"{num_runs - len(found)} of {num_runs} runs have no interval of {self.first}."
            )
        inside = sum(distance <= self.num_errors for distance in found)
        reason = (
            f"{self.first} lies within {self.num_errors:g} of its standard errors of {self.second} in {inside} of "
            f"{len(found)} runs, {max(found):.1f} of them away at most; expected {self.share:.0%} of runs."
        )
        is_so = inside >= self.share * len(found) - 1e-9
        numbers = {"inside": inside / len(found), "farthest, in errors": max(found)}
        return Decision("reproduced" if is_so else "not reproduced", reason, numbers)

    def _errors(self, scores: StudyScores) -> dict[tuple[str, int], float]:
        """Returns the standard error of `first` by setting and seed, where it is known."""
        metric, of = metric_and_part(self.first, scores.higher_is_better)
        return {
            (number.setting, number.seed): (number.high - number.low) / (2 * QUANTILE)
            for number in scores
            if (number.metric, number.of, number.scoring) == (metric, of, "") and number.high >= number.low
        }


def _in_errors(distance: float, error: float) -> float:
    """Returns a distance in standard errors; without any error, the least distance is infinitely many."""
    return distance / error if error else math.inf if distance else 0.0
