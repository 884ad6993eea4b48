"""One checkpoint on disk, read and checked: a safetensors file, and the JSON beside it that vouches for both."""

import hashlib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, final

from safetensors.torch import load
from torch import Tensor

from unbraid._internal import files
from unbraid.errors import RunError
from unbraid.training.runs.records import read_record

CHECKPOINT_FORMAT = 4
UNREADABLE = (RunError, OSError, ValueError, KeyError, TypeError, AttributeError)
"""What reading a damaged checkpoint may raise."""
_WEIGHTS = "model.weights."


@final
class OtherRunError(RunError):
    """Raised where a checkpoint and the spec beside it belong to two runs, either of which may be the wrong one."""


def read_checkpoint(path: Path, digest: str, seed: int) -> tuple[dict[str, Any], dict[str, Tensor]]:
    """Returns the record at this path and the tensors that it vouches for, by name. Refuses a damaged checkpoint with
    one of `UNREADABLE`, and one of another run than that of this digest and seed with an OtherRunError.
    """
    if not path.exists():
        raise ValueError("its JSON is missing: it was being written when the process ended")
    record = read_record(path)
    if record["format"] != CHECKPOINT_FORMAT:
        raise ValueError(
            f"it has format {record['format']}, written by unbraid {record['unbraid']}; this version reads "
            f"{CHECKPOINT_FORMAT}"
        )
    content = files.read_bytes(tensors_beside(path))
    if record["sha256"] != files.seal(record, hashlib.sha256(content)):
        raise ValueError("its bytes do not match their SHA-256: it is truncated or damaged")
    if (record["digest"], record["seed"]) != (digest, seed):
        raise OtherRunError(
            f"{path} is a checkpoint of another run (seed {record['seed']}, digest {record['digest']}) than its "
            f"spec.json (seed {seed}, digest {digest}). Restore the one that is wrong, or train again with --force."
        )
    tensors = load(content)
    if {name: described(tensor) for name, tensor in tensors.items()} != record["tensors"]:
        raise ValueError("its JSON describes other tensors than it holds")
    return record, tensors


def newest_weights(paths: Iterable[Path], digest: str, seed: int) -> dict[str, Tensor]:
    """Returns the weights of the model, by the names that it has for them, from the first of these checkpoints that can
    be read; none if none can. A run in training may remove one while it is read.
    """
    for path in paths:
        try:
            _, tensors = read_checkpoint(path, digest, seed)
        except OtherRunError:
            raise
        except UNREADABLE:
            continue
        return _of_model(tensors)
    return {}


def _of_model(tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    return {name.removeprefix(_WEIGHTS): each for name, each in tensors.items() if name.startswith(_WEIGHTS)}


def snapshot_weights(path: Path, digest: str, seed: int) -> dict[str, Tensor]:
    """Returns the weights of the model in this snapshot, by the names that it has for them."""
    try:
        _, tensors = read_checkpoint(path, digest, seed)
    except OtherRunError:
        raise
    except UNREADABLE as error:
        raise RunError(
            f"The snapshot {path} cannot be used ({error}). Restore it, or train this run again with --force."
        ) from None
    return _of_model(tensors)


def tensors_beside(path: Path) -> Path:
    """Returns where the tensors of the checkpoint lie whose JSON is at this path."""
    return path.with_suffix(".safetensors")


def described(tensor: Tensor) -> dict[str, Any]:
    """Returns the type and the shape of a tensor, as the record of a checkpoint holds them."""
    return {"dtype": str(tensor.dtype).removeprefix("torch."), "shape": list(tensor.shape)}
