"""The model of a run: that of its end, of a snapshot, or of its newest checkpoint."""

from safetensors.torch import load_file
from torch import Tensor

from unbraid.errors import RunError
from unbraid.models.autoencoder import AutoencoderModule
from unbraid.models.trained.batch_norm import has_batch_norm, set_population_statistics
from unbraid.recipes.annotations import check_value
from unbraid.runs.checkpoint_file import newest_weights, snapshot_weights
from unbraid.runs.run_files import RunFiles
from unbraid.runs.spec import RunSpec


def trained_model(files: RunFiles, spec: RunSpec, digest: str, seed: int, step: int | None) -> AutoencoderModule:
    """Returns the model of this spec and seed with its weights, as constants, on the CPU."""
    model = spec.model.build(spec.dataset.image_shape, seed).to(spec.dtype)
    if in_between := _weights_in_between(files, spec, digest, seed, step):
        model.load_state_dict(model.state_dict() | in_between)
        if has_batch_norm(model):  # whose statistics are taken from all images, at the end of training
            set_population_statistics(model, spec.training_data.open(), seed, generates=spec.objective.generates)
    else:
        model.load_state_dict(load_file(files.checked("weights.safetensors")))
    return model.eval().requires_grad_(False)


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
            f"{files.folder} has no snapshot of step {step} (it has {known}). Train with snapshots=[{step}] "
            f"(--snapshots {step}); a run that is past that step again, with force=True (--force)."
        )
    return snapshot_weights(found[step], digest, seed)
