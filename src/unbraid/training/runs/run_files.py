"""The folder of a run: its status, and which of its files are unchanged.

==================== ===============================================================================================
spec.json            the spec, its digest, the seed, the versions that made it, and what own classes are made of
source/              the text of the modules of classes that are not of unbraid
history.csv          the loss and its parts over training
checkpoints/         the last two states of an unfinished run
weights.safetensors  the trained weights, with those of a learned prior or likelihood and BatchNorm's statistics
codes.safetensors    q(z | x) of every image, and its factors
pictures.safetensors traversals, samples and reconstructions, where nets or data are not of unbraid
kept.json            the checksums of weights and codes, how long it took, and the names of the runs of its fleet
finished.json        the same file, renamed once all of the fleet have it: the run is finished
failed.json          instead of finished.json: at which step it failed, why, and where its last good weights are
environment.json     where it was trained, from which step on: device, versions, settings of the compiler
scores.json          the scores so far, with the tables behind them
snapshots/           the weights after the steps that training was asked to keep them of
state.json           with state.safetensors: the state of the last step, where it was to be kept
extras.json          which of these two were asked for
exports.json         the checksums of the ONNX and torch.export files that were written from it
log.txt              what happened, line by line
==================== ===============================================================================================
"""

import contextlib
import re
from dataclasses import dataclass
from os.path import lexists
from pathlib import Path
from typing import Any, Literal, final

from unbraid._internal import files
from unbraid.errors import RunError
from unbraid.training.runs.history import History
from unbraid.training.runs.records import Failure, failure_in, read_record

_CHECKPOINT = re.compile(r"step-[0-9]{10,18}\.(json|safetensors)")

Status = Literal["new", "unfinished", "finished", "failed"]


@final
@dataclass(frozen=True)
class RunFiles:
    """Finds the files of one run. Nothing is remembered: each question is answered from the disk."""

    folder: Path

    @property
    def status(self) -> Status:
        if (self.folder / "finished.json").exists():
            return "finished"
        if (self.folder / "failed.json").exists():
            return "failed"
        return "unfinished" if lexists(self.folder / "spec.json") else "new"

    @property
    def failure(self) -> Failure | None:
        """Returns why the run failed; None if it did not."""
        if self.status != "failed":
            return None
        return failure_in(read_record(self.folder / "failed.json"), self.folder / "failed.json")

    @property
    def checkpoints(self) -> dict[int, Path]:
        """Returns by its step where the JSON of each checkpoint is or should be, the oldest first. Files with other
        names are not ours.
        """
        return self._by_step("checkpoints")

    @property
    def snapshots(self) -> dict[int, Path]:
        """Returns by its step where the JSON of each snapshot is that was written to its end, the oldest first."""
        return {step: path for step, path in self._by_step("snapshots").items() if path.exists()}

    def _by_step(self, kind: str) -> dict[int, Path]:
        found = {
            path.with_suffix(".json") for path in self.folder.glob(f"{kind}/step-*") if _CHECKPOINT.fullmatch(path.name)
        }
        return {int(path.stem.removeprefix("step-")): path for path in sorted(found)}

    @property
    def history(self) -> History:
        """Returns the loss and its parts over training, as they were written: `finished.json`, `failed.json` or, of an
        unfinished run, its newest checkpoint vouches for them.
        """
        path = self.folder / "history.csv"
        if path.name in self.checksums:
            self.check(path)
        if self.status == "unfinished" and not _content(path).startswith(self._rows_at_the_last_checkpoint()):
            raise RunError(
                f"{path} is missing or was changed since the last checkpoint. `unbraid train --resume --out "
                f"{self.folder.parent}` restores it."
            )
        return History.read(path)

    def checked(self, name: str) -> Path:
        """Returns the path of a file, if it is what finished.json says it is."""
        self.check_finished(name)
        self.check(self.folder / name)
        return self.folder / name

    def check_finished(self, name: str) -> None:
        """Refuses a run that has no file of this name because it is not finished."""
        if failure := self.failure:
            raise RunError(
                f"{self.folder} failed at step {failure.step}, so it has no {name}. Train with a smaller "
                "learning_rate, or with max_gradient_norm."
            )
        if self.status != "finished":
            raise RunError(
                f"{self.folder} is {self.status}, so it has no {name}. Finish it with `unbraid train --resume --out "
                f"{self.folder.parent}`."
            )

    def check(self, path: Path) -> None:
        """Refuses a file that is not what finished.json or failed.json says it is."""
        expected = self.checksums.get(path.name)
        if path.name in self.removed_files:
            raise RunError(
                f"{path} was removed by a study that keeps only scores, or was not pushed with the run; the scores are "
                "kept. To have it again, train this run again with --force."
            )
        if not path.is_file() or files.sha256(path) != expected:
            raise RunError(
                f"{path} is missing, of another run, or was changed since training (its SHA-256 is not {expected}, as "
                f"{self.status}.json has it). Restore it, or train this run again with --force."
            )

    @property
    def removed_files(self) -> tuple[str, ...]:
        """Returns the files of a finished run that a study removed, because it keeps scores alone."""
        if self.status != "finished":
            return ()
        names = read_record(self.folder / "finished.json").get("removed_files", [])
        return tuple(names) if isinstance(names, list) else ()

    @property
    def checksums(self) -> dict[str, Any]:
        """Returns the checksums by file that were taken at the end of the run; none before it."""
        if self.status not in ("finished", "failed"):
            return {}
        sums = read_record(self.folder / f"{self.status}.json").get("sha256")
        return sums if isinstance(sums, dict) else {}

    @property
    def image_shape(self) -> tuple[int, int, int] | None:
        """Returns the shape of the images that a finished run was trained on; None before it is finished."""
        if self.status != "finished":
            return None
        shape = read_record(self.folder / "finished.json").get("image_shape")
        if shape is None:
            return None
        if not isinstance(shape, list) or len(shape) != 3 or not all(type(size) is int and size > 0 for size in shape):
            raise RunError(
                f"{self.folder / 'finished.json'}: image_shape is {str(shape)[:60]}; expected three sizes. Restore it, "
                "or train this run again with --force."
            )
        return shape[0], shape[1], shape[2]

    def _rows_at_the_last_checkpoint(self) -> bytes:
        """Returns the text of the history as the newest checkpoint that can be read holds it."""
        for path in reversed(self.checkpoints.values()):
            with contextlib.suppress(RunError):
                if isinstance(rows := read_record(path).get("history"), str):
                    return rows.encode()
        return b""


def _content(path: Path) -> bytes:
    """Returns the bytes of a file; none where there is no file."""
    return files.read_bytes(path) if path.is_file() else b""
