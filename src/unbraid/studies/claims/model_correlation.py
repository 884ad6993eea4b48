"""What claims about the correlation of two scores share."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, final

from unbraid.studies.claims.claim import Verdict
from unbraid.studies.statistics import correlation_over_settings
from unbraid.studies.statistics.samples import Estimate
from unbraid.studies.study_scores import StudyScores


@final
@dataclass(frozen=True)
class ModelCorrelation:
    """The rank correlation of two scores over the models of some settings, and what is said of it."""

    found: Estimate
    told: str

    @classmethod
    def of(
        cls,
        scores: StudyScores,
        settings: Sequence[str],
        first: str,
        second: str,
        *,
        resample_settings: bool = False,
        and_how: str = "",
    ) -> "ModelCorrelation":
        """Returns it with its 95 % interval: seeds are resampled within settings, and settings before them if asked."""
        pairs = [scores.paired(label, first, second) for label in settings]
        found = correlation_over_settings(
            [one for one, _ in pairs], [other for _, other in pairs], resample_settings=resample_settings
        ).of_models
        low, high = found.interval
        told = (
            f"The rank correlation of {first} and {second} over {sum(len(one) for one, _ in pairs)} models is "
            f"{found.value:+.2f} ({low:+.2f} to {high:+.2f}{and_how})"
        )
        return cls(found, told)

    @property
    def numbers(self) -> dict[str, float]:
        """Returns the numbers of a decision."""
        low, high = self.found.interval
        return {"correlation": self.found.value, "low": low, "high": high}


def beyond_with_confidence(
    found: Estimate, direction: Literal["positive", "negative"], beyond: float, strength: float | None = None
) -> Verdict:
    """Returns whether a correlation is at least `strength` in this direction, and its interval beyond `beyond`."""
    sign = 1.0 if direction == "positive" else -1.0
    near, far = sorted(sign * end for end in found.interval)
    if near > beyond and (strength is None or sign * found.value >= strength):
        return "reproduced"
    return "not reproduced" if far < beyond else "undecided"
