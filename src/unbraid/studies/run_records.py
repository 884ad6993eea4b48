"""Records of runs: state and scores, read from the folder of a run without weights and codes."""

import hashlib
import json
import math
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple, final

from unbraid._internal import files
from unbraid.metrics.score_json import number_from_json
from unbraid.studies.study_scores import RunState
from unbraid.training.runs.run_scores import question_key

_ENDS: dict[str, RunState] = {"finished.json": "finished", "failed.json": "failed"}
_SCORES, _SPEC = "scores.json", "spec.json"
_NONE: Mapping[str, Any] = MappingProxyType({})


@final
class KeptNumbers(NamedTuple):
    """The numbers of one score: the value, its interval, and the parts and the scores of factors by name.

    `over` has the names of the factors whose score is not NaN.
    """

    value: float
    low: float
    high: float
    over: tuple[str, ...] = ()
    parts: Mapping[str, Sequence[float]] = _NONE
    factors: Mapping[str, float] = _NONE


@final
class RunRecord(NamedTuple):
    """The state and the scores of a run.

    `reason` is the reason of a failure. `numbers` has the scores, and `refused` the reasons of undefined scores. Both
    have the keys of `question_key`. `num_used` is the number of informative latents. `has_arrays` is True if the
    weights and codes exist.
    """

    state: RunState
    reason: str = ""
    seconds: float = math.nan
    has_arrays: bool = False
    num_used: int | None = None
    numbers: Mapping[str, KeptNumbers] = _NONE
    refused: Mapping[str, str] = _NONE


def stamp_of(folder: str) -> str:
    """Returns a text that changes when the run ends, has new scores, or is replaced by another run."""
    for end in _ENDS:
        if stamp := _stamp_of_file(f"{folder}/{end}"):
            return f"{end} {stamp}; {_stamp_of_file(f'{folder}/{_SCORES}')}"
    return "unfinished" if os.path.lexists(f"{folder}/{_SPEC}") else ""


def _stamp_of_file(path: str) -> str:
    try:
        status = os.stat(path)  # noqa: PTH116 (a Path for each of 200,000 files takes seconds)
    except OSError:
        return ""
    return f"{status.st_mtime_ns} {status.st_ctime_ns} {status.st_size} {status.st_ino}"


def read_run_record(folder: Path) -> tuple[RunRecord, bytes]:
    """Reads the record of the run in this folder. Also returns the SHA-256 of the files that were read.

    Raises:
        ValueError, OSError, LookupError or TypeError: The files were changed, or belong to another run.
    """
    end = next((name for name in _ENDS if (folder / name).exists()), None)
    if end is None:
        return RunRecord("unfinished" if os.path.lexists(folder / _SPEC) else "new"), b""
    contents = [files.read_bytes(folder / name) for name in (_SPEC, end)]
    ending = json.loads(contents[1])
    _check_identity(folder.name, contents[0], ending["sha256"])
    if _ENDS[end] == "failed":
        record = RunRecord("failed", reason=f"{ending.get('reason')} (step {ending.get('step')})")
    else:
        scores: dict[str, Any] = {}
        if (folder / _SCORES).exists():
            contents.append(files.read_bytes(folder / _SCORES))
            scores = _scores_in(contents[2], ending["sha256"])
        record = _finished(ending, scores, has_weights=(folder / "weights.safetensors").exists())
    return record, hashlib.sha256(b"\0".join(contents)).digest()


def _check_identity(name: str, spec: bytes, checksums: Mapping[str, Any]) -> None:
    """Raises ValueError if the spec does not match its checksum, or if digest and seed do not match the run name."""
    if hashlib.sha256(spec).hexdigest() != checksums.get(_SPEC):
        raise ValueError(f"{_SPEC} was changed, or belongs to another run (its SHA-256 does not match)")
    content = json.loads(spec)
    identity = f"{content.get('digest')}-seed{content.get('seed')}"
    if not name.endswith(f"-{identity}"):
        raise ValueError(f"expected the run {name} in its folder, got ...-{identity}")


def _scores_in(content: bytes, checksums: Mapping[str, Any]) -> dict[str, Any]:
    """Parses the content of scores.json. Raises ValueError if the file was changed or belongs to other codes."""
    scores: dict[str, Any] = json.loads(content)
    if scores.get("sha256") != files.seal(scores):
        raise ValueError(f"{_SCORES} was changed (its SHA-256 does not match)")
    if scores.get("codes") != checksums.get("codes.safetensors"):
        raise ValueError(f"{_SCORES} belongs to other codes (their SHA-256 does not match)")
    return scores


def _finished(ending: Mapping[str, Any], scores: Mapping[str, Any], *, has_weights: bool) -> RunRecord:
    return RunRecord(
        "finished",
        seconds=float(ending.get("seconds", math.nan)),
        has_arrays=has_weights and not ending.get("removed_files"),
        num_used=scores.get("num_used"),
        numbers={question_key(s["name"], s.get("scoring", {})): _numbers_of(s) for s in scores.get("scores", [])},
        refused=dict(scores.get("refused", {})),
    )


def _numbers_of(score: dict[str, Any]) -> KeptNumbers:
    low, high = _ends(score["interval"])
    parts = {name: (number_from_json(part["value"]), *_ends(part["interval"])) for name, part in score["parts"].items()}
    factors = {name: number_from_json(value) for name, value in score["per_factor"].items()}
    over = tuple(name for name, value in factors.items() if not math.isnan(value))
    return KeptNumbers(number_from_json(score["value"]), low, high, over, parts, factors)


def _ends(interval: list[float | str | None] | None) -> tuple[float, float]:
    return (math.nan, math.nan) if interval is None else (number_from_json(interval[0]), number_from_json(interval[1]))
