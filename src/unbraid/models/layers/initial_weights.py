"""Where the weights of a net start."""

from typing import Literal

from torch import nn

InitialWeights = Literal["torch", "truncated_normal"]
"""torch's own, or as Do & Tran's code (arXiv:1908.09961v4) has it: weights from N(0, 0.02^2) cut off at two standard
deviations, biases 0.
"""


def initialised(net: nn.Module, how: InitialWeights) -> nn.Module:
    """Returns the net, with its weights drawn anew unless torch's own will do."""
    if how == "truncated_normal":
        for layer in net.modules():
            if isinstance(layer, nn.Linear | nn.Conv2d | nn.ConvTranspose2d):
                nn.init.trunc_normal_(layer.weight, std=0.02, a=-0.04, b=0.04)
                if layer.bias is not None:
                    nn.init.zeros_(layer.bias)
    return net
