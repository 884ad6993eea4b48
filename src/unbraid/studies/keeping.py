"""What stays of a run once it is scored, by all studies in the folder that ask for it."""

import functools
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import final

from unbraid import files
from unbraid.errors import RunError, SpecError
from unbraid.recipes import to_json
from unbraid.runs.run_writer import RunWriter
from unbraid.studies.index import STUDIES
from unbraid.studies.questions import Question, Questions
from unbraid.studies.run_records import RunRecord
from unbraid.studies.study import Setting, Study, StudyRun


def register(study: Study, folder: Path) -> None:
    """Puts the study down among those that ask for runs of this folder, in place of an earlier one of its name."""
    files.write_json(folder / STUDIES / f"{study.name}.json", to_json(study))


def registered(folder: Path, packages: Collection[str]) -> list[Study]:
    """Returns all studies that ask for runs of this folder. Raises if one cannot be read, since it may ask for more."""
    try:
        paths = sorted((folder / STUDIES).glob("*.json"))
        return [_read(path, files.read_bytes(path), tuple(packages)) for path in paths]
    except (SpecError, OSError) as error:
        raise SpecError(
            f"A study of {folder / STUDIES} cannot be read, and may ask for scores of these runs: {error} Remove its "
            "file if it is no longer wanted."
        ) from None


@functools.lru_cache(maxsize=256)
def _read(path: Path, content: bytes, packages: tuple[str, ...]) -> Study:
    """Returns the study of a file. One with the same content is not read twice: a folder may have many studies."""
    return Study.load(path, packages=packages)


@final
class Keeping:
    """Decides what of the runs of a folder may go, and what must be computed before."""

    def __init__(self, studies: Sequence[Study], folder: Path) -> None:
        self._asking: dict[str, list[tuple[Study, Setting, Questions]]] = {}
        self._siblings: dict[tuple[str, str], list[StudyRun]] = {}
        self._questions = {study.name: Questions(study) for study in studies}
        for study in studies:
            questions = self._questions[study.name]
            for each in study.runs(folder):
                self._asking.setdefault(each.name, []).append((study, each.setting, questions))
                self._siblings.setdefault((study.name, each.setting.label), []).append(each)

    def missing(self, run: StudyRun, record: RunRecord) -> list[Question]:
        """Returns every score that a study of the folder asks of this run and that it does not have yet."""
        found = [
            question
            for _, _, questions in self._asking.get(run.name, [])
            for question in questions.missing(run.setting.spec, record)
        ]
        return list({(question.name, question.scoring): question for question in found}.values())

    def siblings(self, run: StudyRun) -> list[StudyRun]:
        """Returns the runs of all settings that ask for this one, itself included: which of them is best may depend on
        its scores.
        """
        found = [
            sibling
            for study, setting, _ in self._asking.get(run.name, [])
            for sibling in self._siblings[study.name, setting.label]
        ]
        return list({sibling.name: sibling for sibling in found}.values())

    def wants_scores_alone(self, run: StudyRun) -> bool:
        """Returns whether every study that asks for the run keeps its scores alone."""
        return all(study.keep == "scores" for study, _, _ in self._asking.get(run.name, []))

    def may_go(self, run: StudyRun, records: Mapping[str, RunRecord]) -> bool:
        """Returns whether weights and codes of the run are wanted by no study any more."""
        record = records[run.name]
        if not record.has_arrays or self.missing(run, record):
            return False
        return not any(
            study.keep == "all" or (study.keep == "best" and self._is_best(study, setting, run, records))
            for study, setting, _ in self._asking.get(run.name, [])
        )

    def _is_best(self, study: Study, setting: Setting, run: StudyRun, records: Mapping[str, RunRecord]) -> bool:
        """Returns whether the run is the best seed of its setting; until all seeds are scored, every one may be."""
        metric = study.asked[study.best_by]
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


def let_go(runs: Sequence[StudyRun], keeping: Keeping, records: Mapping[str, RunRecord]) -> list[StudyRun]:
    """Removes weights and codes of those of the runs that no study wants any more, and returns these."""
    gone = []
    for each in runs:
        if keeping.may_go(each, records):
            try:
                RunWriter(each.run).let_go()
            except RunError:
                continue  # another process is at it, and will do so itself
            gone.append(each)
    return gone
