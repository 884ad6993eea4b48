"""The checksums that a run keeps of the files that were exported from it."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, final

import torch

from unbraid._internal import files
from unbraid._internal.version import __version__
from unbraid.errors import RunError
from unbraid.integrations.export.onnx_files import ExportedFile
from unbraid.training.runs.kept_scores import unless_read_only


@final
@dataclass(frozen=True)
class KeptExports:
    """Reads and writes exports.json of a run: what was last written under each name. Where that lies is not kept: a
    file may be moved, and is known by its checksum.
    """

    folder: Path

    def read(self) -> dict[str, dict[str, Any]]:
        """Returns the record of each exported file by its name."""
        path = self.folder / "exports.json"
        if not path.exists():
            return {}
        try:
            return dict(files.read_sealed(path)["files"])
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise RunError(f"{path} cannot be read ({error}). Remove it, and export the run again.") from None

    def add(self, written: tuple[ExportedFile, ...]) -> tuple[ExportedFile, ...]:
        """Records these files, and returns them."""
        made_by = {"unbraid": __version__, "torch": torch.__version__}
        new = {
            each.path.name: {
                "sha256": each.sha256,
                "opset": each.opset,
                "largest_difference": each.largest_difference,
                **made_by,
            }
            for each in written
        }
        purpose = f"keeping checksums of {self.folder.name}"
        with (
            unless_read_only("checksums", self.folder.name),
            files.locked(self.folder / ".exports.lock", wait=True, purpose=purpose),
        ):
            files.write_sealed(self.folder / "exports.json", {"files": {**self.read(), **new}})
        return written
