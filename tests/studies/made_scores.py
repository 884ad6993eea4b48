"""Scores of a study that was never run: numbers by setting and metric."""

import math

from unbraid.studies.study_scores import Number, ScoredRun, StudyScores


def made_scores(values, higher_is_better=None, num_used=5):
    """Returns scores in which `values[setting][metric]` lists one number per seed; None where a seed has failed."""
    metrics = list(dict.fromkeys(metric for by_metric in values.values() for metric in by_metric))
    runs, numbers = [], []
    for setting, by_metric in values.items():
        for seed in range(max(map(len, by_metric.values()))):
            name = f"vae-{setting.replace(' ', '')}-seed{seed}"
            seen = [found[seed] for found in by_metric.values() if seed < len(found)]
            state = "failed" if seen and all(value is None for value in seen) else "finished"
            runs.append(ScoredRun(setting, seed, name, state, 1.0, num_used if state == "finished" else None))
            numbers += [
                Number(setting, seed, metric, "", "value", "", float(found[seed]), math.nan, math.nan, name)
                for metric, found in by_metric.items()
                if seed < len(found) and found[seed] is not None
            ]
    return StudyScores(
        tuple(values),
        {setting: setting.partition(",")[0] for setting in values},
        tuple(metrics),
        dict.fromkeys(metrics, True) | (higher_is_better or {}),
        tuple(runs),
        tuple(numbers),
    )
