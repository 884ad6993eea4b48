"""Distribution and seed of initial weights."""

from collections.abc import Callable
from typing import Any, Literal, TypeVar, final

import torch
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode

from unbraid._internal import draws

Made = TypeVar("Made")

InitialWeights = Literal["torch", "truncated_normal", "glorot_uniform"]
"""Distribution of initial weights.

"torch" is the default of each layer. "truncated_normal" is N(0, 0.02^2) truncated at two standard deviations, with
biases 0 (the code of Do & Tran, arXiv:1908.09961v4). "glorot_uniform" is `nn.init.xavier_uniform_` with biases 0, as in
TensorFlow and disentanglement_lib.
"""


def initialized(net: nn.Module, how: InitialWeights) -> nn.Module:
    """Redraws the weights of a net from the distribution `how` and returns the net."""
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
    """Calls `make` on the CPU with all random numbers of torch drawn from `seed`, and returns the result.

    The numbers equal the output of torch's global generator with this seed. The function uses a separate generator, so
    threads may build models at the same time. Nets with the same seed and different streams have independent weights.
    """
    with torch.device("cpu"):
        start = int(draws.bits(torch.tensor([seed]), f"weights of {stream}", 0, (1,))) if stream else seed
        with _Drawing(torch.Generator().manual_seed(start)):
            return make()


@final
class _Drawing(TorchDispatchMode):
    """Dispatch mode in which random operations of this thread use a given generator.

    Layers of torch initialize their weights from the global generator and have no argument for another generator.
    """

    def __init__(self, generator: torch.Generator) -> None:
        super().__init__()
        self._generator = generator

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        options = dict(kwargs or {})
        if torch.Tag.nondeterministic_seeded not in func.tags or options.get("generator") is not None:
            return func(*args, **options)
        # The overload packet is called, because `randn` with and without a generator are different overloads.
        return func.overloadpacket(*args, **options | {"generator": self._generator})
