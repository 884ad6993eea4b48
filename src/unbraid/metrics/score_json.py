"""Conversion of scores to and from JSON. NaN is written as null, and infinity as "inf" and "-inf"."""

import json
import math
from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from unbraid.metrics.metric import Score, Value


def score_to_json(score: Score) -> dict[str, Any]:
    """Converts the fields of a score to JSON values."""
    return {name: _to_json(value) for name, value in vars(score).items()}


def score_from_json(content: dict[str, Any]) -> Score:
    """Creates a score from the output of `score_to_json`."""
    return Score(
        metric=content["metric"],
        value=number_from_json(content["value"]),
        interval=_interval(content["interval"]),
        parts={
            name: Value(number_from_json(part["value"]), _interval(part["interval"]))
            for name, part in content["parts"].items()
        },
        per_factor={name: number_from_json(value) for name, value in content["per_factor"].items()},
        per_latent=tuple(number_from_json(value) for value in content["per_latent"]),
        tables={name: torch.tensor(_floats(table), dtype=torch.float64) for name, table in content["tables"].items()},
        settled=content["settled"],
        notes=tuple(content["notes"]),
        settings=content["settings"],
        scoring=content["scoring"],
    )


def score_key(content: dict[str, Any]) -> str:
    """Returns a key that is equal for scores with equal metric, settings and scoring."""
    return json.dumps([content["metric"], content["settings"], content["scoring"]], sort_keys=True)


def number_to_json(value: float) -> float | str | None:
    """Converts a number to a JSON value: NaN to null, and infinity to a string."""
    if math.isnan(value):
        return None
    return value if math.isfinite(value) else str(value)


def number_from_json(value: float | str | None) -> float:
    """Converts the output of `number_to_json` to a number."""
    return math.nan if value is None else float(value)


def _to_json(value: Any) -> Any:
    if isinstance(value, Value):
        value = vars(value)
    elif isinstance(value, Tensor):
        value = value.double().tolist()
    if isinstance(value, Mapping):
        return {name: _to_json(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [_to_json(each) for each in value]
    return number_to_json(value) if isinstance(value, float) else value


def _interval(ends: list[float | str | None] | None) -> tuple[float, float] | None:
    return None if ends is None else (number_from_json(ends[0]), number_from_json(ends[1]))


def _floats(values: Any) -> Any:
    return [_floats(value) for value in values] if isinstance(values, list) else number_from_json(values)
