"""Checkpoints of one member: the last two, each a safetensors file and a JSON file with the checksum of both.

The tensors are written first and the JSON last. A checkpoint with a missing JSON or a wrong checksum is incomplete or
damaged; the previous checkpoint is used instead.

The last good weights of a failed member, snapshots and final states use the same file format.
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
from unbraid.training.state import Carried, MemberState, Net, from_named, named_leaves

log = logging.getLogger(__name__)

_NUM_KEPT = 2
_LEAST_SECONDS = 60.0
# The time between two checkpoints over the time that one takes: less than 2 % of a long training goes into them.
_SECONDS_PER_SECOND = 50.0
# The assumed speed of the disk for the first checkpoint, before one has been timed.
_BYTES_PER_SECOND = 5e8


@final
@dataclass(frozen=True)
class Checkpoint:
    """A usable checkpoint.

    `fleet` lists the names of all runs in the fleet, including its own. `history` is the history up to this step.
    """

    path: Path
    step: int
    fleet: tuple[str, ...]
    history: History


def save_checkpoint(run: Run, state: MemberState, fleet: Sequence[str], history: History) -> None:
    """Writes the state and the history so far, then removes all but this checkpoint and the previous one."""
    path = run.folder / "checkpoints" / f"step-{state.step:010d}.json"
    _write(path, run, state, fleet, history)
    # Later ones too: the process died while it saved the checkpoints of a fleet, and they would displace the step that
    # all members have.
    kept = [each for each in run.checkpoints.values() if each.exists() and each <= path][-_NUM_KEPT:]
    for each in run.checkpoints.values():
        if each not in kept:
            _remove(each)


def save_last_good(run: Run, state: MemberState) -> Path:
    """Saves the weights of a member before its failed step, and returns the path of their file."""
    assert state.failed_at is not None
    good = replace(state, step=state.failed_at - 1)
    path = run.folder / "checkpoints" / f"last-good-{good.step:010d}.json"
    if not path.exists():
        _write(path, run, good, ())
    return tensors_beside(path)


def save_snapshot(run: Run, state: MemberState) -> None:
    """Saves the weights of the model after this step. Snapshots are never removed."""
    weights = Carried(Net(state.carried.model.weights, {}), Net({}, {}), {})
    _write(run.folder / "snapshots" / f"step-{state.step:010d}.json", run, replace(state, carried=weights), ())


def save_state(run: Run, state: MemberState, fleet: Sequence[str], history: History) -> None:
    """Saves the state of the last step, so that a longer run can continue from it."""
    _write(run.folder / STATE, run, state, fleet, history)


def usable_checkpoints(run: Run, layout: Carried) -> dict[int, Checkpoint]:
    """Returns the usable checkpoints by step. Damaged checkpoints are skipped with a warning."""
    found: dict[int, Checkpoint] = {}
    for path in run.checkpoints.values():
        try:
            record, tensors = read_checkpoint(path, run.spec.digest, run.seed)
            from_named(tensors, layout)
            history = History.from_csv(record["history"])  # history.csv may have been damaged since
            found[record["step"]] = Checkpoint(path, record["step"], tuple(record["fleet"]), history)
        except ValueError as error:
            log.warning(
                "%s: checkpoint %s cannot be used (%s); an earlier one is taken, or training starts afresh.",
                run.name,
                path.stem,
                error,
            )
    return found


def load_checkpoint(run: Run, checkpoint: Checkpoint, layout: Carried) -> MemberState:
    """Returns the state stored in a usable checkpoint."""
    record, tensors = read_checkpoint(checkpoint.path, run.spec.digest, run.seed)
    return MemberState(record["step"], from_named(tensors, layout), record["failed_at"], record["reason"])


def remove_later(run: Run, step: int) -> None:
    """Removes the checkpoints after `step`, the step from which the run resumes.

    Not all members of the fleet have these checkpoints. If kept, they would displace the step that all members share.
    """
    for later, path in run.checkpoints.items():
        if later > step:
            _remove(path)


def remove_checkpoints(run: Run) -> None:
    """Removes all checkpoints but the last good weights of a run that failed."""
    for path in run.checkpoints.values():
        _remove(path)
    with contextlib.suppress(OSError):  # it does not exist, or holds other files
        (run.folder / "checkpoints").rmdir()


def _write(path: Path, run: Run, state: MemberState, fleet: Sequence[str], history: History | None = None) -> None:
    tensors = named_leaves(state.carried)
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
    """Decides when a checkpoint is due: every `every` steps or, if None, by the clock.

    By the clock, the pause is fifty times the duration of the last checkpoint, and at least one minute. The duration
    of the first checkpoint is estimated from its size, `num_bytes`. The clock must be monotonic.
    """

    def __init__(self, every: int | None, num_bytes: int = 0, clock: Callable[[], float] = time.monotonic) -> None:
        self._every, self._clock, self._last = every, clock, clock()
        self._pause = _pause_after(num_bytes / _BYTES_PER_SECOND)

    def is_due(self, step: int, *, is_last: bool = False) -> bool:
        """Returns whether a checkpoint is due at this step.

        Without `every`, the last step is no exception: an error while finishing a run costs no more than one before.
        """
        if self._every is not None:
            return step % self._every == 0 or is_last
        return self._clock() - self._last >= self._pause

    @contextlib.contextmanager
    def saving(self) -> Iterator[None]:
        """Measures the duration of the block, which saves a checkpoint."""
        began = self._clock()
        yield
        self._last = self._clock()
        self._pause = _pause_after(self._last - began)


def _pause_after(cost: float) -> float:
    return max(_LEAST_SECONDS, _SECONDS_PER_SECOND * cost)
