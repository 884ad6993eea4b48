"""The best run of each setting of a study."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from unbraid.errors import UnbraidError
from unbraid.figures.traversal import SideBySide
from unbraid.studies.collect import collect, runs_with_codes
from unbraid.studies.study import Study
from unbraid.studies.study_scores import StudyScores
from unbraid.training.runs.run import Run
from unbraid.training.runs.runs_in import traverse_together


def best_runs(
    study: Study, folder: Path | str, *, by: str | None = None, scores: StudyScores | None = None
) -> dict[str, Run]:
    """Returns the best run of each setting by a metric of the study (default: `best_by`), among the runs that still
    have weights and codes. Settings without such a run, or without the score, are left out.
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
    """Returns traversals of the best run of each setting side by side, with latents matched to those of the first.

    Args:
        study: The study.
        folder: The folder of its runs.
        by: The metric, by default the `best_by` of the study.
        settings: The labels of the settings to show, in this order.
        **options: Options of `unbraid.training.runs.traverse_together`.
    """
    metric, scores = study.best_by if by is None else by, collect(study, folder)
    best = best_runs(study, folder, by=by, scores=scores)
    chosen = list(best) if settings is None else list(settings)
    scores.check(settings=chosen)
    if missing := [label for label in chosen if label not in best]:
        raise UnbraidError(
            f"The setting {missing[0]!r} has no finished run with weights and the score {metric}. Run the study, with "
            "keep='best' or 'all'."
        )
    named = {
        f"{label}  ({metric} {scores.values(label, metric)[best[label].seed]:.3g})": best[label] for label in chosen
    }
    if not named:
        raise UnbraidError(
            "No setting of the study has a finished run with weights. Run it, with keep='best' or 'all'."
        )
    return traverse_together(named, **options)
