"""The weights that a run had before its end: those of a snapshot, or of its newest checkpoint."""

from torch import Tensor

from unbraid.errors import RunError
from unbraid.recipes.annotations import check_value
from unbraid.runs.checkpoint_file import newest_weights, snapshot_weights
from unbraid.runs.run_files import RunFiles
from unbraid.runs.spec import RunSpec


def weights_in_between(files: RunFiles, spec: RunSpec, digest: str, seed: int, step: int | None) -> dict[str, Tensor]:
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
