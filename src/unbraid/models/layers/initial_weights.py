"""Initial weights: their distribution and their seed."""

from collections.abc import Callable
from typing import Any, Literal, TypeVar, final

import torch
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode

from unbraid._internal import draws

Made = TypeVar("Made")

InitialWeights = Literal["torch", "truncated_normal", "glorot_uniform"]
"""The defaults of torch; or weights from N(0, 0.02^2) cut off at two standard deviations and biases 0 (the code of Do &
Tran, arXiv:1908.09961v4); or weights uniform within the root of 6 / (inputs + outputs) and biases 0 (Glorot & Bengio,
AISTATS 2010, eq. 16), as in TensorFlow and so in disentanglement_lib.
"""


def initialized(net: nn.Module, how: InitialWeights) -> nn.Module:
    """Returns the net after redrawing its weights, unless `how` is "torch"."""
    if how == "torch":
        return net
    for layer in net.modules():
        if isinstance(layer, nn.Linear | nn.Conv2d | nn.ConvTranspose2d):
            if how == "truncated_normal":
                nn.init.trunc_normal_(layer.weight, std=0.02, a=-0.04, b=0.04)
            else:
                nn.init.xavier_uniform_(layer.weight)
            if layer.bias is not None:
                nn.init.zeros_(layer.bias)
    return net


def seeded(make: Callable[[], Made], seed: int, stream: str = "") -> Made:
    """Returns the module of `make`, on the CPU, with all random numbers of torch drawn from `seed`.

    The numbers equal those of the global generator of torch with this seed. The generator is a separate one, so threads
    may build models at the same time. A named stream makes the weights of two nets with one seed independent.
    """
    with torch.device("cpu"):
        start = int(draws.bits(torch.tensor([seed]), f"weights of {stream}", 0, (1,))) if stream else seed
        with _Drawing(torch.Generator().manual_seed(start)):
            return make()


@final
class _Drawing(TorchDispatchMode):
    """A dispatch mode in which random operations of this thread draw from one generator.

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
