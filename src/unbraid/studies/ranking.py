"""Which setting of a study is best, how sure that is, and which metrics agree."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

import numpy as np
import scipy
from jaxtyping import Float64

from unbraid.studies.claims.claim import Claim
from unbraid.studies.claims.judgment import LEVEL, JudgedClaim, judge
from unbraid.studies.claims.quantities import best_of, difference
from unbraid.studies.statistics import seeds_needed
from unbraid.studies.study_scores import StudyScores

_FEWEST_MODELS = 4  # with both scores, for a correlation


@final
@dataclass(frozen=True)
class RankedSetting:
    """A setting with its median, and its comparison with the best setting; None for the best itself.

    The `comparison` is the claim that the best setting is better. `seeds_needed` is the number of seeds per setting
    that supports it with a power of 80 %, if the true difference is the observed one.
    """

    setting: str
    median: float
    num_seeds: int
    comparison: JudgedClaim | None = None
    seeds_needed: int | None = None


@final
@dataclass(frozen=True)
class Ranking:
    """The settings by their median in one metric, the best first.

    The best is chosen from the scores that compare it with the others, so each p-value is multiplied by the number of
    settings before all are adjusted together.
    """

    metric: str
    settings: tuple[RankedSetting, ...]

    @property
    def inseparable(self) -> list[RankedSetting]:
        """The settings that the best one is not significantly better than, at 5 % among all."""
        return [each for each in self.settings if each.comparison and each.comparison.verdict != "supported"]


def rank_settings(scores: StudyScores, metric: str) -> Ranking | None:
    """Ranks settings by a metric. Returns None if no run has it, or if neither direction is better."""
    scores.check(metrics=[metric])
    higher, labels = scores.higher_is_better[metric], scores.with_any_score(metric)
    if higher is None or not labels:
        return None
    sign = 1.0 if higher else -1.0
    values = {label: np.array(scores.of_seeds(label, metric)) for label in labels}
    order = sorted(labels, key=lambda label: -sign * float(np.median(values[label])))
    chosen = best_of(tuple(order), lowest=not higher)
    claims = [
        Claim(
            f"{order[0]} is better than {label} in {metric}.",
            difference(metric, chosen, label),
            above=0.0 if higher else None,
            below=None if higher else 0.0,
        )
        for label in order[1:]
    ]
    level = LEVEL / max(1, len(order) * len(claims))
    others = [
        RankedSetting(
            label,
            float(np.median(values[label])),
            len(values[label]),
            judged,
            seeds_needed(sign * values[order[0]], sign * values[label], level=level),
        )
        for label, judged in zip(order[1:], judge(claims, scores).claims, strict=True)
    ]
    first = RankedSetting(order[0], float(np.median(values[order[0]])), len(values[order[0]]))
    return Ranking(metric, (first, *others))


@final
@dataclass(frozen=True)
class MetricAgreement:
    """The rank correlation of every two metrics over all models with both; positive if they prefer the same models.

    It is NaN if too few models have both, or if one metric does not vary.
    """

    metrics: tuple[str, ...]
    correlations: Float64[np.ndarray, "metric metric"]


def metric_agreement(scores: StudyScores, metrics: Sequence[str]) -> MetricAgreement:
    """Computes how these metrics agree. One for which neither direction is better counts as it is."""
    scores.check(metrics=metrics)
    by_model = {
        metric: {
            (label, seed): (-value if scores.higher_is_better[metric] is False else value)
            for label in scores.settings
            for seed, value in scores.values(label, metric).items()
        }
        for metric in metrics
    }
    table = np.full((len(metrics), len(metrics)), np.nan)
    for i, first in enumerate(metrics):
        for j, second in enumerate(metrics):
            shared = [model for model in by_model[first] if model in by_model[second]]
            x, y = ([by_model[metric][model] for model in shared] for metric in (first, second))
            if len(shared) >= _FEWEST_MODELS and len(set(x)) > 1 and len(set(y)) > 1:
                table[i, j] = scipy.stats.spearmanr(x, y).statistic
    return MetricAgreement(tuple(metrics), table)
