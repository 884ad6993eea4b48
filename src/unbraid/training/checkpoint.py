"""Checkpoints of one member: the last two, each a safetensors file and a JSON file with the checksum of both.

The tensors are written first and the JSON last. A checkpoint with a missing JSON or a wrong checksum is incomplete or
damaged, and the previous checkpoint is used instead.

The last finite weights of a failed member, snapshots and final states use the same file format.
"""

import contextlib
import logging
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import final

import torch

from unbraid._internal import files
from unbraid._internal.tensor_file import write_tensors
from unbraid._internal.version import __version__
from unbraid.training.runs.history import History
from unbraid.training.runs.run import Run
from unbraid.training.runs.run_folder import STATE
from unbraid.training.runs.trained_model import (
    CHECKPOINT_FORMAT,
    described,
    read_checkpoint,
    tensors_beside,
)
from unbraid.training.state import MemberState, Net, TrainState, from_named, named_leaves

log = logging.getLogger(__name__)

_NUM_KEPT = 2
_LEAST_SECONDS = 60.0
# Ratio of the time between two checkpoints to the time of writing one, so that checkpoints take less than 2 %.
_SECONDS_PER_SECOND = 50.0
# Assumed speed of the disk, until the first checkpoint is timed.
_BYTES_PER_SECOND = 5e8


@final
@dataclass(frozen=True)
class Checkpoint:
    """Complete and undamaged checkpoint of a run.

    `fleet` lists the names of all runs in the fleet, including this run. `history` is the history up to this step.
    """

    path: Path
    step: int
    fleet: tuple[str, ...]
    history: History


def save_checkpoint(run: Run, state: MemberState, fleet: Sequence[str], history: History) -> None:
    """Writes the state and the history so far, then removes all checkpoints except this and the previous one."""
    path = run.folder / "checkpoints" / f"step-{state.step:010d}.json"
    _write(path, run, state, fleet, history)
    # Also removes later checkpoints, written by a process that died before all members were saved. Otherwise the step
    # that all members share could be removed.
    kept = [each for each in run.checkpoints.values() if each.exists() and each <= path][-_NUM_KEPT:]
    for each in run.checkpoints.values():
        if each not in kept:
            _remove(each)


def save_last_good(run: Run, state: MemberState) -> Path:
    """Saves the weights of a member before its failed step. Returns the path of the file."""
    assert state.failed_at is not None
    good = replace(state, step=state.failed_at - 1)
    path = run.folder / "checkpoints" / f"last-good-{good.step:010d}.json"
    if not path.exists():
        _write(path, run, good, ())
    return tensors_beside(path)


def save_snapshot(run: Run, state: MemberState) -> None:
    """Saves the model weights of this step as a snapshot. Snapshots are never removed."""
    weights = TrainState(Net(state.tensors.model.weights, {}), Net({}, {}), {})
    _write(run.folder / "snapshots" / f"step-{state.step:010d}.json", run, replace(state, tensors=weights), ())


def save_state(run: Run, state: MemberState, fleet: Sequence[str], history: History) -> None:
    """Saves the state of the last step, from which `extend` continues."""
    _write(run.folder / STATE, run, state, fleet, history)


def usable_checkpoints(run: Run, layout: TrainState) -> dict[int, Checkpoint]:
    """Returns the usable checkpoints by step. Damaged checkpoints are skipped with a warning."""
    found: dict[int, Checkpoint] = {}
    for path in run.checkpoints.values():
        try:
            record, tensors = read_checkpoint(path, run.spec.digest, run.seed)
            from_named(tensors, layout)
            history = History.from_csv(record["history"])  # not from history.csv, which may be damaged
            found[record["step"]] = Checkpoint(path, record["step"], tuple(record["fleet"]), history)
        except ValueError as error:
            log.warning(
                "%s: checkpoint %s cannot be used (%s). Training resumes from an earlier checkpoint, or from step 0.",
                run.name,
                path.stem,
                error,
            )
    return found


def load_checkpoint(run: Run, checkpoint: Checkpoint, layout: TrainState) -> MemberState:
    """Loads the state in a usable checkpoint."""
    record, tensors = read_checkpoint(checkpoint.path, run.spec.digest, run.seed)
    return MemberState(record["step"], from_named(tensors, layout), record["failed_at"], record["reason"])


def remove_later(run: Run, step: int) -> None:
    """Removes the checkpoints after `step`, from which all members of the fleet resume."""
    for later, path in run.checkpoints.items():
        if later > step:
            _remove(path)


def remove_checkpoints(run: Run) -> None:
    """Removes all checkpoints of a run, except the last finite weights of a failed run."""
    for path in run.checkpoints.values():
        _remove(path)
    with contextlib.suppress(OSError):  # the folder does not exist, or contains other files
        (run.folder / "checkpoints").rmdir()


def _write(path: Path, run: Run, state: MemberState, fleet: Sequence[str], history: History | None = None) -> None:
    tensors = named_leaves(state.tensors)
    record = {
        "format": CHECKPOINT_FORMAT,
        "unbraid": __version__,
        "torch": torch.__version__,
        "digest": run.spec.digest,
        "seed": run.seed,
        "step": state.step,
        "failed_at": state.failed_at,
        "reason": state.reason,
        "fleet": list(fleet),
        "tensors": {name: described(tensor) for name, tensor in tensors.items()},
    }
    if history is not None:
        record["history"] = history.to_csv()
    checksum = write_tensors(tensors_beside(path), tensors, {"unbraid": __version__, "format": str(CHECKPOINT_FORMAT)})
    files.write_json(path, record | {"sha256": files.seal(record, checksum)})


def _remove(path: Path) -> None:
    if files.remove(path):  # otherwise it is in use, and is removed later
        files.remove(tensors_beside(path))


@final
class CheckpointTimes:
    """Schedule of checkpoints: every `every` steps or, if None, by the time since the last checkpoint.

    This time is fifty times the duration of the last checkpoint, and at least one minute. The duration of the first
    checkpoint is estimated from its size `num_bytes`. The clock must be monotonic.
    """

    def __init__(self, every: int | None, num_bytes: int = 0, clock: Callable[[], float] = time.monotonic) -> None:
        self._every, self._clock, self._last = every, clock, clock()
        self._pause = _pause_after(num_bytes / _BYTES_PER_SECOND)

    def is_due(self, step: int, *, is_last: bool = False) -> bool:
        """Returns whether a checkpoint is due at this step. With `every`, a checkpoint is also due at the last step."""
        if self._every is not None:
            return step % self._every == 0 or is_last
        return self._clock() - self._last >= self._pause

    @contextlib.contextmanager
    def saving(self) -> Iterator[None]:
        """Measures the duration of the block, in which a checkpoint is saved."""
        began = self._clock()
        yield
        self._last = self._clock()
        self._pause = _pause_after(self._last - began)


def _pause_after(cost: float) -> float:
    return max(_LEAST_SECONDS, _SECONDS_PER_SECOND * cost)
