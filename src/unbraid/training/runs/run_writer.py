"""Writing of the folder of a run during training."""

import contextlib
import datetime
import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, final

import torch

from unbraid._internal import files
from unbraid._internal.tensor_file import write_tensors
from unbraid._internal.version import __version__
from unbraid.codes import Codes
from unbraid.codes.codes_file import write_safetensors
from unbraid.config.digest import user_source
from unbraid.errors import RunError
from unbraid.models.autoencoder import AutoencoderModule
from unbraid.training.options import TrainingOptions
from unbraid.training.runs.history import History
from unbraid.training.runs.pictures import PICTURES, ModelPictures
from unbraid.training.runs.run import Run
from unbraid.training.runs.run_folder import ENVIRONMENT, FORMAT, failure_in, read_record, read_spec
from unbraid.training.runs.run_source import changes_text, write_source


@final
@dataclass(frozen=True)
class RunWriter:
    """Writer of the files of a run, for use only by the process that has locked the run."""

    run: Run

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Locks the run inside the block. Removes a folder with only the lock file afterwards."""
        lock = self.run.folder / ".lock"
        with files.locked(lock, wait=False, purpose=f"training {self.run.name}"):
            try:
                yield
            finally:
                if self.run.status == "new":
                    # It was moved, or holds files that are not ours; or Windows keeps the lock, which is open.
                    with contextlib.suppress(OSError):
                        lock.unlink()
                        self.run.folder.rmdir()

    def check_unlocked(self) -> None:
        """Raises an error if another process trains the run."""
        if (self.run.folder / ".lock").exists():
            with self.locked():
                pass

    def archive(self) -> None:
        """Moves the folder of the run to an unused name in the sibling folder `.archived`. Nothing is deleted."""
        if self.run.status != "new":
            with contextlib.suppress(PermissionError), self.locked():
                self.run.folder.rename(_unused_archive(self.run.folder))
                return
            archive_folder(self.run.folder)  # Windows moves no folder with an open lock, of any process

    def check_spec(self) -> None:
        """Raises an error if the folder contains the spec of another run, or if user classes have changed."""
        path = self.run.folder / "spec.json"
        content = read_spec(path)
        if (content.get("seed"), content.get("digest")) != (self.run.seed, self.run.spec.digest):
            made_by = content.get("unbraid")
            if changes := self.run.source_changes:
                raise RunError(
                    f"{self.run.folder} was started with another version of {changes_text(changes)}, so it cannot be "
                    f"resumed. Restore that version (from {self.run.folder / 'source'}), or create the spec again to "
                    "train a new run."
                )
            raise RunError(
                f"{path} is not the spec of {self.run.name}"
                + (f" (written by unbraid {made_by}; this is {__version__})" if made_by != __version__ else "")
                + ". Restore the file, or train this run again with --force."
            )

    def begin(self, options: TrainingOptions | None = None) -> None:
        """Creates the folder, and writes the spec and the recorded options if these files do not exist.

        Removes partially written files, and the final record of a run that was not marked as finished or failed.
        """
        (options or TrainingOptions()).record(self.run.folder)
        if self.run.status == "new":
            spec = self.run.spec
            content = {"format": FORMAT, "unbraid": __version__, "torch": torch.__version__, "digest": spec.digest}
            if source := user_source(spec):
                write_source(self.run.folder / "source", source)
                content["source"] = source.identity
            files.write_sealed(self.run.folder / "spec.json", content | {"seed": self.run.seed, "spec": spec.to_json()})
        for path in self.run.folder.rglob(".*.part"):
            path.unlink()
        self._kept.unlink(missing_ok=True)

    def log(self, message: str) -> None:
        """Appends a line to log.txt."""
        now = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
        files.append_line(self.run.folder / "log.txt", f"{now} {message}")

    def record_environment(self, step: int, now: dict[str, Any]) -> str:
        """Records the environment `now` of training from this step on. Returns the changes as text."""
        before = self.run.environments if step else []
        last = {name: value for name, value in before[-1].items() if name != "from_step"} if before else {}
        if last != now:
            files.write_sealed(self.run.folder / ENVIRONMENT, {"stretches": [*before, {"from_step": step, **now}]})
        changed = [name for name in now if last and last.get(name) != now[name]]
        return ", ".join(f"{name}: {last.get(name)} before, {now[name]} now" for name in changed)

    def write_history(self, history: History) -> None:
        """Writes the history so far to history.csv."""
        files.write_text(self.run.folder / "history.csv", history.to_csv())

    def keep(self, model: AutoencoderModule, codes: Codes, seconds: float, fleet: Sequence[str] = ()) -> None:
        """Writes the trained model, its codes and the final record, which `conclude` renames.

        The record lists the names of all runs of the fleet, which end together.
        """
        folder, spec = self.run.folder, self.run.spec
        weights = write_tensors(folder / "weights.safetensors", model.state_dict(), {"unbraid": __version__})
        written = write_safetensors(folder / "codes.safetensors", codes)
        sums = {"weights.safetensors": weights.hexdigest(), "codes.safetensors": written.hexdigest()}
        sums |= self._sums_of_records()
        if user_source((spec.model, spec.dataset)):  # a reader of the run may not have these classes
            pictures = ModelPictures(model, codes, spec.training_data.open())
            sums[PICTURES] = write_tensors(folder / PICTURES, pictures.to_tensors(), {}).hexdigest()
        facts = {"seconds": round(seconds, 3), "fleet": list(fleet), "image_shape": list(model.image_shape)}
        files.write_json(self._kept, {"sha256": sums, **facts})

    def keep_failure(self, step: int, reason: str, last_good: Path | None = None, fleet: Sequence[str] = ()) -> None:
        """Writes the final record of a failed run: step, reason, file of the last finite weights, and fleet."""
        kept = None if last_good is None else last_good.relative_to(self.run.folder).as_posix()
        record = {"step": step, "reason": reason, "last_good": kept, "fleet": list(fleet)}
        files.write_json(self._kept, record | {"sha256": self._sums_of_records()})

    def conclude(self) -> None:
        """Marks a run with complete files as finished or failed."""
        has_failed = "reason" in read_record(self._kept)
        files.put_in_place(self._kept, self.run.folder / ("failed.json" if has_failed else "finished.json"))

    @property
    def can_conclude(self) -> bool:
        """Whether all runs of the fleet are completely written, but this run is not marked as finished or failed.

        This happens if the process dies between the two steps. False for a damaged kept.json.
        """
        if self.run.status != "unfinished" or not self._kept.exists():
            return False
        ends = ("finished.json", "failed.json", self._kept.name)
        try:
            record = read_record(self._kept)
            if "reason" in record:
                failure_in(record, self._kept)
            folders = [self.run.folder.parent / name for name in record["fleet"]]
        except (RunError, KeyError, TypeError):
            return False
        return all(any((folder / end).exists() for end in ends) for folder in folders)

    def remove_arrays(self) -> None:
        """Removes weights and codes of a finished run, after recording the removal. The checksums remain."""
        arrays = ["weights.safetensors", "codes.safetensors"]
        with self.locked():
            path = self.run.folder / "finished.json"
            arrays += [PICTURES] if (self.run.folder / PICTURES).exists() else []
            files.write_json(path, {**read_record(path), "removed_files": arrays})
            kept = [name for name in arrays if not files.remove(self.run.folder / name)]
            self.log("weights and codes were removed" + (f", except {', '.join(kept)}, in use" if kept else ""))

    @property
    def _kept(self) -> Path:
        return self.run.folder / "kept.json"

    def _sums_of_records(self) -> dict[str, str]:
        """Returns the SHA-256 of the history and of the spec for the final record."""
        paths = (self.run.folder / "history.csv", self.run.folder / "spec.json")
        return {path.name: files.sha256(path) for path in paths if path.is_file()}


def archive_folder(folder: Path) -> Path:
    """Moves the folder of a run to an unused name in the sibling folder `.archived`. Returns the new path."""
    target = _unused_archive(folder)
    try:
        files.move_folder(folder, target)
    except PermissionError as error:
        raise RunError(
            f"{folder} cannot be moved to {target} ({error.strerror}). Close programs that use its files (on Windows, "
            "also delete codes and weights that this process has read), and repeat the command."
        ) from None
    return target


def _unused_archive(folder: Path) -> Path:
    archive = folder.parent / ".archived"
    archive.mkdir(exist_ok=True)
    names = (archive / f"{folder.name}-{number}" for number in itertools.count(1))
    return next(path for path in names if not path.exists())
