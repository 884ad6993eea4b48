"""Checkpoints of one member: the last two, each a safetensors file and a JSON file with its checksum.

The tensors are written first and the JSON last, with the SHA-256 of both in it. So a checkpoint without its JSON, or
that does not match it, is one that was being written when the process died, or that the disk has damaged; the one
before it is used.

Of a member that has failed there is one more, which is kept: its last good weights.
"""

import contextlib
import logging
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, final

import torch

from unbraid._internal import files
from unbraid._internal.files import seal
from unbraid._internal.tensor_file import write_tensors
from unbraid._internal.version import __version__
from unbraid.training.runs.checkpoint_file import (
    CHECKPOINT_FORMAT,
    UNREADABLE,
    OtherRunError,
    described,
    read_checkpoint,
    tensors_beside,
)
from unbraid.training.runs.history import History
from unbraid.training.runs.run import Run
from unbraid.training.runs.run_folder import STATE
from unbraid.training.state import Carried, MemberState, Net, from_named, named_leaves

log = logging.getLogger(__name__)

_NUM_KEPT = 2


@final
@dataclass(frozen=True)
class Checkpoint:
    """A usable checkpoint.

    `fleet` has the names of the runs that were trained side by side with it, including its own; `history` is what was
    logged until then.
    """

    path: Path
    step: int
    fleet: tuple[str, ...]
    history: History


def save_checkpoint(run: Run, state: MemberState, fleet: Sequence[str], history: History) -> None:
    """Writes the state and the history so far, then removes all but this checkpoint and the one before it."""
    path = _folder(run) / f"step-{state.step:010d}.json"
    _write(path, run, state, fleet, history)
    # Later ones too: they are of a process that died while its fleet was being checkpointed, and would crowd out the
    # step that all members have.
    kept = [each for each in run.checkpoints.values() if each.exists() and each <= path][-_NUM_KEPT:]
    for each in run.checkpoints.values():
        if each not in kept:
            _remove(each)


def save_last_good(run: Run, state: MemberState) -> Path:
    """Keeps the weights that a member had when it failed, under the step that led to them, and returns their file.

    Only `--force` puts them aside.
    """
    assert state.failed_at is not None
    good = replace(state, step=state.failed_at - 1)
    path = _folder(run) / f"last-good-{good.step:010d}.json"
    if not path.exists():
        _write(path, run, good, ())
    return tensors_beside(path)


def save_snapshot(run: Run, state: MemberState) -> None:
    """Keeps the weights of the model after this step, for good."""
    weights = Carried(Net(state.carried.model.weights, {}), Net({}, {}), {})
    _write(run.folder / "snapshots" / f"step-{state.step:010d}.json", run, replace(state, carried=weights), ())


def save_state(run: Run, state: MemberState, fleet: Sequence[str], history: History) -> None:
    """Keeps the state of the last step, so that a longer run can continue from it."""
    _write(run.folder / STATE, run, state, fleet, history)


def usable_checkpoints(run: Run, layout: Carried) -> dict[int, Checkpoint]:
    """Returns every good checkpoint by its step, read and checked.

    Each bad one is passed over with a warning that says what is wrong with it.
    """
    found: dict[int, Checkpoint] = {}
    for path in run.checkpoints.values():
        try:
            record, _ = _read(path, run, layout)
            history = History.from_csv(record["history"])  # history.csv may have been damaged since
            found[record["step"]] = Checkpoint(path, record["step"], tuple(record["fleet"]), history)
        except OtherRunError:
            raise
        except UNREADABLE as error:
            log.warning(
                "%s: checkpoint %s cannot be used (%s); an earlier one is taken, or training starts afresh.",
                run.name,
                path.stem,
                error,
            )
    return found


def load_checkpoint(run: Run, checkpoint: Checkpoint, layout: Carried) -> MemberState:
    """Returns the state that a usable checkpoint holds."""
    record, carried = _read(checkpoint.path, run, layout)
    return MemberState(step=record["step"], failed_at=record["failed_at"], reason=record["reason"], carried=carried)


def remove_later(run: Run, step: int) -> None:
    """Removes checkpoints of later steps than this, from which the run resumes.

    Only some of its fleet have them. They would crowd out, at the next checkpoint, the step that all members have.
    """
    for later, path in run.checkpoints.items():
        if later > step:
            _remove(path)


def remove_checkpoints(run: Run) -> None:
    """Removes all checkpoints but the last good weights of a run that failed."""
    for path in run.checkpoints.values():
        _remove(path)
    with contextlib.suppress(OSError):  # it may not be there, or hold what is to stay
        _folder(run).rmdir()


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
    files.write_json(path, record | {"sha256": seal(record, checksum)})


def _read(path: Path, run: Run, layout: Carried) -> tuple[dict[str, Any], Carried]:
    record, tensors = read_checkpoint(path, run.spec.digest, run.seed)
    return record, from_named(tensors, layout)


def _remove(path: Path) -> None:
    path.unlink(missing_ok=True)
    tensors_beside(path).unlink(missing_ok=True)


def _folder(run: Run) -> Path:
    return run.folder / "checkpoints"


_LEAST_SECONDS = 60.0
# The time between two checkpoints over the time that one takes: less than 2 % of a long training goes into them.
_SECONDS_PER_SECOND = 50.0
# What the first checkpoint is taken to cost, until it has been timed: a disk of middling speed.
_BYTES_PER_SECOND = 5e8


@final
class CheckpointTimes:
    """Decides when a checkpoint is due: after every so many steps, or by the clock.

    By the clock it is due after a minute, or whenever fifty times as long has passed as the last checkpoint took.

    `num_bytes` is how large one is, from which the cost of the first is guessed. The clock must be one that cannot be
    set.
    """

    def __init__(self, every: int | None, num_bytes: int = 0, clock: Callable[[], float] = time.monotonic) -> None:
        self._every = every
        self._clock = clock
        self._last = clock()
        self._pause = _pause_after(num_bytes / _BYTES_PER_SECOND)

    def is_due(self, step: int, *, is_last: bool = False) -> bool:
        """Returns whether a checkpoint is due at this step.

        After the last one the clock decides as ever: what is lost if the end of a run goes wrong is no more than in its
        midst.
        """
        if self._every is not None:
            return step % self._every == 0 or is_last
        return self._clock() - self._last >= self._pause

    @contextlib.contextmanager
    def saving(self) -> Iterator[None]:
        """Times the block, in which a checkpoint is saved."""
        began = self._clock()
        yield
        self._last = self._clock()
        self._pause = _pause_after(self._last - began)


def _pause_after(cost: float) -> float:
    return max(_LEAST_SECONDS, _SECONDS_PER_SECOND * cost)
