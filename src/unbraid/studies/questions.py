"""What a study asks of a run, and which of it has been answered."""

from collections.abc import Mapping
from typing import NamedTuple, final

from unbraid.metrics.metric import Metric
from unbraid.metrics.model import ModelScore
from unbraid.metrics.scoring import Scoring
from unbraid.studies.run_records import RunRecord
from unbraid.studies.study import Study
from unbraid.training.runs.kept_scores import question_key
from unbraid.training.runs.scored_images import settled
from unbraid.training.runs.spec import RunSpec


@final
class Question(NamedTuple):
    """A metric by name, and the scoring in which it is computed, in the one form that a run keeps it under."""

    name: str
    metric: Metric | ModelScore
    scoring: Scoring


@final
class Questions:
    """The questions of one study, by the key under which their answers are kept. Kin share one list."""

    def __init__(self, study: Study) -> None:
        self._study, self._metrics = study, study.asked
        self._of: dict[int, dict[str, Question]] = {}

    def of(self, spec: RunSpec) -> Mapping[str, Question]:
        """Returns what is asked of a run of this spec."""
        if id(spec) not in self._of:  # the study holds its specs, of which thousands of runs share one
            self._of[id(spec)] = self._questions(spec)
        return self._of[id(spec)]

    def missing(self, spec: RunSpec, record: RunRecord) -> list[Question]:
        """Returns what is asked of a run and has no answer yet: neither a score nor a refusal."""
        return [
            question
            for key, question in self.of(spec).items()
            if key not in record.numbers and key not in record.refused
        ]

    def _questions(self, spec: RunSpec) -> dict[str, Question]:
        scorings = dict.fromkeys(settled(spec, scoring) for scoring in self._study.scorings)
        return {
            question_key(name, scoring.changes()): Question(name, metric, scoring)
            for scoring in scorings
            for name, metric in self._metrics.items()
        }
