"""Collection of the scores of a study from the folders of its runs."""

import itertools
import logging
import math
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from unbraid._internal.memory import no_garbage_collection
from unbraid.config.paths import fields_of
from unbraid.show.report.sweeps import is_plain_number, swept_path
from unbraid.studies.index import read_records
from unbraid.studies.study import Setting, Study, StudyRun
from unbraid.studies.study_scores import Number, ScoredRun, StudyScores
from unbraid.training.runs.run import Run
from unbraid.training.runs.run_scores import normalized, question_key

log = logging.getLogger(__name__)


@no_garbage_collection()
def collect(study: Study, folder: Path | str, *, parts: bool = True) -> StudyScores:
    """Returns the existing scores of the runs in the folder. Computes no scores and reads no weights or codes.

    With `parts=False`, only the values of the metrics are read, not their parts and factors, in a fifth of the time.
    """
    placed = study.runs(Path(folder))
    found = read_records(Path(folder), [each.name for each in placed], "everything" if parts else "values")
    for name, reason in found.damaged.items():
        log.warning("Skipped %s, because its records cannot be read: %s", name, reason)
    metrics = study.metrics_by_name
    runs: list[ScoredRun] = []
    numbers: list[Number] = []
    keys: dict[str, dict[str, tuple[str, str]]] = {}
    over: dict[str, dict[tuple[str, ...], None]] = {}
    for each in placed:
        label, seed, name, record = each.setting.label, each.seed, each.name, found.records[each.name]
        if (asked := keys.get(label)) is None:
            asked = keys[label] = _keys(study, each)
        refused = {asked[key][0]: why for key, why in record.refused.items() if key in asked}
        runs.append(ScoredRun(label, seed, name, record.state, record.seconds, record.num_used, refused))
        for key, (metric, scoring) in asked.items():
            if (kept := record.numbers.get(key)) is None:
                continue
            numbers.append(Number(label, seed, metric, scoring, "value", "", kept.value, kept.low, kept.high, name))
            if kept.parts or kept.factors:
                of = label, seed, metric, scoring
                numbers += [Number(*of, "part", p, v, low, high, name) for p, (v, low, high) in kept.parts.items()]
                numbers += [Number(*of, "factor", f, v, math.nan, math.nan, name) for f, v in kept.factors.items()]
            if kept.over and not scoring:
                over.setdefault(metric, {})[kept.over] = None
    return StudyScores(
        settings=tuple(setting.label for setting in study.settings),
        families={setting.label: setting.family for setting in study.settings},
        metrics=tuple(metrics),
        higher_is_better={name: metric.higher_is_better for name, metric in metrics.items()},
        runs=tuple(runs),
        numbers=tuple(numbers),
        over={metric: tuple(dict.fromkeys(itertools.chain(*found))) for metric, found in over.items()},
        swept=swept_values(study.settings),
    )


def _keys(study: Study, of: StudyRun) -> dict[str, tuple[str, str]]:
    """Returns the name of the metric and of the scoring of each score of a run, by the key of the score.

    The name of the first scoring is empty.
    """
    found: dict[str, tuple[str, str]] = {}
    for place, scoring in enumerate(study.scorings):
        changes = normalized(of.setting.spec, scoring).changes()
        named = question_key("", scoring.changes()).strip() if place else ""
        for name in study.metrics_by_name:
            found.setdefault(question_key(name, changes), (name, named))
    return found


def runs_with_codes(study: Study, folder: Path, scores: StudyScores) -> dict[str, dict[int, Run]]:
    """Returns the finished runs whose codes were not removed, by setting and seed."""
    found: dict[str, dict[int, Run]] = {}
    finished = {run.run for run in scores.runs if run.state == "finished"}
    for each in study.runs(folder):
        if each.name in finished and not each.run.removed_files:
            found.setdefault(each.setting.label, {})[each.seed] = each.run
    return found


def swept_values(settings: Sequence[Setting]) -> dict[str, float]:
    """Returns the value of the numeric field that varies within the family of each setting, such as beta, by label.

    If several fields vary, fields of the objective take precedence, then the field with the most distinct values. A
    family with one setting uses the most common field of the other families. Settings without a value are left out.
    """
    families: dict[str, list[Setting]] = {}
    for setting in settings:
        families.setdefault(setting.family, []).append(setting)
    paths = {family: swept_path([each.spec for each in members]) for family, members in families.items()}
    counts = Counter(path for path in paths.values() if path)
    common = counts.most_common(1)[0][0] if counts else ""
    found: dict[str, float] = {}
    for setting in settings:
        value: Any = fields_of(setting.spec).get(paths[setting.family] or common)
        if is_plain_number(value):
            found[setting.label] = float(value)
    return found
