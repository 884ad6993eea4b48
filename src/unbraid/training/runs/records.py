"""The JSON records in the folder of a run, read with an error that names the file."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, final

from unbraid._internal import files
from unbraid.errors import RunError, shortened

FORMAT = 1
_MAX_SHOWN = 60  # characters of what a file holds, in a message


@final
@dataclass(frozen=True)
class Failure:
    """Holds at which step, counted from 1, a run failed, why, and the safetensors file with its last good weights."""

    step: int
    reason: str
    last_good: Path | None

    def __str__(self) -> str:
        return f"{self.reason} at step {self.step}"


def read_record(path: Path) -> dict[str, Any]:
    """Returns the content of a JSON file of a run."""
    try:
        content = files.read_json(path)
    except (OSError, ValueError) as error:
        raise RunError(f"{path} cannot be read ({error}). Restore it, or train this run again with --force.") from None
    if not isinstance(content, dict):
        raise RunError(
            f"{path} holds a {type(content).__name__}; expected an object. Restore it, or train this run again with "
            "--force."
        )
    return content


def read_spec(path: Path) -> dict[str, Any]:
    """Returns the content of spec.json as it was written."""
    content = read_record(path)
    if content.get("format") != FORMAT:
        raise RunError(
            f"{path} has format {content.get('format')!r}, written by unbraid {content.get('unbraid')!r}; this "
            f"version reads {FORMAT}. Restore it, read it with that version, or train this run again with --force."
        )
    if content.get("sha256") != files.seal(content):
        raise RunError(
            f"{path} was changed since it was written (its SHA-256 does not match). Restore it, or train this run "
            "again with --force."
        )
    return content


def failure_in(record: dict[str, Any], path: Path) -> Failure:
    """Returns the failure that a record at this path describes."""
    step, reason, last_good = record.get("step"), record.get("reason"), record.get("last_good")
    if (
        type(step) is not int
        or step.bit_length() > 63
        or not isinstance(reason, str)
        or not isinstance(last_good, str | None)
    ):
        raise _senseless(path, {"step": step, "reason": reason, "last_good": last_good})
    return Failure(step, shortened(reason), None if last_good is None else path.parent / last_good)


def fleet_in(record: dict[str, Any], path: Path) -> list[str]:
    """Returns the names of the fleet in a record at this path that may be concluded."""
    fleet = record.get("fleet")
    if not isinstance(fleet, list) or not all(isinstance(name, str) for name in fleet):
        raise _senseless(path, {"fleet": fleet})
    if "reason" in record:
        failure_in(record, path)
    return fleet


def _senseless(path: Path, found: dict[str, Any]) -> RunError:
    return RunError(
        f"{path} makes no sense ({str(found)[:_MAX_SHOWN]}). Restore it, or train this run again with --force."
    )
