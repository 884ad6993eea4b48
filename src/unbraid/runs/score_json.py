"""Scores as JSON. NaN and infinity, which JSON lacks, are written as null, "inf" and "-inf"."""

import json
import math
from typing import Any

import torch

from unbraid.metrics.metric import Score


def score_to_json(score: Score) -> dict[str, Any]:
    return {
        "metric": score.metric,
        "value": _number(score.value),
        "interval": None if score.interval is None else [_number(end) for end in score.interval],
        "per_factor": {name: _number(value) for name, value in score.per_factor.items()},
        "per_latent": [_number(value) for value in score.per_latent],
        "tables": {name: _nested(table.tolist()) for name, table in score.tables.items()},
        "settings": dict(score.settings),
    }


def score_from_json(content: dict[str, Any]) -> Score:
    interval = content["interval"]
    return Score(
        metric=content["metric"],
        value=_float(content["value"]),
        interval=None if interval is None else (_float(interval[0]), _float(interval[1])),
        per_factor={name: _float(value) for name, value in content["per_factor"].items()},
        per_latent=tuple(_float(value) for value in content["per_latent"]),
        tables={name: torch.tensor(_floats(table), dtype=torch.float64) for name, table in content["tables"].items()},
        settings=content["settings"],
    )


def score_key(content: dict[str, Any]) -> str:
    """Two scores with the same key answer the same question: the later one replaces the earlier."""
    return json.dumps([content["metric"], content["settings"]], sort_keys=True)


def _number(value: float) -> float | str | None:
    if math.isnan(value):
        return None
    return value if math.isfinite(value) else str(value)


def _nested(values: Any) -> Any:
    return [_nested(value) for value in values] if isinstance(values, list) else _number(float(values))


def _float(value: float | str | None) -> float:
    return math.nan if value is None else float(value)


def _floats(values: Any) -> Any:
    return [_floats(value) for value in values] if isinstance(values, list) else _float(values)
