"""The model of a run: that of its end, of a snapshot, or of its newest checkpoint."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from safetensors import safe_open
from safetensors.torch import load_file
from torch import Tensor

from unbraid.config.annotations import check_value
from unbraid.config.paths import fields_of
from unbraid.errors import RunError
from unbraid.models.autoencoder import AutoencoderModule
from unbraid.models.batch_norm import has_batch_norm, set_population_statistics
from unbraid.training.runs.checkpoint_file import UNREADABLE, OtherRunError, read_checkpoint

if TYPE_CHECKING:
    from unbraid.training.runs.run import Run

_MAX_ENTRIES = 1_000  # of one setting of a net, such as its layers
_WEIGHTS = "model.weights."


def trained_model(run: "Run", step: int | None) -> AutoencoderModule:
    """Returns the model of a run, on the CPU, with constant weights: of a snapshot, or by default the newest ones.

    Raises if its spec does not describe the weights, before memory is allocated for them.
    """
    spec, image_shape = run.spec, run.image_shape or run.spec.dataset.image_shape
    weights = _weights_before_the_end(run, step)
    path = None if weights else run.checked("weights.safetensors")
    found = _shapes_in(path) if path else {name: tuple(tensor.shape) for name, tensor in weights.items()}
    _check_shapes(run, image_shape, found)
    model = spec.model.build(image_shape, run.seed).to(spec.dtype)
    if path is not None:
        model.load_state_dict(load_file(path))
    else:
        model.load_state_dict(model.state_dict() | weights)
        if has_batch_norm(model):  # the end of training computes its statistics from all images
            set_population_statistics(model, spec.training_data.open(), run.seed, generates=spec.objective.generates)
    return model.eval().requires_grad_(requires_grad=False)


def _weights_before_the_end(run: "Run", step: int | None) -> dict[str, Tensor]:
    """Returns the weights of the snapshot of this step or, without one, of the newest checkpoint of an unfinished run.

    Returns none where the weights of the end are meant.
    """
    step = check_value(step, int | None, "step")
    if step is None or (step == run.spec.num_steps and run.status == "finished"):
        return _newest_weights(run) if run.status == "unfinished" else {}
    if step not in run.snapshots:
        known = ", ".join(map(str, run.snapshots)) or "none"
        raise RunError(
            f"{run.folder} has no snapshot of step {step} (it has {known}). Train with "
            f"TrainingOptions(snapshots=[{step}]) (--snapshots {step}); a run that is past that step again, with "
            "force=True (--force)."
        )
    path = run.folder / "snapshots" / f"step-{step:010d}.json"
    try:
        return _checkpoint_weights(run, path)
    except OtherRunError:
        raise
    except UNREADABLE as error:
        raise RunError(
            f"The snapshot {path} cannot be used ({error}). Restore it, or train this run again with --force."
        ) from None


def _newest_weights(run: "Run") -> dict[str, Tensor]:
    """Returns the weights of the newest checkpoint that can be read: training may remove one at the same time."""
    for path in reversed(run.checkpoints.values()):
        try:
            return _checkpoint_weights(run, path)
        except OtherRunError:
            raise
        except UNREADABLE:
            continue
    return {}


def _checkpoint_weights(run: "Run", path: Path) -> dict[str, Tensor]:
    """Returns the weights in a checkpoint by their names in the model."""
    _, tensors = read_checkpoint(path, run.digest, run.seed)
    return {name.removeprefix(_WEIGHTS): each for name, each in tensors.items() if name.startswith(_WEIGHTS)}


def _shapes_in(path: Path) -> dict[str, tuple[int, ...]]:
    """Returns the shapes of the tensors in a file, from its header."""
    with safe_open(path, framework="numpy") as stored:
        return {name: tuple(stored.get_slice(name).get_shape()) for name in stored.keys()}  # noqa: SIM118


def _check_shapes(run: "Run", image_shape: tuple[int, int, int], found: Mapping[str, tuple[int, ...]]) -> None:
    """Raises if the nets of the spec have weights of other shapes than these. Allocates no memory for weights."""
    for path, value in fields_of(run.spec.model).items():
        if isinstance(value, tuple) and len(value) > _MAX_ENTRIES:
            raise RunError(f"{run.folder}: {path} has {len(value):,} entries; expected at most {_MAX_ENTRIES:,}.")
    try:
        expected = run.spec.model.weight_shapes(image_shape)
    except (RuntimeError, TypeError, OverflowError) as error:
        raise RunError(
            f"The nets of {run.folder} cannot be made ({str(error).partition(chr(10))[0]}). Restore its spec.json."
        ) from None
    for name, shape in found.items():
        if shape != expected.get(name):
            raise RunError(
                f"The weights of {run.folder} are not those of its spec: {name} has shape {shape}; expected "
                f"{expected.get(name)}. Restore spec and weights, or train this run again with --force."
            )
