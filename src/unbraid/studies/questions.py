"""The metrics that a study computes of each run, and the task in which a worker process computes missing ones."""

import contextlib
import json
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, final

from unbraid._internal.worker_pool import Json
from unbraid.config import from_json, to_json
from unbraid.errors import CodesError
from unbraid.metrics.metric import Metric
from unbraid.metrics.model import ModelScore
from unbraid.metrics.scoring import Scoring
from unbraid.studies.run_records import RunRecord
from unbraid.studies.study import Study
from unbraid.training.runs.run import Run
from unbraid.training.runs.run_scores import question_key, settled
from unbraid.training.runs.spec import RunSpec


@final
class Question(NamedTuple):
    """A metric with its name and its scoring, in the normal form under which a run keeps the score."""

    name: str
    metric: Metric | ModelScore
    scoring: Scoring


@final
class Questions:
    """The questions of a study by the key under which runs keep the scores. Runs with the same spec share them."""

    def __init__(self, study: Study) -> None:
        self._study, self._metrics = study, study.metrics_by_name
        self._of: dict[int, dict[str, Question]] = {}

    def of(self, spec: RunSpec) -> Mapping[str, Question]:
        """Returns the questions about runs with this spec."""
        if id(spec) not in self._of:  # the study holds its specs, of which thousands of runs share one
            scorings = dict.fromkeys(settled(spec, scoring) for scoring in self._study.scorings)
            self._of[id(spec)] = {
                question_key(name, scoring.changes()): Question(name, metric, scoring)
                for scoring in scorings
                for name, metric in self._metrics.items()
            }
        return self._of[id(spec)]

    def missing(self, spec: RunSpec, record: RunRecord) -> list[Question]:
        """Returns the questions for which a run has neither a score nor a refusal."""
        return [
            question
            for key, question in self.of(spec).items()
            if key not in record.numbers and key not in record.refused
        ]


def questions_to_json(questions: Sequence[Question]) -> dict[str, list[Any]]:
    """Returns metrics by scoring, as an order holds them."""
    asked: dict[str, list[Any]] = defaultdict(list)
    for question in questions:
        asked[json.dumps(question.scoring.changes())].append(to_json(question.metric))
    return dict(asked)


def score_run(order: Json, beat: Callable[[], None]) -> Json:
    """Computes and keeps scores of a run. Returns the tracebacks of the metrics that failed, by name.

    The order has the `folder` of the run, what is `asked` of it (`questions_to_json`), the `device`, and the `packages`
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
