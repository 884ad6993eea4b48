"""Model selection: the best run of each setting by a metric, and criteria without labels."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, final

from unbraid.codes import Codes
from unbraid.errors import UnbraidError
from unbraid.figures.traversal import SideBySide
from unbraid.studies.collect import collect, runs_with_codes
from unbraid.studies.ranking import FEWEST_MODELS
from unbraid.studies.seed_agreement import agreement_scores, udr_scores
from unbraid.studies.statistics import Measurement, StatisticsError, spearman
from unbraid.studies.study import Study
from unbraid.studies.study_scores import StudyScores
from unbraid.training.runs.run import Run
from unbraid.training.runs.runs_in import traverse_together

Criterion = Literal["udr", "agreement", "wsepin", "elbo"]


def best_runs(
    study: Study, folder: Path | str, *, by: str | None = None, scores: StudyScores | None = None
) -> dict[str, Run]:
    """Returns the best run of each setting by a metric, by default the `best_by` of the study.

    Only scored runs with weights and codes are considered. Settings without such runs are left out.
    """
    metric = study.best_by if by is None else by
    found = collect(study, folder) if scores is None else scores
    found.check(metrics=[metric])
    sign = -1.0 if found.higher_is_better[metric] is False else 1.0
    best = {}
    for label, runs in runs_with_codes(study, Path(folder), found).items():
        values = {seed: value for seed, value in found.values(label, metric).items() if seed in runs}
        if values:
            best[label] = runs[max(values, key=lambda seed: sign * values[seed])]
    return best


def best_traversals(
    study: Study, folder: Path | str, *, by: str | None = None, settings: Sequence[str] | None = None, **options: Any
) -> SideBySide:
    """Returns traversals of the best run of each setting side by side, with latents matched to the first run.

    Args:
        study: The study.
        folder: The folder of the runs.
        by: The metric. Default: the `best_by` of the study.
        settings: The labels of the settings to show, in this order. Default: all.
        **options: Options of `unbraid.training.runs.traverse_together`.
    """
    metric, scores = study.best_by if by is None else by, collect(study, folder)
    best = best_runs(study, folder, by=by, scores=scores)
    chosen = list(best) if settings is None else list(settings)
    scores.check(settings=chosen)
    missing = [label for label in chosen if label not in best]
    if missing or not chosen:
        which = f"The setting {missing[0]!r}" if missing else "The study"
        raise UnbraidError(f"{which} has no run with weights and {metric!r}. Run it with keep='best' or 'all'.")
    named = {
        f"{label}  ({metric} {scores.values(label, metric)[best[label].seed]:.3g})": best[label] for label in chosen
    }
    return traverse_together(named, **options)


@final
@dataclass(frozen=True)
class Choice:
    """A run with its setting, its seed and the value of the criterion. Higher values are better."""

    setting: str
    seed: int
    run: str
    value: float


def choices(study: Study, folder: Path, scores: StudyScores, by: Criterion) -> list[Choice]:
    """Returns all runs with a value of the criterion, sorted from best to worst."""
    if by in ("udr", "agreement"):
        values = _of_seeds(study, folder, scores, udr_scores if by == "udr" else agreement_scores)
    elif (metric := {"wsepin": "sepin", "elbo": "elbo"}[by]) in scores.higher_is_better:
        values = {(label, s): value for label in scores.settings for s, value in scores.values(label, metric).items()}
    else:
        raise UnbraidError(
            f"Selection by {by} requires the metric {metric!r}; the study has {', '.join(scores.metrics)}. Add "
            f"{metric!r} to the metrics and run the study again."
        )
    names = {(run.setting, run.seed): run.run for run in scores.runs}
    found = []
    for (setting, seed), value in values.items():
        # A run without informative latents has the worst value.
        found.append(Choice(setting, seed, names[setting, seed], 0.0 if math.isnan(value) else value))
    return sorted(found, key=lambda choice: -choice.value)


def agreement(scores: StudyScores, chosen: list[Choice], metric: str) -> Measurement:
    """Returns the rank correlation of the criterion with a metric of the same runs.

    The correlation is positive if runs with better values of the criterion have better scores.
    """
    sign = -1.0 if scores.higher_is_better.get(metric) is False else 1.0
    pairs = [
        (choice.value, sign * value)
        for choice in chosen
        if (value := scores.values(choice.setting, metric).get(choice.seed)) is not None
    ]
    if len(pairs) < FEWEST_MODELS:
        raise StatisticsError(
            f"Expected {FEWEST_MODELS} or more runs with both scores ({metric}), got {len(pairs)}. Score more runs."
        )
    return spearman([one for one, _ in pairs], [other for _, other in pairs])


def _of_seeds(
    study: Study, folder: Path, scores: StudyScores, compare: Callable[[Mapping[int, Codes]], Mapping[int, float]]
) -> dict[tuple[str, int], float]:
    """Applies `compare` to the codes of all seeds of each setting. Returns the value of each run."""
    found: dict[tuple[str, int], float] = {}
    for label, runs in runs_with_codes(study, folder, scores).items():
        if len(runs) > 1:
            compared = compare({seed: run.codes() for seed, run in runs.items()})
            found |= {(label, seed): value for seed, value in compared.items()}
    if not found:
        raise UnbraidError(
            "The criterion requires a setting with two or more runs with codes, but there is none. A study with "
            "keep='scores' or 'best' removes codes. Use keep='all', or select by wsepin or elbo."
        )
    return found
