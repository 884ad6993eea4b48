"""Models of a run, read from its final weights, a snapshot or its newest checkpoint.

A checkpoint is a safetensors file, and a JSON file beside it with the checksum of both.
"""

import contextlib
import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, final

from safetensors import safe_open
from safetensors.torch import load, load_file
from torch import Tensor

from unbraid._internal import files
from unbraid.config.annotations import check_value
from unbraid.config.paths import fields_of
from unbraid.errors import RunError
from unbraid.models.autoencoder import AutoencoderModule
from unbraid.models.batch_norm import has_batch_norm, set_population_statistics
from unbraid.training.runs.run_folder import read_record

if TYPE_CHECKING:
    from unbraid.training.runs.run import Run

_MAX_ENTRIES = 1_000  # of one setting of a net, such as its layers
_WEIGHTS = "model.weights."
CHECKPOINT_FORMAT = 4


@final
class OtherRunError(RunError):
    """Raised if a checkpoint and the spec.json in the same run folder belong to different runs."""


def read_checkpoint(path: Path, digest: str, seed: int) -> tuple[dict[str, Any], dict[str, Tensor]]:
    """Returns the record of the checkpoint at this path, and its tensors by name.

    Raises a ValueError if the checkpoint is damaged, and an OtherRunError if the digest or the seed differ.
    """
    if not path.exists():
        raise ValueError("its JSON is missing: it was being written when the process ended")
    try:
        record, content = read_record(path), files.read_bytes(tensors_beside(path))
        if record["format"] != CHECKPOINT_FORMAT:
            raise ValueError(
                f"it has format {record['format']}, written by unbraid {record['unbraid']}; this version reads "
                f"{CHECKPOINT_FORMAT}"
            )
        if record["sha256"] != files.seal(record, hashlib.sha256(content)):
            raise ValueError("its bytes do not match their SHA-256: it is truncated or damaged")
        of_run, descriptions = (record["digest"], record["seed"]), record["tensors"]
    except (RunError, OSError, KeyError) as error:
        raise ValueError(str(error)) from None
    if of_run != (digest, seed):
        raise OtherRunError(
            f"{path} is a checkpoint of another run (seed {record['seed']}, digest {record['digest']}) than its "
            f"spec.json (seed {seed}, digest {digest}). Restore the wrong file, or train again with --force."
        )
    tensors = load(content)
    if {name: described(tensor) for name, tensor in tensors.items()} != descriptions:
        raise ValueError("its tensors do not match the description in its JSON")
    return record, tensors


def tensors_beside(path: Path) -> Path:
    """Returns the path of the tensors for a checkpoint with its JSON at this path."""
    return path.with_suffix(".safetensors")


def described(tensor: Tensor) -> dict[str, Any]:
    """Returns the type and the shape of a tensor for the record of a checkpoint."""
    return {"dtype": str(tensor.dtype).removeprefix("torch."), "shape": list(tensor.shape)}


def trained_model(run: "Run", step: int | None) -> AutoencoderModule:
    """Returns the model of a run on the CPU with constant weights, from a snapshot or the newest weights.

    Raises if the weights do not match the spec, before memory is allocated for them.
    """
    spec, image_shape = run.spec, run.image_shape or run.spec.dataset.image_shape
    weights = _weights_before_the_end(run, step)
    path = None if weights else run.checked("weights.safetensors")
    found = _shapes_in(path) if path else {name: tuple(tensor.shape) for name, tensor in weights.items()}
    _check_shapes(run, image_shape, found, has_buffers=path is not None)
    model = spec.model.build(image_shape, run.seed).to(spec.dtype)
    if path is not None:
        model.load_state_dict(load_file(path))
    else:
        model.load_state_dict(model.state_dict() | weights)
        if has_batch_norm(model):  # the end of training computes its statistics from all images
            set_population_statistics(model, spec.training_data.open(), run.seed, generates=spec.objective.generates)
    return model.eval().requires_grad_(requires_grad=False)


def _weights_before_the_end(run: "Run", step: int | None) -> dict[str, Tensor]:
    """Returns the weights of the snapshot of `step`, or of the newest checkpoint of an unfinished run if None.

    Returns an empty dictionary if the final weights were requested.
    """
    step = check_value(step, int | None, "step")
    if step is None or (step == run.spec.num_steps and run.status == "finished"):
        return _newest_weights(run) if run.status == "unfinished" else {}
    if step not in run.snapshots:
        known = ", ".join(map(str, run.snapshots)) or "none"
        raise RunError(
            f"{run.folder} has no snapshot of step {step} (it has {known}). Train with "
            f"TrainingOptions(snapshots=[{step}]) (--snapshots {step}). If the run is past that step, add "
            "force=True (--force)."
        )
    path = run.folder / "snapshots" / f"step-{step:010d}.json"
    try:
        return _checkpoint_weights(run, path)
    except ValueError as error:
        raise RunError(
            f"The snapshot {path} cannot be used ({error}). Restore it, or train this run again with --force."
        ) from None


def _newest_weights(run: "Run") -> dict[str, Tensor]:
    """Returns the weights of the newest readable checkpoint. Training may remove checkpoints at the same time."""
    for path in reversed(run.checkpoints.values()):
        with contextlib.suppress(ValueError):
            return _checkpoint_weights(run, path)
    return {}


def _checkpoint_weights(run: "Run", path: Path) -> dict[str, Tensor]:
    """Returns the model weights in a checkpoint, by parameter name."""
    _, tensors = read_checkpoint(path, run.digest, run.seed)
    return {name.removeprefix(_WEIGHTS): each for name, each in tensors.items() if name.startswith(_WEIGHTS)}


def _shapes_in(path: Path) -> dict[str, tuple[int, ...]]:
    """Returns the shapes of the tensors in a file, from its header."""
    with safe_open(path, framework="numpy") as stored:
        return {name: tuple(stored.get_slice(name).get_shape()) for name in stored.keys()}  # noqa: SIM118


def _check_shapes(
    run: "Run", image_shape: tuple[int, int, int], found: Mapping[str, tuple[int, ...]], *, has_buffers: bool
) -> None:
    """Raises if these shapes differ from the weights of the nets of the spec. Allocates no memory for weights."""
    for path, value in fields_of(run.spec.model).items():
        if isinstance(value, tuple) and len(value) > _MAX_ENTRIES:
            raise RunError(f"{run.folder}: {path} has {len(value):,} entries; expected at most {_MAX_ENTRIES:,}.")
    try:
        model = run.spec.model.without_memory(image_shape)
    except (RuntimeError, TypeError, OverflowError) as error:
        raise RunError(
            f"The nets of {run.folder} cannot be made ({str(error).partition(chr(10))[0]}). Restore its spec.json."
        ) from None
    expected = {name: tuple(each.shape) for name, each in model.state_dict().items()}
    needed = expected if has_buffers else dict(model.named_parameters())
    for name in [*found, *needed]:
        if found.get(name) != expected.get(name):
            raise RunError(
                f"The weights of {run.folder} are not those of its spec: {name} has shape {found.get(name)}; expected "
                f"{expected.get(name)}. Restore spec and weights, or train this run again with --force."
            )
