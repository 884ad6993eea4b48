"""Scores as JSON. NaN and infinity, which JSON lacks, are written as null, "inf" and "-inf"."""

import json
import math
from typing import Any

import torch

from unbraid.metrics.metric import Interval, Score, Value


def score_to_json(score: Score) -> dict[str, Any]:
    return {
        "metric": score.metric,
        "value": _number(score.value),
        "interval": _ends(score.interval),
        "parts": {
            name: {"value": _number(part.value), "interval": _ends(part.interval)} for name, part in score.parts.items()
        },
        "per_factor": {name: _number(value) for name, value in score.per_factor.items()},
        "per_latent": [_number(value) for value in score.per_latent],
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
        value=_float(content["value"]),
        interval=_interval(content["interval"]),
        parts={
            name: Value(_float(part["value"]), _interval(part["interval"]))
            for name, part in content.get("parts", {}).items()
        },
        per_factor={name: _float(value) for name, value in content["per_factor"].items()},
        per_latent=tuple(_float(value) for value in content["per_latent"]),
        tables={name: torch.tensor(_floats(table), dtype=torch.float64) for name, table in content["tables"].items()},
        settled=content.get("settled"),
        notes=tuple(content.get("notes", ())),
        settings=content["settings"],
        scoring=content.get("scoring", {}),
    )


def score_key(content: dict[str, Any]) -> str:
    """Returns the same key for scores that answer the same question: the later one replaces the earlier."""
    return json.dumps([content["metric"], content["settings"], content.get("scoring", {})], sort_keys=True)


def _number(value: float) -> float | str | None:
    if math.isnan(value):
        return None
    return value if math.isfinite(value) else str(value)


def _ends(interval: Interval | None) -> list[float | str | None] | None:
    return None if interval is None else [_number(end) for end in interval]


def _nested(values: Any) -> Any:
    return [_nested(value) for value in values] if isinstance(values, list) else _number(float(values))


def _float(value: float | str | None) -> float:
    return math.nan if value is None else float(value)


def _interval(ends: list[float | str | None] | None) -> Interval | None:
    return None if ends is None else (_float(ends[0]), _float(ends[1]))


def _floats(values: Any) -> Any:
    return [_floats(value) for value in values] if isinstance(values, list) else _float(values)
