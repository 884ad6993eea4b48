"""Models of a run, read from its final weights, a snapshot or its newest checkpoint.

A checkpoint consists of a safetensors file and a JSON file with the checksum of both.
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

_MAX_ENTRIES = 1_000  # maximum length of a list in the spec of a net, such as its layers
_WEIGHTS = "model.weights."
CHECKPOINT_FORMAT = 4


@final
class OtherRunError(RunError):
    """Raised if a checkpoint and the spec.json in the same run folder belong to different runs."""


def read_checkpoint(path: Path, digest: str, seed: int) -> tuple[dict[str, Any], dict[str, Tensor]]:
    """Reads a checkpoint: the record in the JSON file at `path`, and the tensors by name.

    Raises a ValueError for a damaged checkpoint, and an OtherRunError for another digest or seed.
    """
    if not path.exists():
        raise ValueError("the JSON file is missing, because the process ended during the write")
    try:
        record, content = read_record(path), files.read_bytes(tensors_beside(path))
        if record["format"] != CHECKPOINT_FORMAT:
            raise ValueError(
                f"it has format {record['format']} of unbraid {record['unbraid']}; expected {CHECKPOINT_FORMAT}"
            )
        if record["sha256"] != files.seal(record, hashlib.sha256(content)):
            raise ValueError("the SHA-256 does not match: it is truncated or damaged")
        of_run, descriptions = (record["digest"], record["seed"]), record["tensors"]
    except (RunError, OSError, KeyError) as error:
        raise ValueError(str(error)) from None
    if of_run != (digest, seed):
        raise OtherRunError(
            f"{path} is a checkpoint of a run with seed {record['seed']} and digest {record['digest']}; expected seed "
            f"{seed} and digest {digest}, as in spec.json. Restore the files, or train again with --force."
        )
    tensors = load(content)
    if {name: described(tensor) for name, tensor in tensors.items()} != descriptions:
        raise ValueError("the tensors do not match their description in the JSON file")
    return record, tensors


def tensors_beside(path: Path) -> Path:
    """Returns the path of the tensors of a checkpoint, given the path of the JSON file."""
    return path.with_suffix(".safetensors")


def described(tensor: Tensor) -> dict[str, Any]:
    """Returns the type and the shape of a tensor for the record of a checkpoint."""
    return {"dtype": str(tensor.dtype).removeprefix("torch."), "shape": list(tensor.shape)}


def trained_model(run: "Run", step: int | None) -> AutoencoderModule:
    """Loads the model of a run on the CPU, from a snapshot or the newest weights, without gradients of weights.

    If the weights do not match the spec, raises an error before memory is allocated.
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
        if has_batch_norm(model):  # statistics of all images, as at the end of training
            set_population_statistics(model, spec.training_data.open(), run.seed, generates=spec.objective.generates)
    return model.eval().requires_grad_(requires_grad=False)


def _weights_before_the_end(run: "Run", step: int | None) -> dict[str, Tensor]:
    """Loads the weights of the snapshot of `step`, or of the newest checkpoint of an unfinished run if None.

    Returns an empty dictionary for a finished run without `step`.
    """
    step = check_value(step, int | None, "step")
    if step is None or (step == run.spec.num_steps and run.status == "finished"):
        return _newest_weights(run) if run.status == "unfinished" else {}
    if step not in run.snapshots:
        known = ", ".join(map(str, run.snapshots)) or "none"
        raise RunError(
            f"{run.folder} has no snapshot of step {step} (existing: {known}). Train with "
            f"TrainingOptions(snapshots=[{step}]) (--snapshots {step}), and force=True (--force) after that step."
        )
    path = run.folder / "snapshots" / f"step-{step:010d}.json"
    try:
        return _checkpoint_weights(run, path)
    except ValueError as error:
        raise RunError(
            f"The snapshot {path} cannot be used ({error}). Restore the file, or train this run again with --force."
        ) from None


def _newest_weights(run: "Run") -> dict[str, Tensor]:
    """Loads the weights of the newest readable checkpoint. Training may remove checkpoints at the same time."""
    for path in reversed(run.checkpoints.values()):
        with contextlib.suppress(ValueError):
            return _checkpoint_weights(run, path)
    return {}


def _checkpoint_weights(run: "Run", path: Path) -> dict[str, Tensor]:
    """Loads the model weights in a checkpoint by parameter name."""
    _, tensors = read_checkpoint(path, run.digest, run.seed)
    return {name.removeprefix(_WEIGHTS): each for name, each in tensors.items() if name.startswith(_WEIGHTS)}


def _shapes_in(path: Path) -> dict[str, tuple[int, ...]]:
    """Reads the shapes of the tensors in a file by name, from the header."""
    with safe_open(path, framework="numpy") as stored:
        return {name: tuple(stored.get_slice(name).get_shape()) for name in stored.keys()}  # noqa: SIM118


def _check_shapes(
    run: "Run", image_shape: tuple[int, int, int], found: Mapping[str, tuple[int, ...]], *, has_buffers: bool
) -> None:
    """Checks the shapes of weights against the nets of the spec, without allocating memory for weights."""
    for path, value in fields_of(run.spec.model).items():
        if isinstance(value, tuple) and len(value) > _MAX_ENTRIES:
            raise RunError(
                f"{run.folder}: {path} has {len(value):,} entries; expected at most {_MAX_ENTRIES:,}. Restore it."
            )
    try:
        model = run.spec.model.without_memory(image_shape)
    except (RuntimeError, TypeError, OverflowError) as error:
        raise RunError(
            f"The nets of {run.folder} cannot be built ({str(error).partition(chr(10))[0]}). Restore spec.json."
        ) from None
    expected = {name: tuple(each.shape) for name, each in model.state_dict().items()}
    needed = expected if has_buffers else dict(model.named_parameters())
    for name in [*found, *needed]:
        if found.get(name) != expected.get(name):
            raise RunError(
                f"The weights of {run.folder} do not match the spec: {name} has shape {found.get(name)}; expected "
                f"{expected.get(name)}. Restore spec and weights, or train this run again with --force."
            )
