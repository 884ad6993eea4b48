"""RunWriter: what a training writes into the folder of a run."""

import contextlib
import datetime
import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import final

import torch

from unbraid._internal import files
from unbraid._internal.tensor_file import write_tensors
from unbraid._internal.version import __version__
from unbraid.codes import Codes
from unbraid.codes.codes_file import write_safetensors
from unbraid.config.own_configs import own_source
from unbraid.errors import RunError
from unbraid.models.autoencoder import AutoencoderModule
from unbraid.training.runs.history import History
from unbraid.training.runs.pictures import PICTURES, ModelPictures
from unbraid.training.runs.records import FORMAT, NOTHING_ELSE, Extras, fleet_in, read_record, read_spec
from unbraid.training.runs.run import Run
from unbraid.training.runs.run_source import in_words, write_source


@final
@dataclass(frozen=True)
class RunWriter:
    """Writes a run from its spec to its end. Only the process that holds the lock of the run may use it."""

    run: Run

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Holds the lock of the run within the block. A folder in which nothing else was made is removed with it."""
        lock = self.run.folder / ".lock"
        with files.locked(lock, wait=False, purpose=f"training {self.run.name}"):
            try:
                yield
            finally:
                if self.run.status == "new":
                    with contextlib.suppress(OSError):  # it was moved, or holds what is not ours
                        lock.unlink()
                        self.run.folder.rmdir()

    def check_unlocked(self) -> None:
        """Raises if another process trains the run."""
        if (self.run.folder / ".lock").exists():
            with self.locked():
                pass

    def archive(self) -> Path | None:
        """Moves the folder of the run to `.archived/` beside it, under a name that is free. Nothing is ever deleted."""
        if self.run.status == "new":
            return None
        with self.locked():
            return archive_folder(self.run.folder)

    def check_spec(self) -> None:
        """Raises if the folder holds the spec of another run, or one that has meant another since it was written."""
        path = self.run.folder / "spec.json"
        content = read_spec(path)
        if (content.get("seed"), content.get("digest")) != (self.run.seed, self.run.spec.digest):
            made_by = content.get("unbraid")
            if changes := self.run.source_changes:
                raise RunError(
                    f"{self.run.folder} was begun with another state of {in_words(changes)} than there is now, so it "
                    "cannot be gone on with as it is. Restore that state, of which it keeps the text in "
                    f"{self.run.folder / 'source'}, or give its spec anew: what is there now is another run."
                )
            raise RunError(
                f"{path} is the spec of another run than {self.run.name}"
                + (f", as unbraid {made_by} wrote it; this is {__version__}" if made_by != __version__ else "")
                + ". Restore it, or train this run again with --force."
            )

    def begin(self, extras: Extras = NOTHING_ELSE) -> None:
        """Makes the folder and writes what else is to be kept and the spec, unless they are there. Removes half-written
        files, and what was kept of an end that did not come.
        """
        extras.with_those_of(self.run.folder).write(self.run.folder)
        if self.run.status == "new":
            spec = self.run.spec
            content = {"format": FORMAT, "unbraid": __version__, "torch": torch.__version__, "digest": spec.digest}
            if source := own_source(spec):
                write_source(self.run.folder / "source", source)
                content["source"] = source.identity
            files.write_sealed(self.run.folder / "spec.json", content | {"seed": self.run.seed, "spec": spec.to_json()})
        for path in self.run.folder.rglob(".*.part"):
            path.unlink()
        self._kept.unlink(missing_ok=True)

    def log(self, message: str) -> None:
        """Adds a line to log.txt."""
        now = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
        files.append_line(self.run.folder / "log.txt", f"{now} {message}")

    def write_history(self, history: History) -> None:
        """Writes the loss and its parts so far."""
        history.write(self.run.folder / "history.csv")

    def keep(self, model: AutoencoderModule, codes: Codes, seconds: float, fleet: Sequence[str] = ()) -> None:
        """Keeps the trained model and its codes, and all that `conclude` tells once the whole `fleet`, the names of its
        runs, is kept.
        """
        weights, written = self.run.folder / "weights.safetensors", self.run.folder / "codes.safetensors"
        of_weights = write_tensors(weights, model.state_dict(), {"unbraid": __version__})
        of_codes = write_safetensors(written, codes)
        sums = {weights.name: of_weights.hexdigest(), written.name: of_codes.hexdigest(), **self._sums_of_records()}
        spec = self.run.spec
        if own_source((spec.model, spec.dataset)):  # which a reader of the run may not have
            pictures = ModelPictures(model, codes, spec.training_data.open())
            sums[PICTURES] = write_tensors(self.run.folder / PICTURES, pictures.to_tensors(), {}).hexdigest()
        facts = {"seconds": round(seconds, 3), "fleet": list(fleet), "image_shape": list(model.image_shape)}
        files.write_json(self._kept, {"sha256": sums, **facts})

    def keep_failure(self, step: int, reason: str, last_good: Path | None = None, fleet: Sequence[str] = ()) -> None:
        """Keeps why the run came to an end at this step, which file of the folder holds its last good weights, and the
        names of its fleet.
        """
        kept = None if last_good is None else last_good.relative_to(self.run.folder).as_posix()
        told = {"step": step, "reason": reason, "last_good": kept, "fleet": list(fleet)}
        files.write_json(self._kept, told | {"sha256": self._sums_of_records()})

    def conclude(self) -> None:
        """Says that the run, of which all is kept, is finished, or that it failed."""
        has_failed = "reason" in read_record(self._kept)
        files.put_in_place(self._kept, self.run.folder / ("failed.json" if has_failed else "finished.json"))

    def remove_arrays(self) -> None:
        """Removes weights and codes of a finished run; its record lists them first, and keeps their checksums."""
        arrays = ["weights.safetensors", "codes.safetensors"]
        with self.locked():
            path = self.run.folder / "finished.json"
            arrays += [PICTURES] if (self.run.folder / PICTURES).exists() else []
            files.write_json(path, {**read_record(path), "removed_files": arrays})
            for name in arrays:
                (self.run.folder / name).unlink(missing_ok=True)
            self.log("weights and codes were removed")

    @property
    def can_conclude(self) -> bool:
        """Returns whether all is kept, of this run and of every other of its fleet: the process died before it could
        conclude them. A damaged kept.json keeps nothing.
        """
        if self.run.status != "unfinished" or not self._kept.exists():
            return False
        try:
            fleet = fleet_in(read_record(self._kept), self._kept)
        except RunError:
            return False
        ends = ("finished.json", "failed.json", self._kept.name)
        return all(any((self.run.folder.parent / name / end).exists() for end in ends) for name in fleet)

    @property
    def _kept(self) -> Path:
        return self.run.folder / "kept.json"

    def _sums_of_records(self) -> dict[str, str]:
        """Returns the checksums of what was written before the end, so that it is known as this run's."""
        paths = (self.run.folder / "history.csv", self.run.folder / "spec.json")
        return {path.name: files.sha256(path) for path in paths if path.is_file()}


def archive_folder(folder: Path) -> Path:
    """Moves the folder of a run to `.archived/` beside it, under a name that is free, and returns that."""
    aside = folder.parent / ".archived"
    aside.mkdir(exist_ok=True)
    names = (aside / f"{folder.name}-{number}" for number in itertools.count(1))
    return folder.rename(next(path for path in names if not path.exists()))
