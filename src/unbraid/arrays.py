"""Arrays of numbers or words from numpy, torch or nested lists."""

from typing import Any

import numpy as np
import torch
from torch import Tensor

from unbraid.errors import CodesError


def as_array(name: str, values: Any) -> np.ndarray | Tensor:
    """A tensor as it is (without its gradients), anything else as a numpy array of numbers or words; Python objects are refused."""
    if isinstance(values, Tensor):
        return values.detach()
    try:
        array = np.asarray(values)
    except ValueError:
        raise CodesError(f"{name} is a list whose rows differ in length. Give a rectangular table of numbers.") from None
    if array.dtype.kind in "US" and not isinstance(values, np.ndarray):
        # numpy turns the numbers of a mixed list into words without a word.
        array = np.asarray(values, dtype=object)
    if array.dtype.kind == "O":
        if not all(isinstance(entry, str) for entry in array.flat):
            raise CodesError(
                f"{name} holds Python objects of several kinds. Give numbers of one type, or words; each column by itself if they differ."
            )
        array = array.astype(np.str_)
    return array


def as_tensor(name: str, values: Any) -> Tensor:
    """Numbers, as torch holds them. numpy's memory is shared where torch can."""
    array = as_array(name, values)
    if isinstance(array, Tensor):
        if array.is_complex():
            raise CodesError(f"{name} holds {array.dtype}; expected real numbers.")
        return array
    if array.dtype.kind not in "biuf":
        raise CodesError(f"{name} holds {array.dtype}; expected numbers of one type.")
    if array.dtype.kind == "f" and array.dtype.itemsize > 8:
        array = array.astype(np.float64)
    # torch takes neither foreign byte orders nor negative strides, and complains of memory that it may not write to.
    if not array.dtype.isnative or not array.flags.writeable or any(stride < 0 for stride in array.strides):
        array = np.array(array, dtype=array.dtype.newbyteorder("="), order="C")
    return torch.as_tensor(array)


def as_floats(name: str, values: Any) -> Tensor:
    """Floats; integers and half precision are widened, so that nothing underflows on the way."""
    tensor = as_tensor(name, values)
    if not tensor.is_floating_point():
        return tensor.double()
    return tensor.float() if tensor.dtype in (torch.float16, torch.bfloat16) else tensor
