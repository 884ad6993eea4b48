"""Models chosen without labels, and how well such a choice agrees with scores that need them."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, final

from unbraid.errors import UnbraidError
from unbraid.studies.statistics import RankCorrelation, correlation_over_settings
from unbraid.studies.statistics.samples import StatisticsError
from unbraid.studies.study import Study
from unbraid.studies.study_scores import StudyScores
from unbraid.studies.udr import udr_scores

Criterion = Literal["udr", "wsepin", "elbo"]

# The metric of which each criterion is the value; UDR is computed from codes.
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
    values = _udr(study, folder, scores) if by == "udr" else _kept(scores, by)
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


def _udr(study: Study, folder: Path, scores: StudyScores) -> Mapping[tuple[str, int], float]:
    """Returns the UDR of all runs whose codes are there. Raises if there are none."""
    found: dict[tuple[str, int], float] = {}
    by_setting: dict[str, dict[int, object]] = {}
    finished = {run.run for run in scores.runs if run.state == "finished"}
    for each in study.runs(folder):
        if each.run.name in finished and not each.run.let_go:
            by_setting.setdefault(each.setting.label, {})[each.run.seed] = each.run
    for label, runs in by_setting.items():
        if len(runs) > 1:
            codes = {seed: run.codes() for seed, run in runs.items()}  # type: ignore[attr-defined]
            found |= {(label, seed): value for seed, value in udr_scores(codes).items()}
    if not found:
        raise UnbraidError(
            "UDR compares codes of several seeds of a setting, and no setting has two runs with codes. A study that "
            "keeps 'scores' or 'best' has let them go: use keep='all', or select by wsepin or elbo."
        )
    return found
