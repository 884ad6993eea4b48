"""Two small models that are trained together, in a process that may die at a change to the disk."""

import itertools
import os
import signal
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from tests.training.squares import CONV_SPEC
from unbraid.training import TrainingOptions, train

# Small, but of a kind for which company matters in float32, so that a fleet that is not put together again as it was
# would be found out.
SPEC = replace(CONV_SPEC, precision="float32", num_steps=6)
SEEDS = (0, 1)


def live(folder: Path, dies_at: int | None = None) -> None:
    """Train in the folder's `runs`, and be killed just before this change to the disk, counted from 1."""
    changes = itertools.count(1)

    def mortal(change: Callable[..., Any]) -> Callable[..., Any]:
        def dying(*arguments: Any, **options: Any) -> Any:
            if next(changes) == dies_at:
                os.kill(os.getpid(), signal.SIGKILL)
            return change(*arguments, **options)

        return dying

    for name in ("replace", "unlink", "rmdir"):
        setattr(os, name, mortal(getattr(os, name)))
    options = TrainingOptions(checkpoint_every=2, snapshots=[3], keep_state=True)
    train([SPEC], SEEDS, folder=folder / "runs", device="cpu", resume=True, options=options)
