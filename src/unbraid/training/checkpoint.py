"""Checkpoints of one member: the last two, each a safetensors file and the JSON that vouches for it.

The tensors are written first and the JSON last, with their SHA-256 in it. So a checkpoint without its JSON, or that does not match it, is
one that was being written when the process died, or that the disk has damaged; the one before it is used.
"""

import importlib.metadata
import json
from collections.abc import Callable
from pathlib import Path

import torch
from safetensors.torch import load, save

from unbraid import files
from unbraid.runs.run import Run
from unbraid.training.fleet import MemberState

_FORMAT = 1
_NUM_KEPT = 2
_TENSORS = ("weights", "first_moment", "second_moment")


def save_checkpoint(run: Run, state: MemberState) -> None:
    """Write the state, then remove all but the newest checkpoints."""
    path = _folder(run) / f"step-{state.step:010d}.safetensors"
    files.write_bytes(path, save({name: getattr(state, name) for name in _TENSORS}))
    record = {
        "format": _FORMAT,
        "unbraid": importlib.metadata.version("unbraid"),
        "torch": torch.__version__,
        "digest": run.spec.digest,
        "seed": run.seed,
        "step": state.step,
        "failed_at": state.failed_at,
        "num_parameters": len(state.weights),
        "sha256": files.sha256(path),
    }
    files.write_json(path.with_suffix(".json"), record)
    for old in sorted(_folder(run).glob("step-*.json"))[:-_NUM_KEPT]:
        old.unlink()
        old.with_suffix(".safetensors").unlink(missing_ok=True)


def load_checkpoints(run: Run, warn: Callable[[str], None]) -> dict[int, MemberState]:
    """Every good checkpoint by its step. Each bad one is passed over with a warning that says what is wrong with it."""
    states = {}
    for path in sorted(_folder(run).glob("step-*.safetensors")):
        try:
            states |= {(state := _load(path, run)).step: state}
        except (OSError, ValueError, KeyError, TypeError) as error:
            warn(f"{run.name}: checkpoint {path.name} cannot be used ({error}); an earlier one is taken, or training starts afresh.")
    return states


def remove_checkpoints(run: Run) -> None:
    for path in _folder(run).glob("step-*"):
        path.unlink()
    if _folder(run).exists():
        _folder(run).rmdir()


def _load(path: Path, run: Run) -> MemberState:
    if not path.with_suffix(".json").exists():
        raise ValueError("its JSON is missing: it was being written when the process ended")
    record = json.loads(path.with_suffix(".json").read_text())
    if record["format"] != _FORMAT:
        raise ValueError(f"it has format {record['format']}, written by unbraid {record['unbraid']}; this version reads {_FORMAT}")
    if (record["digest"], record["seed"]) != (run.spec.digest, run.seed):
        raise ValueError("it belongs to another run")
    content = path.read_bytes()
    if files.sha256(path) != record["sha256"]:
        raise ValueError("its bytes do not match their SHA-256: it is truncated or damaged")
    tensors = load(content)
    return MemberState(step=record["step"], failed_at=record["failed_at"], **{name: tensors[name] for name in _TENSORS})


def _folder(run: Run) -> Path:
    return run.folder / "checkpoints"
