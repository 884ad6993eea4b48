"""A module's initial weights, from a seed."""

from collections.abc import Callable

import torch
from torch import nn

from unbraid import draws


def seeded(make: Callable[[], nn.Module | None], seed: int, stream: str) -> nn.Module | None:
    """What `make` returns when the global generator of the CPU starts from this seed and stream. The generator is put back.

    The stream keeps two nets of one seed apart: their weights would else be the same numbers, scaled.
    """
    # Only the CPU's: torch.manual_seed would seed every GPU's too, for good.
    with torch.random.fork_rng(devices=[]), torch.device("cpu"):
        torch.default_generator.manual_seed(int(draws.bits(torch.tensor([seed]), f"weights of {stream}", 0, (1,))))
        return make()
