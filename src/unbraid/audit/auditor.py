"""A process that measures drawn codes, or codes of a snapshot, by many metrics."""

import dataclasses
import json
import math
import traceback
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from unbraid import sampling
from unbraid.audit.design import Design
from unbraid.audit.findings import UNDEFINED, part_name
from unbraid.codes import Codes
from unbraid.errors import CodesError, UnbraidError
from unbraid.metrics.metric import Metric
from unbraid.metrics.reductions.statistics import Statistics
from unbraid.recipes import from_json, to_json
from unbraid.runs.run import Run
from unbraid.studies.line_workers import Answer, answer_lines

PROGRAM = "from unbraid.audit.auditor import main; main()"


def drawn(design: Design, num_images: int, seed: int) -> dict[str, Any]:
    """Returns which codes are measured, as an order holds it: drawn ones."""
    return {"design": dataclasses.asdict(design), "num_images": num_images, "seed": seed}


def snapshot(run: Run, step: int, num_images: int, trust: str | None = None) -> dict[str, Any]:
    """Returns which codes are measured, as an order holds it: those of a run after a step. `trust` is what `Run.open`
    takes.
    """
    return {"run": str(run.folder), "step": step, "num_images": num_images, "trust": trust}


def order(codes: Mapping[str, Any], metrics: Mapping[str, Metric], packages: Sequence[str]) -> str:
    """Returns the line that asks for the values of these metrics."""
    asked = {name: to_json(metric) for name, metric in metrics.items()}
    return json.dumps({"codes": codes, "metrics": asked, "packages": list(packages)})


def told(line: str) -> Answer:
    """Returns the value of each metric, and why others have none."""
    try:
        content = json.loads(line)
        codes, packages = _codes(content["codes"], content["packages"]), content["packages"]
        metrics = {name: from_json(each, Metric, packages=packages) for name, each in content["metrics"].items()}
        return measured(codes, metrics)
    except UnbraidError as error:
        return {"error": str(error), "traceback": traceback.format_exc()}
    except Exception as error:  # noqa: BLE001 (told to who ordered it)
        return {"error": f"{type(error).__name__}: {error}", "traceback": traceback.format_exc()}


def measured(codes: Codes, metrics: Mapping[str, Metric]) -> Answer:
    """Returns the values of metrics of the same codes by name, and the sentences of those that refuse them."""
    statistics, values, refused = Statistics(codes), dict[str, float](), dict[str, str]()
    for name, metric in metrics.items():
        numbers, why = _numbers(metric, statistics)
        for part in ("", *metric.reported_parts):
            value = numbers.get(part, math.nan)
            if math.isfinite(value):
                values[part_name(name, part)] = value
            else:
                refused[part_name(name, part)] = why or UNDEFINED
    return {"values": values, "refused": refused}


def _numbers(metric: Metric, statistics: Statistics) -> tuple[dict[str, float], str]:
    """Returns the value of a metric, under "", and its parts; or none, and why."""
    try:
        score = metric.of(statistics)
    except CodesError as error:
        return {}, str(error)
    except Exception as error:  # noqa: BLE001 (a bug of one metric costs one value)
        return {}, f"failed: {type(error).__name__}: {error}"
    return {"": score.value} | {part: number.value for part, number in score.parts.items()}, ""


def main() -> None:
    """Answers orders until the input ends."""
    answer_lines(told)


def _codes(content: Mapping[str, Any], packages: Sequence[str]) -> Codes:
    if "design" in content:
        design = Design(**{**content["design"], "grid": tuple(content["design"]["grid"])})
        return design.draw(content["num_images"], content["seed"])
    codes = Run.open(Path(content["run"]), packages=packages, trust=content["trust"]).codes(step=content["step"])
    count = min(content["num_images"], len(codes))
    rows = sampling.images(count, len(codes), 0, "audited images", codes.weights)
    return dataclasses.replace(codes.rows(rows), weights=None)
