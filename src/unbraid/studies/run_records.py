"""What the folder of a run says of its end and its scores, in brief: read without its arrays, and without its spec."""

import math
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple, final

from unbraid import files
from unbraid.evaluation.score_json import number_from_json
from unbraid.runs.kept_scores import question_key
from unbraid.studies.study_scores import RunState

_ENDS: dict[str, RunState] = {"finished.json": "finished", "failed.json": "failed"}
_SCORES = "scores.json"


_NONE: Mapping[str, Any] = MappingProxyType({})


@final
class KeptNumbers(NamedTuple):
    """The numbers of one kept score: its value with its interval, and those of its parts and factors by name. `over`
    are the factors for which it has a number.
    """

    value: float
    low: float
    high: float
    over: tuple[str, ...] = ()
    parts: Mapping[str, Sequence[float]] = _NONE
    factors: Mapping[str, float] = _NONE


@final
class RunRecord(NamedTuple):
    """How a run stands. `numbers` and `refused` are by question: the name of a metric and the scoring, as
    `question_key` writes them. `has_arrays` is whether its weights and codes are still there.
    """

    state: RunState
    reason: str = ""
    seconds: float = math.nan
    fleet_size: int = 1
    has_arrays: bool = False
    num_used: int | None = None
    numbers: Mapping[str, KeptNumbers] = _NONE
    refused: Mapping[str, str] = _NONE


def stamp_of(folder: str) -> str:
    """Returns a text that changes when the end or the scores of a run do: the times and sizes of their files."""
    for end in _ENDS:
        if told := _stamp_of_file(f"{folder}/{end}"):
            return f"{end} {told}; {_stamp_of_file(f'{folder}/{_SCORES}')}"
    return "unfinished" if os.path.lexists(f"{folder}/spec.json") else ""


def _stamp_of_file(path: str) -> str:
    try:
        status = os.stat(path)  # noqa: PTH116 (a Path for each of 200,000 files takes seconds)
    except OSError:
        return ""
    return f"{status.st_mtime_ns} {status.st_size}"


def read_run_record(folder: Path) -> RunRecord:
    """Returns how the run in this folder stands. A record that cannot be read raises a ValueError or an OSError."""
    end = next((name for name in _ENDS if (folder / name).exists()), None)
    if end is None:
        return RunRecord("unfinished" if os.path.lexists(folder / "spec.json") else "new")
    record = _object(files.read_json(folder / end))
    if _ENDS[end] == "failed":
        return RunRecord("failed", reason=f"{record.get('reason')} (step {record.get('step')})")
    kept = _object(files.read_sealed(folder / _SCORES)) if (folder / _SCORES).exists() else {}
    if kept and kept.get("codes") != _object(record["sha256"]).get("codes.safetensors"):
        raise ValueError(f"{folder / _SCORES} holds the scores of other codes")
    numbers = {
        question_key(score["name"], score.get("scoring", {})): _numbers_of(score) for score in kept.get("scores", [])
    }
    return RunRecord(
        "finished",
        seconds=float(record.get("seconds", math.nan)),
        fleet_size=max(1, len(record.get("fleet", []))),
        has_arrays=not record.get("let_go") and (folder / "weights.safetensors").exists(),
        num_used=kept.get("num_used"),
        numbers=numbers,
        refused=kept.get("refused", {}),
    )


def _numbers_of(score: dict[str, Any]) -> KeptNumbers:
    low, high = _ends(score["interval"])
    parts = {name: (number_from_json(part["value"]), *_ends(part["interval"])) for name, part in score["parts"].items()}
    factors = {name: number_from_json(value) for name, value in score["per_factor"].items()}
    over = tuple(name for name, value in factors.items() if not math.isnan(value))
    return KeptNumbers(number_from_json(score["value"]), low, high, over, parts, factors)


def _ends(interval: list[float | str | None] | None) -> tuple[float, float]:
    return (math.nan, math.nan) if interval is None else (number_from_json(interval[0]), number_from_json(interval[1]))


def _object(content: Any) -> dict[str, Any]:
    if not isinstance(content, dict):
        raise ValueError(f"it holds a {type(content).__name__}; expected an object")
    return content
