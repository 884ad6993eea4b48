"""A long training of two tiny models, and how much memory it takes on the way: `python -m tests.crash.long_run FOLDER
STEPS`.
"""

import contextlib
import gc
import json
import resource
import sys
from dataclasses import replace
from pathlib import Path

import torch

from tests.training.squares import MLP_SPEC
from unbraid._internal.progress import Event
from unbraid.training import TrainingOptions, train

SPEC = replace(MLP_SPEC, batch_size=4, precision="float32")


class EnoughError(Exception):
    """Ends a training from within."""


def live(folder: Path, num_steps: int, looks: list[int]) -> None:
    """Train in the folder's `runs` until the last look, and write to `memory.json` what each found: bytes in memory,
    and how many blocks Python holds.
    """
    found = []

    def look(event: Event) -> None:
        if event.about == "training" and event.done in looks:
            gc.collect()
            found.append({"step": event.done, "bytes": _resident(), "blocks": sys.getallocatedblocks()})
            if event.done == looks[-1] < num_steps:
                raise EnoughError

    with contextlib.suppress(EnoughError):
        train(
            [replace(SPEC, num_steps=num_steps)],
            [0, 1],
            folder=folder / "runs",
            watch=look,
            options=TrainingOptions(checkpoint_every=looks[0], workers=0),
        )
    (folder / "memory.json").write_text(json.dumps(found))


def _resident() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()


if __name__ == "__main__":
    torch.set_num_threads(1)
    place, steps = Path(sys.argv[1]), int(sys.argv[2])
    place.mkdir(parents=True)
    live(place, steps, [steps * tenth // 10 for tenth in range(1, 11)])
    sys.stdout.write((place / "memory.json").read_text() + "\n")
