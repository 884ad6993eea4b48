"""An optimizer that takes memory as long as many models are trained side by side."""

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import final

from unbraid.training.optimizers.adam import Adam
from unbraid.training.optimizers.optimizer import Stack, StepSize

_BLOCK = 2**26
_NUM_BLOCKS = 100  # no more, so that a machine without a monitor survives the test


@final
@dataclass(frozen=True)
class Hungry(Adam):
    """Adam; with more than two members in the fleet, it takes 6 GB before its first update."""

    def update_(self, weights: Stack, gradient: Stack, state: Mapping[str, Stack], step_size: StepSize) -> None:
        blocks = []
        for _ in range(_NUM_BLOCKS if len(weights) > 2 else 0):
            blocks.append(b"\1" * _BLOCK)
            time.sleep(0.03)
        super().update_(weights, gradient, state, step_size)
