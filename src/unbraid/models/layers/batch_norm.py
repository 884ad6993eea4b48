"""BatchNorm while a fleet trains: by the statistics of the batch alone."""

from typing import final

import torch
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm

from unbraid._internal.precision import widened


def make_batch_norm_stateless(net: nn.Module) -> None:
    """Changes every BatchNorm layer of the net so that it keeps no running averages, for which `vmap` has no place.

    Weights keep their names and their numbers.
    """
    for parent in list(net.modules()):
        for name, layer in list(parent.named_children()):
            if isinstance(layer, _BatchNorm):
                setattr(parent, name, StatelessBatchNorm(layer))


@final
class StatelessBatchNorm(nn.Module):
    """A BatchNorm layer without running averages.

    On a GPU it is written out: torch's own asks for a layout of memory that `vmap` cannot give to the outputs of our
    convolutions, and a compiler fuses these few operations.
    """

    def __init__(self, layer: _BatchNorm) -> None:
        super().__init__()
        self.weight, self.bias, self.eps = layer.weight, layer.bias, layer.eps

    def forward(self, x: Tensor) -> Tensor:
        if x.is_cuda:
            return normalized(x, self.weight, self.bias, self.eps)
        return nn.functional.batch_norm(x, None, None, self.weight, self.bias, training=True, eps=self.eps)


def normalized(x: Tensor, weight: Tensor | None, bias: Tensor | None, eps: float) -> Tensor:
    """Returns every channel, the second axis, with mean 0 and variance 1 over all other axes.

    Each is then multiplied by its weight, and its bias is added.
    """
    axes, wide = [axis for axis in range(x.ndim) if axis != 1], widened(x)
    centered = wide - wide.mean(dim=axes, keepdim=True)
    normal = centered * torch.rsqrt(centered.square().mean(dim=axes, keepdim=True) + eps)
    along = (1, -1, *[1] * (x.ndim - 2))
    scaled = normal if weight is None else normal * weight.reshape(along)
    return (scaled if bias is None else scaled + bias.reshape(along)).to(x.dtype)
