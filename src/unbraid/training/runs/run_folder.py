"""Folder of a run: status and checks of the files listed in docs/runs.md."""

import contextlib
import re
from dataclasses import dataclass
from os.path import lexists
from pathlib import Path
from typing import Any, Literal, final

from unbraid._internal import files
from unbraid.errors import RunError, shortened
from unbraid.training.runs.history import History

FORMAT = 1
STATE, ENVIRONMENT = "state.json", "environment.json"
_CHECKPOINT = re.compile(r"step-[0-9]{10,18}\.(json|safetensors)")
_MAX_SHOWN = 60  # maximum number of characters of a file's content in a message

Status = Literal["new", "unfinished", "finished", "failed"]


@final
@dataclass(frozen=True)
class Failure:
    """Failure of a run: the step (counted from 1), the reason, and the file with the last finite weights."""

    step: int
    reason: str
    last_good: Path | None

    def __str__(self) -> str:
        return f"{self.reason} at step {self.step}"


@dataclass(frozen=True)
class RunFolder:
    """Folder of a run, without the spec. Every property reads the disk; nothing is cached."""

    folder: Path

    @property
    def name(self) -> str:
        return self.folder.name

    @property
    def status(self) -> Status:
        """Status of the run. Training has ended if the status is "finished" or "failed"."""
        if (self.folder / "finished.json").exists():
            return "finished"
        if (self.folder / "failed.json").exists():
            return "failed"
        return "unfinished" if lexists(self.folder / "spec.json") else "new"

    @property
    def failure(self) -> Failure | None:
        """Failure of the run, or None if the run did not fail."""
        path = self.folder / "failed.json"
        return failure_in(read_record(path), path) if self.status == "failed" else None

    @property
    def checkpoints(self) -> dict[int, Path]:
        """Paths of the JSON files of all checkpoints by step, oldest first. The newest JSON may not exist yet."""
        return self._by_step("checkpoints")

    @property
    def snapshots(self) -> tuple[int, ...]:
        """Steps of the saved snapshots (`TrainingOptions(snapshots=...)`), earliest first."""
        return tuple(step for step, path in self._by_step("snapshots").items() if path.exists())

    @property
    def has_state(self) -> bool:
        """Whether the state of the last step was saved (`TrainingOptions(keep_state=True)`)."""
        return (self.folder / STATE).exists()

    @property
    def history(self) -> History:
        """Loss and its terms over training. Raises an error if history.csv differs from its recorded checksum."""
        path = self.folder / "history.csv"
        if path.name in self.checksums:
            self.check(path)
        if self.status == "unfinished":
            content = files.read_bytes(path) if path.is_file() else b""
            if not content.startswith(self._history_of_the_newest_checkpoint()):
                raise RunError(
                    f"{path} is missing or was changed since the last checkpoint. Restore the file with `unbraid train "
                    f"--resume --out {self.folder.parent}`."
                )
        return History.read(path)

    @property
    def environments(self) -> list[dict[str, Any]]:
        """Environments in which the run was trained, in order. Empty without a readable record."""
        try:
            stretches = files.read_sealed(self.folder / ENVIRONMENT).get("stretches")
        except (OSError, ValueError):
            return []
        return stretches if isinstance(stretches, list) else []

    @property
    def removed_files(self) -> tuple[str, ...]:
        """Names of files of a finished run that were removed from the folder or not pushed to the Hub."""
        if self.status != "finished":
            return ()
        names = read_record(self.folder / "finished.json").get("removed_files", [])
        return tuple(names) if isinstance(names, list) else ()

    @property
    def has_model(self) -> bool:
        """Whether the run is finished and has its weights."""
        return self.status == "finished" and "weights.safetensors" not in self.removed_files

    @property
    def checksums(self) -> dict[str, Any]:
        """Checksums of files at the end of the run, by file name. Empty before the end."""
        if self.status not in ("finished", "failed"):
            return {}
        sums = read_record(self.folder / f"{self.status}.json").get("sha256")
        return sums if isinstance(sums, dict) else {}

    @property
    def image_shape(self) -> tuple[int, int, int] | None:
        """Shape of the training images of a finished run, or None if the run is not finished."""
        shape = read_record(self.folder / "finished.json").get("image_shape") if self.status == "finished" else None
        if shape is None:
            return None
        if not isinstance(shape, list) or len(shape) != 3 or not all(type(size) is int and size > 0 for size in shape):
            raise RunError(
                f"{self.folder / 'finished.json'}: image_shape is {str(shape)[:_MAX_SHOWN]}; expected three sizes. "
                "Restore the file, or train this run again with --force."
            )
        return shape[0], shape[1], shape[2]

    def checked(self, name: str) -> Path:
        """Returns the path of a file of a finished run. Raises an error if the checksum does not match."""
        self.check_finished(name)
        self.check(self.folder / name)
        return self.folder / name

    def check_finished(self, name: str) -> None:
        """Raises an error if the run is not finished and therefore lacks the named file."""
        if failure := self.failure:
            raise RunError(
                f"{self.folder} failed at step {failure.step} ({failure.reason}), so it has no {name}. Find a fix with "
                "`unbraid diagnose`."
            )
        if self.status != "finished":
            raise RunError(
                f"{self.folder} is {self.status}, so it has no {name}. Finish the run with `unbraid train --resume "
                f"--out {self.folder.parent}`."
            )

    def check(self, path: Path) -> None:
        """Raises an error if the checksum of a file differs from the record in finished.json or failed.json."""
        expected = self.checksums.get(path.name)
        if path.name in self.removed_files:
            raise RunError(
                f"{path} does not exist: it was removed by a study that keeps only scores, or was not pushed with the "
                "run. To restore the file, train this run again with --force."
            )
        if expected is None:
            place = f"in {self.status}.json" if self.status in ("finished", "failed") else "before the run ends"
            raise RunError(
                f"{path} has no recorded checksum {place}: {self.folder} is {self.status}. Restore it, or train this "
                "run again with --force."
            )
        if not path.is_file() or files.sha256(path) != expected:
            raise RunError(
                f"{path} is missing or was changed (expected SHA-256 {expected}, recorded in {self.status}.json). "
                "Restore the file, or train this run again with --force."
            )

    def _by_step(self, kind: str) -> dict[int, Path]:
        found = {
            path.with_suffix(".json") for path in self.folder.glob(f"{kind}/step-*") if _CHECKPOINT.fullmatch(path.name)
        }
        return {int(path.stem.removeprefix("step-")): path for path in sorted(found)}

    def _history_of_the_newest_checkpoint(self) -> bytes:
        for path in reversed(self.checkpoints.values()):
            with contextlib.suppress(RunError):
                if isinstance(rows := read_record(path).get("history"), str):
                    return rows.encode()
        return b""


