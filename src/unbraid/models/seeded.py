"""A module's initial weights, from a seed."""

from collections.abc import Callable
from typing import TypeVar

import torch

from unbraid import draws

Made = TypeVar("Made")


def seeded(make: Callable[[], Made], seed: int, stream: str = "") -> Made:
    """What `make` returns when the global generator of the CPU starts from this seed. The generator is put back.

    A plain module initialises itself from the global generator. Only the CPU's is seeded: torch.manual_seed would seed
    every GPU's too, for good. A named stream keeps two nets of one seed apart: their weights would else be the same
    numbers, scaled.
    """
    with torch.random.fork_rng(devices=[]), torch.device("cpu"):
        start = int(draws.bits(torch.tensor([seed]), f"weights of {stream}", 0, (1,))) if stream else seed
        torch.default_generator.manual_seed(start)
        return make()
