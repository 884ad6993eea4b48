"""A process that measures drawn codes, or codes of a snapshot, by many metrics."""

import dataclasses
import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.audit.design import Design
from benchmarks.audit.findings import UNDEFINED, part_name
from unbraid._internal import row_draws
from unbraid.codes import Codes
from unbraid.config import from_json, to_json
from unbraid.errors import CodesError
from unbraid.metrics.metric import Metric
from unbraid.metrics.reductions.statistics import Statistics
from unbraid.training.runs.run import Run

Answer = dict[str, Any]


def drawn(design: Design, num_images: int, seed: int) -> dict[str, Any]:
    """Returns which codes are measured, as an order holds it: drawn ones."""
    return {"design": dataclasses.asdict(design), "num_images": num_images, "seed": seed}


def snapshot(run: Run, step: int, num_images: int) -> dict[str, Any]:
    """Returns which codes are measured, as an order holds it: those of a run after a step."""
    return {"run": str(run.folder), "step": step, "num_images": num_images}


def order(codes: Mapping[str, Any], metrics: Mapping[str, Metric], packages: Sequence[str]) -> dict[str, Any]:
    """Returns the order that asks for the values of these metrics."""
    asked = {name: to_json(metric) for name, metric in metrics.items()}
    return {"codes": codes, "metrics": asked, "packages": list(packages)}


def measure(order: dict[str, Any], beat: Callable[[], None]) -> Answer:
    """Returns the value of each metric, and why others have none: the task of a worker process."""
    packages = order["packages"]
    metrics = {name: from_json(each, Metric, packages=packages) for name, each in order["metrics"].items()}
    return measured(_codes(order["codes"], packages), metrics)


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


def _codes(content: Mapping[str, Any], packages: Sequence[str]) -> Codes:
    if "design" in content:
        design = Design(**{**content["design"], "grid": tuple(content["design"]["grid"])})
        return design.draw(content["num_images"], content["seed"])
    codes = Run.open(Path(content["run"]), packages=packages).codes(step=content["step"])
    count = min(content["num_images"], len(codes))
    rows = row_draws.draw_rows(count, len(codes), 0, "audited images", codes.weights)
    return dataclasses.replace(codes[rows], weights=None)
