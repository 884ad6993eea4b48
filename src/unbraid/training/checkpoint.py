"""Checkpoints of one member: the last two, each a safetensors file and the JSON that vouches for it.

The tensors are written first and the JSON last, with the SHA-256 of both in it. So a checkpoint without its JSON, or that does not match it,
is one that was being written when the process died, or that the disk has damaged; the one before it is used.
"""

import contextlib
import json
from collections.abc import Callable
from pathlib import Path

import torch
from safetensors.torch import load, save

from unbraid import files
from unbraid.runs.run import Run, seal
from unbraid.training.fleet import MemberState
from unbraid.version import __version__

_FORMAT = 2
_NUM_KEPT = 2


def save_checkpoint(run: Run, state: MemberState) -> None:
    """Write the state, then remove all but this checkpoint and the one before it."""
    path = _folder(run) / f"step-{state.step:010d}.json"
    content = save(dict(state.tensors))
    files.write_bytes(_tensors(path), content)
    record = {
        "format": _FORMAT,
        "unbraid": __version__,
        "torch": torch.__version__,
        "digest": run.spec.digest,
        "seed": run.seed,
        "step": state.step,
        "failed_at": state.failed_at,
        "num_parameters": len(state.tensors["weights"]),
    }
    files.write_json(path, record | {"sha256": seal(record, content)})
    # Later ones too: they are of a process that died while its fleet was being checkpointed, and would crowd out the step that all members have.
    kept = [each for each in _checkpoints(run) if each.exists() and each <= path][-_NUM_KEPT:]
    for each in _checkpoints(run):
        if each not in kept:
            _remove(each)


def load_checkpoints(run: Run, warn: Callable[[str], None]) -> dict[int, MemberState]:
    """Every good checkpoint by its step. Each bad one is passed over with a warning that says what is wrong with it."""
    states: dict[int, MemberState] = {}
    for path in _checkpoints(run):
        try:
            states |= {(state := _load(path, run)).step: state}
        except (OSError, ValueError, KeyError, TypeError) as error:
            warn(f"{run.name}: checkpoint {path.stem} cannot be used ({error}); an earlier one is taken, or training starts afresh.")
    return states


def remove_checkpoints(run: Run) -> None:
    for path in _checkpoints(run):
        _remove(path)
    with contextlib.suppress(OSError):  # it may not be there, or hold what is not ours
        _folder(run).rmdir()


def _load(path: Path, run: Run) -> MemberState:
    if not path.exists():
        raise ValueError("its JSON is missing: it was being written when the process ended")
    record = json.loads(path.read_text())
    if record["format"] != _FORMAT:
        raise ValueError(f"it has format {record['format']}, written by unbraid {record['unbraid']}; this version reads {_FORMAT}")
    if (record["digest"], record["seed"]) != (run.spec.digest, run.seed):
        raise ValueError("it belongs to another run")
    content = _tensors(path).read_bytes()
    if record["sha256"] != seal(record, content):
        raise ValueError("its bytes do not match their SHA-256: it is truncated or damaged")
    tensors = load(content)
    return MemberState(step=record["step"], failed_at=record["failed_at"], tensors=tensors)


def _checkpoints(run: Run) -> list[Path]:
    """Where the JSON of each checkpoint is or should be, the oldest first."""
    return sorted({path.with_suffix(".json") for path in _folder(run).glob("step-*")})


def _tensors(path: Path) -> Path:
    return path.with_suffix(".safetensors")


def _remove(path: Path) -> None:
    path.unlink(missing_ok=True)
    _tensors(path).unlink(missing_ok=True)


def _folder(run: Run) -> Path:
    return run.folder / "checkpoints"
