"""Scores to compute, and weights and codes to keep, for all studies that share a folder."""

import contextlib
import functools
import json
from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, final

from unbraid._internal import files
from unbraid._internal.worker_pool import Json
from unbraid.config import from_json, to_json
from unbraid.errors import CodesError, SpecError
from unbraid.metrics.metric import Metric
from unbraid.metrics.model import ModelScore
from unbraid.metrics.scoring import Scoring
from unbraid.studies.index import STUDIES
from unbraid.studies.run_records import RunRecord
from unbraid.studies.study import Setting, Study, StudyRun
from unbraid.training.runs.run import Run
from unbraid.training.runs.run_scores import normalized, question_key
from unbraid.training.runs.spec import RunSpec


@final
class Question(NamedTuple):
    """A score that a study requires: the name of the metric, the metric, and the normalized scoring."""

    name: str
    metric: Metric | ModelScore
    scoring: Scoring


@final
class Questions:
    """The required scores of a study, cached by spec."""

    def __init__(self, study: Study) -> None:
        self._study, self._metrics = study, study.metrics_by_name
        self._of: dict[int, dict[str, Question]] = {}

    def of(self, spec: RunSpec) -> Mapping[str, Question]:
        """Returns the required scores of runs with this spec, by the key of the score."""
        if id(spec) not in self._of:  # thousands of runs share one spec object of the study
            scorings = dict.fromkeys(normalized(spec, scoring) for scoring in self._study.scorings)
            self._of[id(spec)] = {
                question_key(name, scoring.changes()): Question(name, metric, scoring)
                for scoring in scorings
                for name, metric in self._metrics.items()
            }
        return self._of[id(spec)]

    def missing(self, spec: RunSpec, record: RunRecord) -> list[Question]:
        """Returns the required scores that the record of a run has neither as a score nor as undefined."""
        return [
            question
            for key, question in self.of(spec).items()
            if key not in record.numbers and key not in record.refused
        ]


def questions_to_json(questions: Sequence[Question]) -> dict[str, list[Any]]:
    """Returns the metrics by scoring as JSON, for a request to a worker."""
    asked: dict[str, list[Any]] = defaultdict(list)
    for question in questions:
        asked[json.dumps(question.scoring.changes())].append(to_json(question.metric))
    return dict(asked)


def score_run(request: Json, beat: Callable[[], None]) -> Json:
    """Computes and saves scores of a run. Returns the tracebacks of failed metrics by name.

    The request has the `folder` of the run, the scores to compute in `asked` (`questions_to_json`), the `device`, and
    the `packages` whose classes may be used.
    """
    packages, failed = request["packages"], dict[str, str]()
    run = Run.open(Path(request["folder"]), packages=packages)
    for changes, metrics in request["asked"].items():
        scoring = Scoring.from_changes(json.loads(changes), packages=packages)
        chosen = [from_json(metric, Metric | ModelScore, packages=packages) for metric in metrics]
        with contextlib.suppress(CodesError):  # no metric is defined for these codes, as the run records
            failed |= run.score(chosen, scoring, device=request["device"], progress=False).failed
        beat()
    return {"failed": failed}


def register(study: Study, folder: Path) -> None:
    """Writes the study to the folder of runs. Replaces a study with the same name."""
    files.write_json(folder / STUDIES / f"{study.name}.json", to_json(study))


def registered(folder: Path, packages: Collection[str]) -> list[Study]:
    """Returns all studies that were registered in the folder. Raises SpecError if a study cannot be read."""
    try:
        paths = sorted((folder / STUDIES).glob("*.json"))
        return [_read(path, files.read_bytes(path), tuple(packages)) for path in paths]
    except (SpecError, OSError) as error:
        raise SpecError(
            f"A study in {folder / STUDIES}, which may require scores of these runs, cannot be read: {error} Remove "
            "the file if the study is no longer needed."
        ) from None


@functools.lru_cache(maxsize=256)
def _read(path: Path, content: bytes, packages: tuple[str, ...]) -> Study:
    """Loads a study. The study is cached by the content of its file, because a folder may have many studies."""
    return Study.load(path, packages=packages)


@final
class Retention:
    """Retention policy of a folder: which weights and codes may be removed, and which scores are required before."""

    def __init__(self, studies: Sequence[Study], folder: Path) -> None:
        self._studies_of: dict[str, list[tuple[Study, Setting]]] = {}
        self._siblings: dict[tuple[str, str], list[StudyRun]] = {}
        self._questions = {study.name: Questions(study) for study in studies}
        for study in studies:
            for each in study.runs(folder):
                self._studies_of.setdefault(each.name, []).append((study, each.setting))
                self._siblings.setdefault((study.name, each.setting.label), []).append(each)

    def missing(self, run: StudyRun, record: RunRecord) -> list[Question]:
        """Returns the scores that any study of the folder requires and this run does not have."""
        found = [
            question
            for study, _ in self._studies_of.get(run.name, [])
            for question in self._questions[study.name].missing(run.setting.spec, record)
        ]
        return list({(question.name, question.scoring): question for question in found}.values())

    def siblings(self, run: StudyRun) -> list[StudyRun]:
        """Returns all runs of the settings that include this run, because a new score may change the best run."""
        found = [
            sibling
            for study, setting in self._studies_of.get(run.name, [])
            for sibling in self._siblings[study.name, setting.label]
        ]
        return list({sibling.name: sibling for sibling in found}.values())

    def keeps_scores_alone(self, run: StudyRun) -> bool:
        """Returns whether all studies that include this run have keep="scores"."""
        return all(study.keep == "scores" for study, _ in self._studies_of.get(run.name, []))

    def is_removable(self, run: StudyRun, records: Mapping[str, RunRecord]) -> bool:
        """Returns whether the weights and codes of the run exist, and no study needs them any more."""
        record = records[run.name]
        if not record.has_arrays or self.missing(run, record):
            return False
        return not any(
            study.keep == "all" or (study.keep == "best" and self._is_best(study, setting, run, records))
            for study, setting in self._studies_of.get(run.name, [])
        )

    def _is_best(self, study: Study, setting: Setting, run: StudyRun, records: Mapping[str, RunRecord]) -> bool:
        """Returns whether the run is the best seed of its setting, or a seed without a score may still change that."""
        metric = study.metrics_by_name[study.best_by]
        sign = -1.0 if metric.higher_is_better is False else 1.0
        key = next(k for k, q in self._questions[study.name].of(setting.spec).items() if q.name == study.best_by)
        values = {}
        for sibling in self._siblings[study.name, setting.label]:
            record = records.get(sibling.name, RunRecord("new"))
            if record.state == "failed" or key in record.refused:
                continue
            if key not in record.numbers:
                return True
            values[sibling.name] = sign * record.numbers[key].value
        return run.name == max(values, key=lambda name: (values[name], name), default=run.name)
