"""Models chosen without labels, and how well such a choice agrees with scores that need them."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, final

from unbraid.codes import Codes
from unbraid.errors import UnbraidError
from unbraid.studies.latent_agreement import agreement_of_seeds
from unbraid.studies.seeds_with_codes import seeds_with_codes
from unbraid.studies.statistics import RankCorrelation, correlation_over_settings
from unbraid.studies.statistics.samples import StatisticsError
from unbraid.studies.study import Study
from unbraid.studies.study_scores import StudyScores
from unbraid.studies.udr import udr_scores

Criterion = Literal["udr", "agreement", "wsepin", "elbo"]

# The metric of which each criterion is the value; UDR and agreement are computed from codes.
_METRICS = {"wsepin": "sepin", "elbo": "elbo"}


@final
@dataclass(frozen=True)
class Choice:
    """A run, by its setting and seed, and what the criterion says of it. Higher is better."""

    setting: str
    seed: int
    run: str
    value: float


def choices(study: Study, folder: Path, scores: StudyScores, by: Criterion) -> list[Choice]:
    """Returns all runs that the criterion can tell of, the best first."""
    names = {(run.setting, run.seed): run.run for run in scores.runs}
    compare = {"udr": udr_scores, "agreement": _agreements}.get(by)
    values = _kept(scores, by) if compare is None else _of_seeds(study, folder, scores, compare)
    found = [Choice(setting, seed, names[setting, seed], value) for (setting, seed), value in values.items()]
    return sorted(found, key=lambda choice: -choice.value)


def agreement(scores: StudyScores, chosen: list[Choice], metric: str) -> RankCorrelation:
    """Returns the rank correlation of a criterion with a score of the same runs. The score counts as better the higher
    it is, or the lower where that is better.
    """
    sign = -1.0 if scores.higher_is_better.get(metric) is False else 1.0
    criterion: dict[str, dict[int, float]] = {}
    for choice in chosen:
        criterion.setdefault(choice.setting, {})[choice.seed] = choice.value
    first, second = [], []
    for label, by_seed in criterion.items():
        values = scores.values(label, metric)
        seeds = [seed for seed in by_seed if seed in values]
        if seeds:
            first.append([by_seed[seed] for seed in seeds])
            second.append([sign * values[seed] for seed in seeds])
    if len(first) < 3:
        raise StatisticsError(f"Only {len(first)} settings have both the criterion and {metric}; expected three.")
    return correlation_over_settings(first, second)


def _kept(scores: StudyScores, by: Criterion) -> Mapping[tuple[str, int], float]:
    metric = _METRICS[by]
    if metric not in scores.higher_is_better:
        raise UnbraidError(
            f"Selecting by {by} needs the metric {metric!r}, which the study does not ask for (it has "
            f"{', '.join(scores.metrics)}). Add it to the metrics of the study and run it again."
        )
    return {(label, s): value for label in scores.settings for s, value in scores.values(label, metric).items()}


def _of_seeds(
    study: Study, folder: Path, scores: StudyScores, compare: Callable[[Mapping[int, Codes]], Mapping[int, float]]
) -> Mapping[tuple[str, int], float]:
    """Returns what comparing the codes of all seeds of a setting says of each. Raises if no setting has two."""
    found: dict[tuple[str, int], float] = {}
    for label, runs in seeds_with_codes(study, folder, scores).items():
        if len(runs) > 1:
            compared = compare({seed: run.codes() for seed, run in runs.items()})
            found |= {(label, seed): value for seed, value in compared.items()}
    if not found:
        raise UnbraidError(
            "This compares codes of several seeds of a setting, and no setting has two runs with codes. A study that "
            "keeps 'scores' or 'best' has let them go: use keep='all', or select by wsepin or elbo."
        )
    return found


def _agreements(codes: Mapping[int, Codes]) -> dict[int, float]:
    """Returns the agreement of each seed; 0 for one without informative latents, which agrees with no other."""
    found = {seed: agreement.value for seed, agreement in agreement_of_seeds(codes).items()}
    return {seed: 0.0 if math.isnan(value) else value for seed, value in found.items()}
