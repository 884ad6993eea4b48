"""Conversion of what the functions accept."""

from typing import Any

import torch
from torch import Tensor

Array = Any
"""A tensor, or a NumPy array."""


def as_float(given: Array) -> Tensor:
    """Returns a floating-point tensor, without a copy where it is one."""
    tensor = torch.as_tensor(given)
    return tensor if tensor.is_floating_point() else tensor.to(torch.get_default_dtype())
