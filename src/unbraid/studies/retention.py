"""Decides which weights and codes of scored runs are kept for the studies in the folder."""

import functools
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import final

from unbraid._internal import files
from unbraid.config import to_json
from unbraid.errors import SpecError
from unbraid.studies.index import STUDIES
from unbraid.studies.questions import Question, Questions
from unbraid.studies.run_records import RunRecord
from unbraid.studies.study import Setting, Study, StudyRun


def register(study: Study, folder: Path) -> None:
    """Adds the study to those of this folder. Replaces an earlier one with the same name."""
    files.write_json(folder / STUDIES / f"{study.name}.json", to_json(study))


def registered(folder: Path, packages: Collection[str]) -> list[Study]:
    """Returns all studies of this folder. Raises if one cannot be read, since it may need more of the runs."""
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
    """Returns the study of a file. One with the same content is not read twice: a folder may have many studies."""
    return Study.load(path, packages=packages)


@final
class Retention:
    """Decides which arrays of the runs in a folder may be removed, and which scores must be computed before."""

    def __init__(self, studies: Sequence[Study], folder: Path) -> None:
        self._studies_of: dict[str, list[tuple[Study, Setting, Questions]]] = {}
        self._siblings: dict[tuple[str, str], list[StudyRun]] = {}
        self._questions = {study.name: Questions(study) for study in studies}
        for study in studies:
            questions = self._questions[study.name]
            for each in study.runs(folder):
                self._studies_of.setdefault(each.name, []).append((study, each.setting, questions))
                self._siblings.setdefault((study.name, each.setting.label), []).append(each)

    def missing(self, run: StudyRun, record: RunRecord) -> list[Question]:
        """Returns the scores of this run that a study of the folder includes and that are not computed yet."""
        found = [
            question
            for _, _, questions in self._studies_of.get(run.name, [])
            for question in questions.missing(run.setting.spec, record)
        ]
        return list({(question.name, question.scoring): question for question in found}.values())

    def siblings(self, run: StudyRun) -> list[StudyRun]:
        """Returns all runs of the settings that include this one, because its scores may change which is best."""
        found = [
            sibling
            for study, setting, _ in self._studies_of.get(run.name, [])
            for sibling in self._siblings[study.name, setting.label]
        ]
        return list({sibling.name: sibling for sibling in found}.values())

    def keeps_scores_alone(self, run: StudyRun) -> bool:
        """Returns whether every study with this run keeps only its scores."""
        return all(study.keep == "scores" for study, _, _ in self._studies_of.get(run.name, []))

    def is_removable(self, run: StudyRun, records: Mapping[str, RunRecord]) -> bool:
        """Returns whether no study needs the weights and codes of the run any more."""
        record = records[run.name]
        if not record.has_arrays or self.missing(run, record):
            return False
        return not any(
            study.keep == "all" or (study.keep == "best" and self._is_best(study, setting, run, records))
            for study, setting, _ in self._studies_of.get(run.name, [])
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
