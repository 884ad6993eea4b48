"""Conversion of NumPy arrays, tensors and nested lists to arrays of numbers or words."""

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
    """Returns the entries of the last axis at these indices.

    Indexing with a list would copy the indices to the GPU, which a CUDA graph cannot record.
    """
    chosen = [table[..., index] for index in indices]
    return torch.stack(chosen, dim=-1) if chosen else table[..., :0]


def is_masked(values: Any) -> bool:
    """Returns whether a numpy.ma array has masked entries. numpy.asarray would drop the mask."""
    if isinstance(values, (list, tuple)):
        return any(map(is_masked, values))
    return isinstance(values, np.ma.MaskedArray) and bool(np.ma.is_masked(values))


def as_array(name: str, values: Any) -> np.ndarray | Tensor:
    """Returns a tensor detached, and any other table as a NumPy array of numbers or words.

    Raises an error for Python objects and masked entries.
    """
    if isinstance(values, Tensor):
        return values.detach()
    if is_masked(values):
        raise CodesError(
            f"{name} has masked entries: drop those rows, or fill them. "
            "Only labels may be masked, as one numpy.ma array; those are missing labels."
        )
    try:
        array = np.asarray(values)
    except ValueError:
        raise CodesError(
            f"{name} is a list whose rows differ in length. Give a rectangular table of numbers."
        ) from None
    except (TypeError, RuntimeError, OverflowError) as error:
        raise CodesError(
            f"{name} cannot be read as a table ({error}). Give a numpy array, a tensor or nested lists of numbers."
        ) from None
    if array.dtype.kind in "US" and not isinstance(values, np.ndarray):
        # NumPy converts the numbers of a mixed list to words without an error.
        array = np.asarray(values, dtype=object)
    if array.dtype.kind == "O":
        if not all(isinstance(entry, str) for entry in array.flat):
            raise CodesError(
                f"{name} holds Python objects of several kinds. Give numbers of one type, or words. Pass columns "
                "of different types separately."
            )
        array = array.astype(np.str_)
    return array


def as_tensor(name: str, values: Any) -> Tensor:
    """Converts numbers to a tensor. Shares the memory of a NumPy array if possible."""
    array = as_array(name, values)
    if isinstance(array, Tensor):
        if array.dtype not in _INTEGERS + _FLOATS or array.layout != torch.strided:
            raise CodesError(
                f"{name} holds {array.dtype} ({array.layout}); expected real numbers of 16 bits or more, not sparse. "
                "Convert it."
            )
        return array
    if array.dtype.kind not in "biuf":
        raise CodesError(f"{name} holds {array.dtype}; expected numbers of one type.")
    if array.dtype.kind == "f" and array.dtype.itemsize > 8:
        array = array.astype(np.float64)
    # torch takes neither foreign byte orders nor negative or uneven strides (as in a column of a structured array), and
    # warns about read-only memory.
    is_odd = any(stride < 0 or stride % array.itemsize for stride in array.strides)
    if is_odd or not array.dtype.isnative or not array.flags.writeable:
        array = np.array(array, dtype=array.dtype.newbyteorder("="), order="C")
    return torch.as_tensor(array)


def as_floats(name: str, values: Any) -> Tensor:
    """Converts numbers to floats. Widens integers and half precision to avoid underflow."""
    tensor = as_tensor(name, values)
    if not tensor.is_floating_point():
        return tensor.double()
    return tensor.float() if tensor.dtype in (torch.float16, torch.bfloat16) else tensor


def checked_tensor(name: str, values: Any, axes: str) -> Tensor:
    """Returns a detached tensor of floats. Raises if its rank does not match the axes, such as "images, latents"."""
    if not isinstance(values, Tensor):
        raise CodesError(
            f"{name} is {type(values).__name__}; expected a tensor. Codes.from_arrays takes numpy arrays and lists."
        )
    if values.dtype not in _FLOATS or values.ndim != axes.count(",") + 1:
        raise CodesError(
            f"{name} has shape {tuple(values.shape)} and type {values.dtype}; expected ({axes}) as floats of 16 bits "
            "or more. Convert it."
        )
    return values.detach() if values.requires_grad else values


def same_content(one: Any, other: Any) -> bool:
    """Returns whether two values are equal: tensors on any device, mappings and sequences entry by entry.

    NaN equals NaN, and tensors of different types differ.
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
    """Returns the first few entries, for a message."""
    return ", ".join(map(str, entries[:most])) + (", ..." if len(entries) > most else "")


def ranks(values: Tensor) -> Tensor:
    """Returns the rank of each integer among the distinct values, from 0 for the smallest."""
    if len(values) == 0:
        return values
    places = values - values.min()
    num_places = int(places.max()) + 1
    # The distance of values at either end of the 64-bit integers overflows to a negative number.
    if num_places > 16 * len(values) or num_places < 1 or bool((places < 0).any()):
        return torch.unique(values, return_inverse=True)[1]
    # The same without sorting, which for all dSprites takes longer than the rest of a metric.
    occurs = torch.zeros(num_places, dtype=torch.int64, device=values.device).index_fill_(0, places, 1)
    return (occurs.cumsum(0) - 1)[places]


def numbered(arrays: Mapping[str, Any], prefix: str) -> list[Any]:
    """Returns the entries `prefix`0, `prefix`1, ... in order. Raises if the numbering has a gap."""
    given = [name for name in arrays if name.startswith(prefix) and name.removeprefix(prefix).isdecimal()]
    names = [f"{prefix}{number}" for number in range(len(given))]
    if absent := [name for name in names if name not in arrays]:
        raise CodesError(
            f"{shown(given, most=9)} were given, and no {absent[0]}. Number {prefix}* from 0, without gaps."
        )
    return [arrays[name] for name in names]
