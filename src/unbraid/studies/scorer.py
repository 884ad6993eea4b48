"""A process that scores runs: it reads one order per line from its input, and answers each with a line of JSON."""

import contextlib
import json
import traceback
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from unbraid.errors import CodesError
from unbraid.evaluation.scoring import Scoring
from unbraid.metrics.metric import Metric
from unbraid.model_scores import ModelScore
from unbraid.recipes import from_json, to_json
from unbraid.runs.run import Run
from unbraid.studies.line_workers import answer_lines
from unbraid.studies.questions import Question


def order(folder: Path, questions: list[Question], device: str, packages: list[str]) -> str:
    """Returns the line that asks for these scores of the run in this folder."""
    return json.dumps(
        {"folder": str(folder), "device": device, "packages": packages, "asked": asked_in_json(questions)}
    )


def asked_in_json(questions: Sequence[Question]) -> dict[str, list[Any]]:
    """Returns questions as an order holds them: metrics by scoring."""
    asked: dict[str, list[Any]] = defaultdict(list)
    for question in questions:
        asked[json.dumps(question.scoring.changes())].append(to_json(question.metric))
    return dict(asked)


def answer(line: str) -> dict[str, Any]:
    """Scores as the order says, keeps the scores in the folder of the run, and returns what could not be computed: by
    metric, the traceback.
    """
    content = json.loads(line)
    packages, failed = content["packages"], dict[str, str]()
    run = Run.open(Path(content["folder"]), packages=packages)
    for changes, metrics in content["asked"].items():
        scoring = Scoring.of(json.loads(changes), packages=packages)
        chosen = [from_json(metric, Metric | ModelScore, packages=packages) for metric in metrics]
        with contextlib.suppress(CodesError):  # not one of them is defined for these codes, which is kept
            failed |= run.score(chosen, scoring, device=content["device"], progress=False).failed
    return {"failed": failed}


def told(line: str) -> dict[str, Any]:
    """Returns the answer to an order; an error is an answer too, so that the study goes on with the others."""
    try:
        return answer(line)
    except Exception as error:  # noqa: BLE001 (told to the study that ordered it)
        return {"error": f"{type(error).__name__}: {error}", "traceback": traceback.format_exc()}


def main() -> None:
    """Answers orders until the input ends."""
    answer_lines(told)
