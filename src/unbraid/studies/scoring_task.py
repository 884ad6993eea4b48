"""The missing scores of one run, as an order for a worker process."""

import contextlib
import json
from collections import defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from unbraid._internal.worker_pool import Json
from unbraid.config import from_json, to_json
from unbraid.errors import CodesError
from unbraid.metrics.metric import Metric
from unbraid.metrics.model import ModelScore
from unbraid.metrics.scoring import Scoring
from unbraid.studies.questions import Question
from unbraid.training.runs.run import Run


def scoring_order(folder: Path, questions: Sequence[Question], device: str, packages: Sequence[str]) -> Json:
    """Returns the order to compute these scores of the run in this folder."""
    asked = questions_to_json(questions)
    return {"folder": str(folder), "asked": asked, "device": device, "packages": list(packages)}


def questions_to_json(questions: Sequence[Question]) -> dict[str, list[Any]]:
    """Returns metrics by scoring, as an order holds them."""
    asked: dict[str, list[Any]] = defaultdict(list)
    for question in questions:
        asked[json.dumps(question.scoring.changes())].append(to_json(question.metric))
    return dict(asked)


def score_run(order: Json, beat: Callable[[], None]) -> Json:
    """Computes and keeps the scores. Returns the tracebacks of the metrics that failed, by name."""
    packages, failed = order["packages"], dict[str, str]()
    run = Run.open(Path(order["folder"]), packages=packages)
    for changes, metrics in order["asked"].items():
        scoring = Scoring.from_changes(json.loads(changes), packages=packages)
        chosen = [from_json(metric, Metric | ModelScore, packages=packages) for metric in metrics]
        with contextlib.suppress(CodesError):  # no metric is defined for these codes: the run keeps that as refusals
            failed |= run.score(chosen, scoring, device=order["device"], progress=False).failed
        beat()
    return {"failed": failed}
