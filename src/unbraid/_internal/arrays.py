"""Conversion of NumPy arrays, tensors and nested lists to arrays of numbers or strings."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from unbraid.errors import CodesError

_INTEGERS = (
    torch.bool,
    torch.uint8,
    torch.int8,
    torch.int16,
    torch.int32,
    torch.int64,
    torch.uint16,
    torch.uint32,
    torch.uint64,
)
_FLOATS = (torch.float16, torch.bfloat16, torch.float32, torch.float64)


def columns(table: Tensor, indices: Sequence[int]) -> Tensor:
    """Selects entries of the last axis by index.

    Indexing with a list would copy the list to the GPU, which a CUDA graph cannot record.
    """
    chosen = [table[..., index] for index in indices]
    return torch.stack(chosen, dim=-1) if chosen else table[..., :0]


def is_masked(values: Any) -> bool:
    """Returns whether an array, or any array in a list, has masked entries. numpy.asarray would drop the mask."""
    if isinstance(values, (list, tuple)):
        return any(map(is_masked, values))
    return isinstance(values, np.ma.MaskedArray) and bool(np.ma.is_masked(values))


def as_array(name: str, values: Any) -> np.ndarray | Tensor:
    """Detaches a tensor, and converts other values to a NumPy array of numbers or strings.

    Raises a CodesError for Python objects and masked entries. `name` is the name of the argument in the message.
    """
    if isinstance(values, Tensor):
        return values.detach()
    if is_masked(values):
        raise CodesError(
            f"{name} has masked entries; expected an array without a mask. Drop the masked rows or fill the entries. "
            "Only labels may be masked, in a single numpy.ma array: a masked label is missing."
        )
    try:
        array = np.asarray(values)
    except ValueError:
        raise CodesError(
            f"{name} has rows of different lengths; expected a rectangular table. Pass rows of equal length."
        ) from None
    except (TypeError, RuntimeError, OverflowError) as error:
        raise CodesError(
            f"{name} cannot be converted to an array ({error}). Pass a NumPy array, a tensor or nested lists."
        ) from None
    if array.dtype.kind in "US" and not isinstance(values, np.ndarray):
        # NumPy converts the numbers of a mixed list to strings without an error.
        array = np.asarray(values, dtype=object)
    if array.dtype.kind == "O":
        if not all(isinstance(entry, str) for entry in array.flat):
            types = ", ".join(sorted({type(entry).__name__ for entry in array.flat}))
            raise CodesError(
                f"{name} contains objects of type {types}; expected numbers of one type, or strings. Pass columns of "
                "different types separately."
            )
        array = array.astype(np.str_)
    return array


def as_tensor(name: str, values: Any) -> Tensor:
    """Converts numbers to a tensor. Shares the memory of a NumPy array if possible."""
    array = as_array(name, values)
    if isinstance(array, Tensor):
        if array.dtype not in _INTEGERS + _FLOATS or array.layout != torch.strided:
            raise CodesError(
                f"{name} has dtype {array.dtype} ({array.layout}); expected a dense tensor of real numbers of 16 bits "
                "or more. Convert the tensor, e.g. with .to_dense() or .float()."
            )
        return array
    if array.dtype.kind not in "biuf":
        raise CodesError(
            f"{name} has dtype {array.dtype}; expected real numbers. Convert it, e.g. array.astype(float)."
        )
    if array.dtype.kind == "f" and array.dtype.itemsize > 8:
        array = array.astype(np.float64)
    # torch rejects foreign byte orders, negative strides and strides that are no multiple of the item size (a column of
    # a structured array), and warns about read-only memory.
    is_rejected = any(stride < 0 or stride % array.itemsize for stride in array.strides)
    if is_rejected or not array.dtype.isnative or not array.flags.writeable:
        array = np.array(array, dtype=array.dtype.newbyteorder("="), order="C")
    return torch.as_tensor(array)


def as_floats(name: str, values: Any) -> Tensor:
    """Converts numbers to a float tensor: integers to float64, half precision to float32, to avoid underflow."""
    tensor = as_tensor(name, values)
    if not tensor.is_floating_point():
        return tensor.double()
    return tensor.float() if tensor.dtype in (torch.float16, torch.bfloat16) else tensor


def checked_tensor(name: str, values: Any, axes: str) -> Tensor:
    """Checks the rank of a float tensor against axis names such as "images, latents", and detaches the tensor."""
    if not isinstance(values, Tensor):
        raise CodesError(
            f"{name} is of type {type(values).__name__}; expected a torch.Tensor. Convert it with torch.as_tensor, or "
            "use Codes.from_arrays, which accepts NumPy arrays and lists."
        )
    if values.dtype not in _FLOATS or values.ndim != axes.count(",") + 1:
        raise CodesError(
            f"{name} has shape {tuple(values.shape)} and dtype {values.dtype}; expected shape ({axes}) and floats of "
            "16 bits or more. Convert the tensor."
        )
    return values.detach() if values.requires_grad else values


def same_content(one: Any, other: Any) -> bool:
    """Returns whether two values are equal. Compares mappings and sequences entry by entry, and tensors on any device.

    NaN equals NaN. Tensors of different dtypes are unequal.
    """
    if isinstance(one, Tensor) and isinstance(other, Tensor):
        if one.dtype != other.dtype or one.shape != other.shape:
            return False
        other = other.to(one.device)
        return bool(((one == other) | ((one != one) & (other != other))).all())
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return one.keys() == other.keys() and all(same_content(one[key], other[key]) for key in one)
    if isinstance(one, (list, tuple)) and isinstance(other, (list, tuple)):
        return len(one) == len(other) and all(map(same_content, one, other))
    return bool(one == other or (one != one and other != other))


def shown(entries: Sequence[Any], most: int = 5) -> str:
    """Joins the first `most` entries to a string for a message."""
    return ", ".join(map(str, entries[:most])) + (", ..." if len(entries) > most else "")


def ranks(values: Tensor) -> Tensor:
    """Returns the rank of each integer among the distinct values, from 0 for the smallest."""
    if len(values) == 0:
        return values
    places = values - values.min()
    num_places = int(places.max()) + 1
    # The difference between very small and very large 64-bit integers overflows to a negative number.
    if num_places > 16 * len(values) or num_places < 1 or bool((places < 0).any()):
        return torch.unique(values, return_inverse=True)[1]
    # Equivalent without sorting: sorting all of dSprites takes longer than the rest of a metric.
    occurs = torch.zeros(num_places, dtype=torch.int64, device=values.device).index_fill_(0, places, 1)
    return (occurs.cumsum(0) - 1)[places]


def numbered(arrays: Mapping[str, Any], prefix: str) -> list[Any]:
    """Returns the entries `prefix`0, `prefix`1, ... in order. Raises if the numbering has a gap."""
    given = [name for name in arrays if name.startswith(prefix) and name.removeprefix(prefix).isdecimal()]
    names = [f"{prefix}{number}" for number in range(len(given))]
    if absent := [name for name in names if name not in arrays]:
        raise CodesError(
            f"Arrays {shown(given, most=9)} were given without {absent[0]}. Number {prefix}* from 0, without gaps."
        )
    return [arrays[name] for name in names]
