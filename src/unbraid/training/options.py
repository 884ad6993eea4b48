"""How runs are trained: what changes their speed and their memory, never what they are."""

from dataclasses import dataclass
from typing import final

import torch

from unbraid.runs.extras import Extras


@final
@dataclass(frozen=True)
class TrainingOptions:
    """Holds the options of `train`, which explains them, in one piece."""

    device: torch.device | str = "auto"
    resume: bool = False
    force: bool = False
    checkpoint_every: int | None = None
    stream: bool | None = None
    deterministic: bool = False
    snapshots: tuple[int, ...] = ()
    keep_state: bool = False
    held_out_every: int | None = None
    latent_information_every: int | None = None

    @property
    def extras(self) -> Extras:
        """Returns what each run is to keep beside its end."""
        return Extras(tuple(self.snapshots), self.keep_state)
