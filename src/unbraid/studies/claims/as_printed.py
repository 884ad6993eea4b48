"""AsPrinted: numbers of single models that were printed are such as one more seed might have."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

import numpy as np

from unbraid.errors import SpecError
from unbraid.recipes import Recipe
from unbraid.studies.claims.claim import Claim, Decision
from unbraid.studies.statistics import prediction_interval
from unbraid.studies.study_scores import StudyScores


@final
@dataclass(frozen=True)
class PrintedScore(Recipe):
    """A number that was printed for one model of a setting. The metric may name a part or a factor: "rmig:scale"."""

    setting: str
    metric: str
    value: float


@final
@dataclass(frozen=True)
class AsPrinted(Claim):
    """Of these printed numbers, at least the `share` lies in the 95 % prediction interval of one more seed of its
    setting, mean ± t s sqrt(1 + 1/n), and none is off the mean by more than `most` times the standard deviation s of
    the seeds. A number stands for all that round to it: within `rounding`, half of its last digit.

    It is for numbers of one model each, which may be any seed. It says less the more seeds differ, so the reason tells
    the largest distance in standard deviations.
    """

    numbers: tuple[PrintedScore, ...]
    share: float = 0.9
    most: float = 3.0
    rounding: float = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.numbers:
            raise SpecError("AsPrinted: no numbers were given; expected at least one that was printed.")
        if not (0 < self.share <= 1 and self.most > 0 and self.rounding >= 0):
            raise SpecError(
                f"AsPrinted: share is {self.share}, most {self.most} and rounding {self.rounding}; expected a share "
                "above 0 and at most 1, most above 0, and a rounding of 0 or more."
            )

    def subjects(self) -> tuple[Sequence[str], Sequence[str]]:
        return (
            tuple(dict.fromkeys(each.setting for each in self.numbers)),
            tuple(dict.fromkeys(each.metric for each in self.numbers)),
        )

    def test(self, scores: StudyScores) -> Decision:
        inside, distances = 0, {}
        for each in self.numbers:
            values = np.array(scores.of_seeds(each.setting, each.metric))
            low, high = prediction_interval(values)
            inside += low - self.rounding <= each.value <= high + self.rounding
            off, spread = max(abs(each.value - float(values.mean())) - self.rounding, 0.0), float(values.std(ddof=1))
            distances[each] = off / spread if spread else float("inf") if off else 0.0
        farthest = max(distances, key=lambda each: distances[each])
        is_so = inside >= self.share * len(self.numbers) - 1e-9 and distances[farthest] <= self.most
        ours = float(np.mean(scores.of_seeds(farthest.setting, farthest.metric)))
        reason = (
            f"{inside} of {len(self.numbers)} printed numbers lie where one more seed may; expected {self.share:.0%}. "
            f"Farthest off is {farthest.metric} of {farthest.setting}, {farthest.value:g} in print and {ours:.4g} on "
            f"average here: {distances[farthest]:.1f} standard deviations of seeds; expected at most {self.most:g}."
        )
        numbers = {"inside": inside / len(self.numbers), "farthest, in standard deviations": distances[farthest]}
        return Decision("reproduced" if is_so else "not reproduced", reason, numbers)
