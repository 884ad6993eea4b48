"""Scores as JSON. NaN and infinity, which JSON lacks, are written as null, "inf" and "-inf"."""

import json
import math
from typing import Any

import torch

from unbraid.metrics.metric import Interval, Score, Value


def score_to_json(score: Score) -> dict[str, Any]:
    return {
        "metric": score.metric,
        "value": number_to_json(score.value),
        "interval": _ends(score.interval),
        "parts": {
            name: {"value": number_to_json(part.value), "interval": _ends(part.interval)}
            for name, part in score.parts.items()
        },
        "per_factor": {name: number_to_json(value) for name, value in score.per_factor.items()},
        "per_latent": [number_to_json(value) for value in score.per_latent],
        "tables": {name: _nested(table.tolist()) for name, table in score.tables.items()},
        "settled": score.settled,
        "notes": list(score.notes),
        "settings": dict(score.settings),
        "scoring": dict(score.scoring),
    }


def score_from_json(content: dict[str, Any]) -> Score:
    """Returns the score that `score_to_json` wrote. Older files lack parts, settled, notes and scoring."""
    return Score(
        metric=content["metric"],
        value=number_from_json(content["value"]),
        interval=_interval(content["interval"]),
        parts={
            name: Value(number_from_json(part["value"]), _interval(part["interval"]))
            for name, part in content.get("parts", {}).items()
        },
        per_factor={name: number_from_json(value) for name, value in content["per_factor"].items()},
        per_latent=tuple(number_from_json(value) for value in content["per_latent"]),
        tables={name: torch.tensor(_floats(table), dtype=torch.float64) for name, table in content["tables"].items()},
        settled=content.get("settled"),
        notes=tuple(content.get("notes", ())),
        settings=content["settings"],
        scoring=content.get("scoring", {}),
    )


def score_key(content: dict[str, Any]) -> str:
    """Returns the same key for scores that answer the same question: the later one replaces the earlier."""
    return json.dumps([content["metric"], content["settings"], content.get("scoring", {})], sort_keys=True)


def number_to_json(value: float) -> float | str | None:
    """Returns a number as what JSON can hold: NaN as null, infinity as a text."""
    if math.isnan(value):
        return None
    return value if math.isfinite(value) else str(value)


def _ends(interval: Interval | None) -> list[float | str | None] | None:
    return None if interval is None else [number_to_json(end) for end in interval]


def _nested(values: Any) -> Any:
    return [_nested(value) for value in values] if isinstance(values, list) else number_to_json(float(values))


def number_from_json(value: float | str | None) -> float:
    """Returns the number that `number_to_json` wrote."""
    return math.nan if value is None else float(value)


def _interval(ends: list[float | str | None] | None) -> Interval | None:
    return None if ends is None else (number_from_json(ends[0]), number_from_json(ends[1]))


def _floats(values: Any) -> Any:
    return [_floats(value) for value in values] if isinstance(values, list) else number_from_json(values)
