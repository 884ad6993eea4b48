"""Requirements of the studies of a folder: scores to compute, and weights and codes to keep."""

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
from unbraid.training.runs.run_scores import question_key, settled
from unbraid.training.runs.spec import RunSpec


@final
class Question(NamedTuple):
    """A metric with its name and its normalized scoring, which identify a score of a run."""

    name: str
    metric: Metric | ModelScore
    scoring: Scoring


@final
class Questions:
    """The questions of a study by score key. Runs with the same spec share their questions."""

    def __init__(self, study: Study) -> None:
        self._study, self._metrics = study, study.metrics_by_name
        self._of: dict[int, dict[str, Question]] = {}

    def of(self, spec: RunSpec) -> Mapping[str, Question]:
        """Returns the questions for runs with this spec, by score key."""
        if id(spec) not in self._of:  # the study holds its specs, of which thousands of runs share one
            scorings = dict.fromkeys(settled(spec, scoring) for scoring in self._study.scorings)
            self._of[id(spec)] = {
                question_key(name, scoring.changes()): Question(name, metric, scoring)
                for scoring in scorings
                for name, metric in self._metrics.items()
            }
        return self._of[id(spec)]

    def missing(self, spec: RunSpec, record: RunRecord) -> list[Question]:
        """Returns the questions without a score or a refusal in the record of a run."""
        return [
            question
            for key, question in self.of(spec).items()
            if key not in record.numbers and key not in record.refused
        ]


def questions_to_json(questions: Sequence[Question]) -> dict[str, list[Any]]:
    """Returns the metrics by scoring as JSON, for a worker order."""
    asked: dict[str, list[Any]] = defaultdict(list)
    for question in questions:
        asked[json.dumps(question.scoring.changes())].append(to_json(question.metric))
    return dict(asked)


def score_run(order: Json, beat: Callable[[], None]) -> Json:
    """Computes and saves scores of a run. Returns the tracebacks of failed metrics by name.

    The order holds the `folder` of the run, the `asked` scores (`questions_to_json`), the `device`, and the `packages`
    whose classes may be used.
    """
    packages, failed = order["packages"], dict[str, str]()
    run = Run.open(Path(order["folder"]), packages=packages)
    for changes, metrics in order["asked"].items():
        scoring = Scoring.from_changes(json.loads(changes), packages=packages)
        chosen = [from_json(metric, Metric | ModelScore, packages=packages) for metric in metrics]
        with contextlib.suppress(CodesError):  # no metric is defined for these codes: the run keeps that as refusals
            failed |= run.score(chosen, scoring, device=order["device"], progress=False).failed
        beat()
    return {"failed": failed}


def register(study: Study, folder: Path) -> None:
    """Adds the study to this folder. Replaces an earlier study with the same name."""
    files.write_json(folder / STUDIES / f"{study.name}.json", to_json(study))


def registered(folder: Path, packages: Collection[str]) -> list[Study]:
    """Returns all studies of this folder. Raises if a study is unreadable, since it may need scores of the runs."""
    try:
        paths = sorted((folder / STUDIES).glob("*.json"))
        return [_read(path, files.read_bytes(path), tuple(packages)) for path in paths]
    except (SpecError, OSError) as error:
        raise SpecError(
            f"A study in {folder / STUDIES} cannot be read, and may need scores of these runs: {error} Remove its file "
            "if it is no longer needed."
        ) from None


@functools.lru_cache(maxsize=256)
def _read(path: Path, content: bytes, packages: tuple[str, ...]) -> Study:
    """Loads the study of a file. Caches studies by content, because a folder may have many."""
    return Study.load(path, packages=packages)


@final
class Retention:
    """Retention policy of a folder: the arrays that may be removed, and the scores to compute before removal."""

    def __init__(self, studies: Sequence[Study], folder: Path) -> None:
        self._studies_of: dict[str, list[tuple[Study, Setting]]] = {}
        self._siblings: dict[tuple[str, str], list[StudyRun]] = {}
        self._questions = {study.name: Questions(study) for study in studies}
        for study in studies:
            for each in study.runs(folder):
                self._studies_of.setdefault(each.name, []).append((study, each.setting))
                self._siblings.setdefault((study.name, each.setting.label), []).append(each)

    def missing(self, run: StudyRun, record: RunRecord) -> list[Question]:
        """Returns the missing scores of this run, over all studies of the folder."""
        found = [
            question
            for study, _ in self._studies_of.get(run.name, [])
            for question in self._questions[study.name].missing(run.setting.spec, record)
        ]
        return list({(question.name, question.scoring): question for question in found}.values())

    def siblings(self, run: StudyRun) -> list[StudyRun]:
        """Returns all runs of the settings that include this run. A new score of one may change the best run of all."""
        found = [
            sibling
            for study, setting in self._studies_of.get(run.name, [])
            for sibling in self._siblings[study.name, setting.label]
        ]
        return list({sibling.name: sibling for sibling in found}.values())

    def keeps_scores_alone(self, run: StudyRun) -> bool:
        """Returns whether all studies with this run keep only its scores."""
        return all(study.keep == "scores" for study, _ in self._studies_of.get(run.name, []))

    def is_removable(self, run: StudyRun, records: Mapping[str, RunRecord]) -> bool:
        """Returns whether no study needs the weights and codes of the run any more."""
        record = records[run.name]
        if not record.has_arrays or self.missing(run, record):
            return False
        return not any(
            study.keep == "all" or (study.keep == "best" and self._is_best(study, setting, run, records))
            for study, setting in self._studies_of.get(run.name, [])
        )

    def _is_best(self, study: Study, setting: Setting, run: StudyRun, records: Mapping[str, RunRecord]) -> bool:
        """Returns whether the run is, or may become, the best seed of its setting."""
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
