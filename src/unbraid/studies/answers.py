"""What the scores of a study say: which setting is best, how sure that is, and which metrics agree."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

import numpy as np
import scipy
from jaxtyping import Float64

from unbraid.studies.statistics import Comparison, chances_to_win, compare, holm, seeds_needed
from unbraid.studies.study_scores import StudyScores

_FEWEST_MODELS = 4  # with both scores: fewer say nothing of how metrics agree


@final
@dataclass(frozen=True)
class Rival:
    """A setting beside the best one: how likely it would win with other seeds, how far the best lies above it, the
    p-value of that among all rivals (Holm), and how many seeds each would show it.
    """

    setting: str
    median: float
    num_seeds: int
    chance_to_win: float
    comparison: Comparison | None
    p_among_all: float
    seeds_needed: int | None


@final
@dataclass(frozen=True)
class Ranking:
    """The settings by their median in one metric, the best first, each compared with the best."""

    metric: str
    higher_is_better: bool
    rivals: tuple[Rival, ...]

    @property
    def best(self) -> Rival:
        return self.rivals[0]

    @property
    def inseparable(self) -> list[str]:
        """Returns the settings that the best one is not significantly above, at 5 % among all rivals."""
        return [rival.setting for rival in self.rivals[1:] if rival.p_among_all > 0.05]


def ranking_of(scores: StudyScores, metric: str) -> Ranking | None:
    """Returns which settings are best in a metric; None if no run has it, or if neither direction is better."""
    scores.check(metrics=[metric])
    better = scores.higher_is_better[metric]
    groups = {label: scores.of_seeds(label, metric) for label in scores.with_any_score(metric)}
    if better is None or not groups:
        return None
    sign = 1.0 if better else -1.0
    chances = chances_to_win(groups, higher_is_better=better)
    order = sorted(groups, key=lambda label: -sign * float(np.median(groups[label])))
    best = [sign * value for value in groups[order[0]]]
    others = {label: [sign * value for value in groups[label]] for label in order[1:]}
    found = {label: compare(best, values) for label, values in others.items()}
    adjusted = dict(zip(found, holm([each.p_value for each in found.values()]), strict=True))
    needed = {label: seeds_needed(best, values) for label, values in others.items()}
    return Ranking(
        metric,
        better,
        tuple(
            Rival(
                label,
                float(np.median(groups[label])),
                len(groups[label]),
                chances[label],
                found.get(label),
                adjusted.get(label, float("nan")),
                needed.get(label),
            )
            for label in order
        ),
    )


@final
@dataclass(frozen=True)
class Agreement:
    """The rank correlation of every two metrics over all models that have both; positive where what one calls better
    the other does too. NaN where too few models have both, or one does not vary.
    """

    metrics: tuple[str, ...]
    correlations: Float64[np.ndarray, "metric metric"]

    def pairs(self) -> list[tuple[str, str, float]]:
        """Returns every two metrics with their correlation, the largest first."""
        found = [
            (first, second, float(self.correlations[i, j]))
            for i, first in enumerate(self.metrics)
            for j, second in enumerate(self.metrics)
            if i < j and not np.isnan(self.correlations[i, j])
        ]
        return sorted(found, key=lambda pair: -pair[2])


def agreement_of(scores: StudyScores, metrics: Sequence[str]) -> Agreement:
    """Returns how these metrics agree. One for which neither direction is better counts as it is."""
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
    return Agreement(tuple(metrics), table)
