"""One checkpoint on disk: a safetensors file, and a JSON file beside it with the checksum of both."""

import hashlib
from pathlib import Path
from typing import Any, final

from safetensors.torch import load
from torch import Tensor

from unbraid._internal import files
from unbraid.errors import RunError
from unbraid.training.runs.run_folder import read_record

CHECKPOINT_FORMAT = 4
UNREADABLE = (RunError, OSError, ValueError, KeyError, TypeError, AttributeError)
"""Errors that reading a damaged checkpoint may raise."""


@final
class OtherRunError(RunError):
    """Raised where a checkpoint and the spec beside it belong to two runs, either of which may be the wrong one."""


def read_checkpoint(path: Path, digest: str, seed: int) -> tuple[dict[str, Any], dict[str, Tensor]]:
    """Returns the record at this path, and its tensors by name.

    Raises one of `UNREADABLE` if the checkpoint is damaged, and an OtherRunError if the digest or the seed differ.
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


def tensors_beside(path: Path) -> Path:
    """Returns the path of the tensors of the checkpoint whose JSON is at this path."""
    return path.with_suffix(".safetensors")


def described(tensor: Tensor) -> dict[str, Any]:
    """Returns the type and the shape of a tensor, as the record of a checkpoint holds them."""
    return {"dtype": str(tensor.dtype).removeprefix("torch."), "shape": list(tensor.shape)}
