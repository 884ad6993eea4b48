"""Where the weights of a net start."""

from typing import Literal

from torch import nn

InitialWeights = Literal["torch", "truncated_normal", "glorot_uniform"]
"""torch's own; or as Do & Tran's code (arXiv:1908.09961v4) has it: weights from N(0, 0.02^2) cut off at two standard
deviations, biases 0; or as TensorFlow and so disentanglement_lib: uniform within the root of 6 / (inputs + outputs)
(Glorot & Bengio, AISTATS 2010, eq. 16), biases 0.
"""


def initialized(net: nn.Module, how: InitialWeights) -> nn.Module:
    """Returns the net, with its weights drawn anew unless torch's own will do."""
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
