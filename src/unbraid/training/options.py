"""How runs are trained: what changes their speed, their memory and who is told, never what they are."""

from dataclasses import dataclass
from typing import final

import torch

from unbraid.training.events import Warn, Watch, ignore, log_warning


@final
@dataclass(frozen=True)
class TrainingOptions:
    """The options of `train`, which explains them, in one piece."""

    device: torch.device | str = "auto"
    resume: bool = False
    force: bool = False
    checkpoint_every: int | None = None
    stream: bool | None = None
    deterministic: bool = False
    watch: Watch = ignore
    warn: Warn = log_warning
