"""Counter-based random numbers: pure functions of (seed, stream, step), without a generator state to save or restore.

The noise of a fleet member must not depend on the other members, their order or a restart. So every number is a hash
of four values: the member's seed, the name of the stream, the step, and the position in the tensor. The integers are
the same on every device. Seeds and steps may be tensors with one entry per member.

The hash applies the finalizer of SplitMix64 (Steele, Lea & Flood, OOPSLA 2014) once for each of the four values.
"""

import zlib

import torch
from jaxtyping import Float64, Int64
from torch import Tensor

from unbraid._internal.device import wide_device

# SplitMix64's constants as signed 64-bit integers. torch multiplies int64 modulo 2^64, as the hash requires.
_GOLDEN_GAMMA = 0x9E3779B97F4A7C15 - (1 << 64)
_MIX_1 = 0xBF58476D1CE4E5B9 - (1 << 64)
_MIX_2 = 0x94D049BB133111EB - (1 << 64)


def bits(
    seeds: Int64[Tensor, " member"], stream: str, step: int | Tensor, shape: tuple[int, ...]
) -> Int64[Tensor, "member ..."]:
    """Returns 64 random bits for each member and position of `shape`, a hash of (seed, stream, step, position)."""
    seeds = seeds.to(wide_device(seeds.device))
    address = _mix(seeds * _GOLDEN_GAMMA + zlib.crc32(stream.encode()))
    offset = step.to(seeds.device) * _GOLDEN_GAMMA if isinstance(step, Tensor) else _as_int64(step * _GOLDEN_GAMMA)
    address = _mix(address + offset)
    num_positions = int(torch.Size(shape).numel())
    positions = torch.arange(1, num_positions + 1, device=seeds.device) * _GOLDEN_GAMMA
    return _mix(address[:, None] + positions).reshape(len(seeds), *shape)


def uniform(
    seeds: Int64[Tensor, " member"], stream: str, step: int | Tensor, shape: tuple[int, ...]
) -> Float64[Tensor, "member ..."]:
    """Returns uniform 52-bit numbers on the open interval (0, 1), where logarithms and quantiles are finite."""
    return (_shift_right(bits(seeds, stream, step, shape), 12).double() + 0.5) * 2.0**-52


def normal(
    seeds: Int64[Tensor, " member"], stream: str, step: int | Tensor, shape: tuple[int, ...]
) -> Float64[Tensor, "member ..."]:
    """Returns standard normal numbers: the normal quantile function applied to `uniform` numbers."""
    return torch.special.ndtri(uniform(seeds, stream, step, shape))


def by_weight(
    seeds: Int64[Tensor, " member"], stream: str, step: int | Tensor, cumulative: Float64[Tensor, " row"], size: int
) -> Int64[Tensor, "member size"]:
    """Draws rows with replacement. `cumulative` has the cumulative sums of the unnormalized row weights."""
    # Rows of weight zero are never drawn, because 0 < uniform < 1.
    return torch.searchsorted(cumulative, uniform(seeds, stream, step, (size,)) * cumulative[-1])


def permutation(
    seeds: Int64[Tensor, " member"], stream: str, step: int | Tensor, size: int
) -> Int64[Tensor, "member size"]:
    """Returns a random permutation of `range(size)` for each member, by sorting `size` hashed keys."""
    return bits(seeds, stream, step, (size,)).argsort(dim=1, stable=True)


def _as_int64(number: int) -> int:
    """Wraps an integer to signed 64 bits, as torch does.

    A Python number, unlike a tensor, needs no copy to the GPU, which would synchronize the device.
    """
    return (number + (1 << 63)) % (1 << 64) - (1 << 63)


def _mix(x: Int64[Tensor, "..."]) -> Int64[Tensor, "..."]:
    x = (x ^ _shift_right(x, 30)) * _MIX_1
    x = (x ^ _shift_right(x, 27)) * _MIX_2
    return x ^ _shift_right(x, 31)


def _shift_right(x: Int64[Tensor, "..."], places: int) -> Int64[Tensor, "..."]:
    # torch's >> on int64 fills the left bits with the sign bit; the hash needs zeros.
    return (x >> places) & ((1 << (64 - places)) - 1)
