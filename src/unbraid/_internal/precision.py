"""How finely a run computes: what its nets multiply in, and what everything else is kept in."""

import contextlib
from collections.abc import Iterator
from typing import Literal

import torch
from torch import Tensor

Precision = Literal["float32", "tf32", "bf16", "float64"]
"""Weights, losses and the optimizer are float32, unless all is float64. What differs is how nets multiply:

- float32: as they are.
- tf32: inputs of products are rounded to 10 bits by a GPU that can; on a CPU, they are as they are.
- bf16: encoder, decoder and critic are in bfloat16 (7 bits) throughout, from weights that are kept in float32.
- float64: all is in float64.
"""


def kept_in(precision: Precision) -> torch.dtype:
    """Returns the type of weights, losses and codes."""
    return torch.float64 if precision == "float64" else torch.float32


def nets_run_in(precision: Precision) -> torch.dtype:
    """Returns the type of what goes through encoder, decoder and critic."""
    return torch.bfloat16 if precision == "bf16" else kept_in(precision)


def widened(x: Tensor) -> Tensor:
    """Returns it in float32 if its type is narrower, so that a sum is rounded once."""
    return x.float() if x.dtype.itemsize < 4 else x


@contextlib.contextmanager
def matrix_units(precision: Precision, device: torch.device) -> Iterator[None]:
    """Allows or forbids rounding the inputs of float32 products to TF32 within the block, and restores the global
    settings after it. It is forbidden on a CPU, where oneDNN would round too.
    """
    may_round = device.type == "cuda" and precision in ("tf32", "bf16")
    products, convolutions = torch.get_float32_matmul_precision(), torch.backends.cudnn.allow_tf32
    torch.set_float32_matmul_precision("high" if may_round else "highest")
    torch.backends.cudnn.allow_tf32 = may_round
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(products)
        torch.backends.cudnn.allow_tf32 = convolutions