def read_record(path: Path) -> dict[str, Any]:
    """Reads a JSON file of a run."""
    try:
        content = files.read_json(path)
    except (OSError, ValueError) as error:
        raise RunError(f"{path} cannot be read ({error}). Restore it, or train the run again with --force.") from None
    if not isinstance(content, dict):
        raise RunError(
            f"{path} has a {type(content).__name__}; expected an object. Restore the file, or train this run again "
            "with --force."
        )
    return content


def read_spec(path: Path) -> dict[str, Any]:
    """Reads spec.json. Raises an error if the file was changed."""
    content = read_record(path)
    if content.get("format") != FORMAT:
        raise RunError(
            f"{path} has format {content.get('format')!r} of unbraid {content.get('unbraid')!r}; expected {FORMAT}. "
            "Restore the file, install that version, or train this run again with --force."
        )
    if content.get("sha256") != files.seal(content):
        raise RunError(
            f"{path} was changed (its SHA-256 does not match). Restore the file, or train this run again with --force."
        )
    return content


def failure_in(record: dict[str, Any], path: Path) -> Failure:
    """Parses the record of a failure. `path` is the path of the record."""
    step: Any = record.get("step")
    reason, last_good = record.get("reason"), record.get("last_good")
    is_step = type(step) is int and step.bit_length() < 64
    if not is_step or not isinstance(reason, str) or not isinstance(last_good, str | None):
        found = {"step": step, "reason": reason, "last_good": last_good}
        raise RunError(
            f"{path} is not a record of a failure ({str(found)[:_MAX_SHOWN]}). Restore the file, or train this run "
            "again with --force."
        )
    return Failure(step, shortened(reason), None if last_good is None else path.parent / last_good)
