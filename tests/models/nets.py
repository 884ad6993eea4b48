"""What the tests of the nets share: how to count, and a small net of every kind."""

import torch
from torch import Tensor, nn

from tests.discovery import concrete_subclasses
from unbraid.models import (
    MLP,
    Architecture,
    ChenConv,
    Conv,
    DisentanglementLibConv,
    DoTranCelebA,
    EsmaeiliCelebA,
    EsmaeiliDSprites,
    EsmaeiliMNIST,
    InfoGANConv,
    SharingConv,
    SpatialBroadcast,
    SplitConv,
)
from unbraid.models.wrapped_module import WrappedModule

_SMALL: tuple[Architecture, ...] = (
    MLP(hidden=(12,), decoder_hidden=(12,)),
    Conv(channels=(6, 4), hidden=8),
    ChenConv(channels=(6, 4), hidden=8),
    DisentanglementLibConv(channels=(6, 4, 5), hidden=8),
    DoTranCelebA(channels=(6, 4), hidden=8),
    InfoGANConv(channels=(6, 4), hidden=8, head=6),
    EsmaeiliMNIST(hidden=(12,), branch_width=6, decoder_hidden=(6, 12)),
    EsmaeiliDSprites(hidden=(12, 12), branch_width=6, decoder_hidden=(6, 12)),
    EsmaeiliCelebA(channels=(6, 4), branch_width=6, decoder_hidden=8),
    SplitConv(channels=(6, 4), branch_width=6, hidden=8),
    SharingConv(channels=(6, 4), hidden=8),
    SpatialBroadcast(channels=(6, 4), hidden=8, decoder_channels=(4,)),
)
# WrappedModule has the layers of another class.
ARCHITECTURES = [cls for cls in concrete_subclasses(Architecture) if cls is not WrappedModule]
# A net that is not listed above has its default sizes.
SMALL = (*_SMALL, *(cls() for cls in ARCHITECTURES if cls not in {type(net) for net in _SMALL}))


def num_parameters(module: nn.Module) -> int:
    return sum(p.numel() for p in module.parameters())


def conv(fan_in: int, fan_out: int, kernel: int = 4, *, bias: bool = True) -> int:
    """The weights of a convolution."""
    return (kernel**2 * fan_in + bias) * fan_out


def linear(fan_in: int, fan_out: int, *, bias: bool = True) -> int:
    return (fan_in + bias) * fan_out


def a_draw(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))
