"""Losses in TensorBoard."""

import math
from pathlib import Path
from typing import Any, final

from unbraid._internal.progress import Event
from unbraid.errors import SpecError


@final
class TensorBoardListener:
    """Writes the loss and its parts to a folder that TensorBoard reads: `tensorboard --logdir FOLDER`.

    Each run has a folder of its own in there, so that their curves lie over each other.

    tensorboard must be installed; unbraid does not bring it.
    """

    def __init__(self, folder: Path | str) -> None:
        try:
            from torch.utils.tensorboard import SummaryWriter
        except ImportError:
            raise SpecError(
                "TensorBoardListener needs tensorboard, which is not installed. Install it with `pip install "
                "tensorboard`, or write a table with CSVListener."
            ) from None
        self._folder, self._new_writer = Path(folder), SummaryWriter
        self._writers: dict[str, Any] = {}

    def __call__(self, event: Event) -> None:
        for place, run in enumerate(event.runs if event.values else ()):
            if run not in self._writers:
                self._writers[run] = self._new_writer(str(self._folder / run))
            for name, values in event.values.items():
                if math.isfinite(values[place]):  # a run that has failed has no more of them
                    self._writers[run].add_scalar(name, values[place], event.done)
            if event.is_over:
                self._writers.pop(run).close()

    def close(self) -> None:
        """Writes what is not written yet, as when training was stopped."""
        while self._writers:
            self._writers.popitem()[1].close()
