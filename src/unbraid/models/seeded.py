"""A module's initial weights, from a seed."""

from collections.abc import Callable
from typing import TypeVar

import torch

Made = TypeVar("Made")


def seeded(make: Callable[[], Made], seed: int) -> Made:
    """What `make` returns when the global generator of the CPU starts from this seed. The generator is put back.

    A plain module initialises itself from the global generator. Only the CPU's is seeded: torch.manual_seed would seed every GPU's too, for good.
    """
    with torch.random.fork_rng(devices=[]), torch.device("cpu"):
        torch.default_generator.manual_seed(seed)
        return make()
