"""The model of a run: that of its end, of a snapshot, or of its newest checkpoint."""

from collections.abc import Mapping
from pathlib import Path

from safetensors import safe_open
from safetensors.torch import load_file
from torch import Tensor

from unbraid.config.annotations import check_value
from unbraid.config.paths import fields_of
from unbraid.errors import RunError
from unbraid.models.autoencoder import Autoencoder, AutoencoderModule
from unbraid.models.trained.batch_norm import has_batch_norm, set_population_statistics
from unbraid.training.runs.checkpoint_file import newest_weights, snapshot_weights
from unbraid.training.runs.run_files import RunFiles
from unbraid.training.runs.spec import RunSpec

_MAX_ENTRIES = 1_000  # of one setting of a net, such as its layers


def trained_model(files: RunFiles, spec: RunSpec, digest: str, seed: int, step: int | None) -> AutoencoderModule:
    """Returns the model of this spec and seed with its weights, as constants, on the CPU. Weights that the spec does
    not describe are refused before memory is asked for.
    """
    weights = _weights_in_between(files, spec, digest, seed, step)
    path = None if weights else files.checked("weights.safetensors")
    image_shape = files.image_shape or spec.dataset.image_shape
    found = _shapes_in(path) if path else {name: tuple(tensor.shape) for name, tensor in weights.items()}
    _check_shapes(spec.model, image_shape, found, files)
    model = spec.model.build(image_shape, seed).to(spec.dtype)
    if path is None:
        model.load_state_dict(model.state_dict() | weights)
        if has_batch_norm(model):  # whose statistics are taken from all images, at the end of training
            set_population_statistics(model, spec.training_data.open(), seed, generates=spec.objective.generates)
    else:
        model.load_state_dict(load_file(path))
    return model.eval().requires_grad_(False)


def _shapes_in(path: Path) -> dict[str, tuple[int, ...]]:
    """Returns the shapes of the tensors in a file, from its header."""
    with safe_open(path, framework="numpy") as stored:
        return {name: tuple(stored.get_slice(name).get_shape()) for name in stored.keys()}  # noqa: SIM118


def _check_shapes(
    model: Autoencoder, image_shape: tuple[int, int, int], found: Mapping[str, tuple[int, ...]], files: RunFiles
) -> None:
    """Refuses weights of other shapes than those of the nets, which are built without memory for that."""
    for path, value in fields_of(model).items():
        if isinstance(value, tuple) and len(value) > _MAX_ENTRIES:
            raise RunError(f"{files.folder}: {path} has {len(value):,} entries; expected at most {_MAX_ENTRIES:,}.")
    try:
        expected = model.weight_shapes(image_shape)
    except (RuntimeError, TypeError, OverflowError) as error:
        raise RunError(
            f"The nets of {files.folder} cannot be made ({str(error).partition(chr(10))[0]}). Restore its spec.json."
        ) from None
    for name, shape in found.items():
        if shape != expected.get(name):
            raise RunError(
                f"The weights of {files.folder} are not those of its spec: {name} has shape {shape}; expected "
                f"{expected.get(name)}. Restore spec and weights, or train this run again with --force."
            )


def _weights_in_between(files: RunFiles, spec: RunSpec, digest: str, seed: int, step: int | None) -> dict[str, Tensor]:
    """Returns the weights of the snapshot of this step; without one, those of the newest checkpoint of an unfinished
    run. Returns none where the weights of the end are meant.
    """
    step = check_value(step, int | None, "step")
    if step is None or (step == spec.num_steps and files.status == "finished"):
        paths = reversed(files.checkpoints.values()) if files.status == "unfinished" else ()
        return newest_weights(paths, digest, seed)
    found = files.snapshots
    if step not in found:
        known = ", ".join(map(str, found)) or "none"
        raise RunError(
            f"{files.folder} has no snapshot of step {step} (it has {known}). Train with "
            f"TrainingOptions(snapshots=[{step}]) (--snapshots {step}); a run that is past that step again, with "
            "force=True (--force)."
        )
    return snapshot_weights(found[step], digest, seed)
