"""From the folders of runs to the scores of a study."""

import math
from collections.abc import Iterator, Mapping
from pathlib import Path

from unbraid.memory import no_garbage_collection
from unbraid.runs.kept_scores import question_key
from unbraid.runs.scored_images import settled
from unbraid.studies.index import Index
from unbraid.studies.run_records import RunRecord
from unbraid.studies.study import Study, StudyRun
from unbraid.studies.study_scores import Number, ScoredRun, StudyScores


def collect(study: Study, folder: Path | str) -> StudyScores:
    """Returns what the runs under the folder have scored so far. Nothing is computed, and no array is read."""
    folder = Path(folder)
    with no_garbage_collection():
        placed = study.runs(folder)
        with Index(folder) as index:
            records = index.records([each.run.name for each in placed])
        return scores_of(study, placed, records)


def scores_of(study: Study, placed: list[StudyRun], records: Mapping[str, RunRecord]) -> StudyScores:
    """Returns the scores of these runs of a study, of which these are the records."""
    metrics = study.asked
    runs: list[ScoredRun] = []
    numbers: list[Number] = []
    keys: dict[str, dict[str, tuple[str, str]]] = {}
    for each in placed:
        label, run, record = each.setting.label, each.run, records[each.run.name]
        if label not in keys:
            keys[label] = _keys(study, each)
        refused = {keys[label][key][0]: why for key, why in record.refused.items() if key in keys[label]}
        runs.append(ScoredRun(label, run.seed, run.name, record.state, record.seconds, record.num_used, refused))
        numbers.extend(_numbers(each, record, keys[label]))
    return StudyScores(
        settings=tuple(setting.label for setting in study.settings),
        families={setting.label: setting.family for setting in study.settings},
        metrics=tuple(metrics),
        higher_is_better={name: metric.higher_is_better for name, metric in metrics.items()},
        runs=tuple(runs),
        numbers=tuple(numbers),
    )


def _keys(study: Study, of: StudyRun) -> dict[str, tuple[str, str]]:
    """Returns under which keys the run of a setting keeps its answers: the metric and the scoring of each. The first
    scoring of the study has no name.
    """
    found: dict[str, tuple[str, str]] = {}
    for place, scoring in enumerate(study.scorings):
        changes = settled(of.setting.spec, scoring).changes()
        told = question_key("", scoring.changes()).strip() if place else ""
        for name in study.asked:
            found.setdefault(question_key(name, changes), (name, told))
    return found


def _numbers(of: StudyRun, record: RunRecord, keys: Mapping[str, tuple[str, str]]) -> Iterator[Number]:
    label, seed, run = of.setting.label, of.run.seed, of.run.name
    for key, (metric, scoring) in keys.items():
        if (kept := record.numbers.get(key)) is None:
            continue
        yield Number(label, seed, metric, scoring, "value", "", kept.value, kept.low, kept.high, run)
        for name, (value, low, high) in kept.parts.items():
            yield Number(label, seed, metric, scoring, "part", name, value, low, high, run)
        for name, value in kept.factors.items():
            yield Number(label, seed, metric, scoring, "factor", name, value, math.nan, math.nan, run)
