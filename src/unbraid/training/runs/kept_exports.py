"""The checksums that a run keeps of the files that were exported from it, in exports.json."""

from pathlib import Path
from typing import Any

import torch

from unbraid._internal import files
from unbraid._internal.version import __version__
from unbraid.errors import RunError
from unbraid.integrations.export import ExportedFile
from unbraid.training.runs.kept_scores import unless_read_only


def read_exports(folder: Path) -> dict[str, dict[str, Any]]:
    """Returns the record of the last exported file of each name. Files may have been moved since."""
    path = folder / "exports.json"
    if not path.exists():
        return {}
    try:
        return dict(files.read_sealed(path)["files"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise RunError(f"{path} cannot be read ({error}). Remove it, and export the run again.") from None


def record_exports(folder: Path, written: tuple[ExportedFile, ...]) -> tuple[ExportedFile, ...]:
    """Records these files in the folder of their run, and returns them."""
    new = {
        each.path.name: {
            "sha256": each.sha256,
            "opset": each.opset,
            "largest_difference": each.largest_difference,
            "unbraid": __version__,
            "torch": torch.__version__,
        }
        for each in written
    }
    with (
        unless_read_only("checksums", folder.name),
        files.locked(folder / ".exports.lock", wait=True, purpose=f"keeping checksums of {folder.name}"),
    ):
        files.write_sealed(folder / "exports.json", {"files": {**read_exports(folder), **new}})
    return written
