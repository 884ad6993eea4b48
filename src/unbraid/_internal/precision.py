"""Precision of matrix products and of weights."""

import contextlib
from collections.abc import Iterator
from typing import Literal

import torch
from torch import Tensor

Precision = Literal["float32", "tf32", "bf16", "float64"]
"""Floating-point precision of training. Weights, losses and optimizer states are float32, or float64 for "float64".

- float32: matrix products in float32.
- tf32: matrix products in TensorFloat-32 (10 bits of mantissa) on a GPU that supports it, else in float32.
- bf16: encoder, decoder and critic compute in bfloat16 (7 bits of mantissa). Their weights are stored in float32.
- float64: matrix products in float64.
"""


def kept_in(precision: Precision) -> torch.dtype:
    """Returns the dtype of weights, losses and codes."""
    return torch.float64 if precision == "float64" else torch.float32


def nets_run_in(precision: Precision) -> torch.dtype:
    """Returns the dtype of the activations of encoder, decoder and critic."""
    return torch.bfloat16 if precision == "bf16" else kept_in(precision)


def widened(x: Tensor) -> Tensor:
    """Converts float16 and bfloat16 tensors to float32, so that a sum is rounded only once."""
    return x.float() if x.dtype.itemsize < 4 else x


@contextlib.contextmanager
def matrix_units(precision: Precision, device: torch.device) -> Iterator[None]:
    """Enables or disables TF32 matrix products inside the block, and restores the settings afterwards.

    TF32 is always disabled on a CPU, where oneDNN would use it too.
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
