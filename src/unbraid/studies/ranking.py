"""Ranking of the settings of a study with significance tests, and rank correlations between metrics."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import final

import numpy as np
import scipy

from unbraid.studies.claims.claim import Claim
from unbraid.studies.claims.judgment import LEVEL, JudgedClaim, judge
from unbraid.studies.claims.quantities import best_of, difference
from unbraid.studies.statistics import seeds_needed
from unbraid.studies.study_scores import StudyScores

FEWEST_MODELS = 4  # minimum number of models for a correlation


@final
@dataclass(frozen=True)
class RankedSetting:
    """A setting with its median and its comparison with the best setting.

    `comparison` is the test of the claim that the best setting is better, or None for the best setting itself.
    `seeds_needed` is the number of seeds per setting that supports this claim with a power of 80 %, if the true
    difference equals the observed difference.
    """

    setting: str
    median: float
    num_seeds: int
    comparison: JudgedClaim | None = None
    seeds_needed: int | None = None


@final
@dataclass(frozen=True)
class Ranking:
    """The settings sorted by the median of one metric, best first.

    The best setting is chosen and compared with the same scores. Each p-value is therefore multiplied by the number of
    settings, and then adjusted for multiple testing.
    """

    metric: str
    settings: tuple[RankedSetting, ...]

    @property
    def inseparable(self) -> list[RankedSetting]:
        """The settings that do not differ significantly from the best setting, at 5 % over all comparisons."""
        return [each for each in self.settings if each.comparison and each.comparison.verdict != "supported"]


def rank_settings(scores: StudyScores, metric: str) -> Ranking | None:
    """Ranks settings by a metric. Returns None if no run has this score, or if the metric has no better direction."""
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
    medians = {label: float(np.median(values[label])) for label in order}
    ranked = [RankedSetting(order[0], medians[order[0]], len(values[order[0]]))]
    for label, judged in zip(order[1:], judge(claims, scores).claims, strict=True):
        needed = seeds_needed(sign * values[order[0]], sign * values[label], level=level)
        ranked.append(RankedSetting(label, medians[label], len(values[label]), judged, needed))
    return Ranking(metric, tuple(ranked))


def metric_agreement(scores: StudyScores, metrics: Sequence[str]) -> dict[str, dict[str, float]]:
    """Computes the rank correlation of each pair of metrics over all models with both scores.

    A correlation is positive if both metrics rank the same models as better. For a metric without a better direction,
    higher counts as better. The correlation is NaN with fewer than four models, or if a metric is constant.
    """
    scores.check(metrics=metrics)
    by_model = {
        metric: {
            (label, seed): (-value if scores.higher_is_better[metric] is False else value)
            for label in scores.settings
            for seed, value in scores.values(label, metric).items()
        }
        for metric in metrics
    }
    return {one: {other: _correlation(by_model[one], by_model[other]) for other in metrics} for one in metrics}


def _correlation(first: Mapping[tuple[str, int], float], second: Mapping[tuple[str, int], float]) -> float:
    shared = [model for model in first if model in second]
    x, y = [first[model] for model in shared], [second[model] for model in shared]
    if len(shared) < FEWEST_MODELS or len(set(x)) < 2 or len(set(y)) < 2:
        return math.nan
    return float(scipy.stats.spearmanr(x, y).statistic)
