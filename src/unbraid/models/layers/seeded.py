"""A module's initial weights, from a seed."""

from collections.abc import Callable
from typing import Any, TypeVar, final

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from unbraid._internal import draws

Made = TypeVar("Made")


def seeded(make: Callable[[], Made], seed: int, stream: str = "") -> Made:
    """Returns what `make` makes on the CPU when every random number that torch draws for it comes from this seed.

    The numbers are those that torch's global generator would give from this seed, but the generator is a separate one:
    threads may build models at the same time. A named stream keeps two nets of one seed apart: their weights would
    otherwise be the same numbers, scaled.
    """
    with torch.device("cpu"):
        start = int(draws.bits(torch.tensor([seed]), f"weights of {stream}", 0, (1,))) if stream else seed
        with _Drawing(torch.Generator().manual_seed(start)):
            return make()


@final
class _Drawing(TorchDispatchMode):
    """Lets every operation of this thread that draws random numbers take them from one generator.

    Plain modules initialize themselves from the global generator and have no argument for another.
    """

    def __init__(self, generator: torch.Generator) -> None:
        super().__init__()
        self._generator = generator

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        options = dict(kwargs or {})
        if torch.Tag.nondeterministic_seeded not in func.tags or options.get("generator") is not None:
            return func(*args, **options)
        # By its name, not its overload: `randn` without a generator is another overload than `randn` with one.
        return func.overloadpacket(*args, **options | {"generator": self._generator})
