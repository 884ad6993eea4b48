"""Devices: the CPU, or a GPU of this machine.

MPS, the GPU of a Mac, has no float64. With MPS, random draws, sums in float64 and scores are computed on the CPU.
"""

import re

import torch
from torch import Tensor

from unbraid.errors import SpecError


def resolve_device(device: torch.device | str) -> torch.device:
    """Returns a device by name, where "auto" is a GPU if available. Raises an error for an unavailable device."""
    name = str(device)
    if name == "auto":
        return automatic_device()
    if not re.fullmatch(r"(cpu|mps)(:0)?|cuda(:[0-9]{1,2})?", name):
        raise SpecError(f"device is {name!r}; expected 'auto', 'cpu', 'cuda' ('cuda:1' is the second GPU) or 'mps'.")
    found = torch.device(name)
    if found.type == "mps" and not torch.backends.mps.is_available():
        raise SpecError("device is 'mps'; expected a Mac with a GPU that torch supports. Use 'auto' or 'cpu'.")
    if found.type == "cuda" and (found.index or 0) >= torch.cuda.device_count():
        raise SpecError(
            f"device is {name!r}; expected one of the {torch.cuda.device_count()} GPUs of this machine. Use 'auto' or "
            "'cpu', or one of these GPUs."
        )
    return found


_WITHOUT_FLOAT64 = {"mps"}


def wide_device(device: torch.device) -> torch.device:
    """Returns the device if it supports float64, else the CPU."""
    return torch.device("cpu") if device.type in _WITHOUT_FLOAT64 else device


def widest(x: Tensor) -> Tensor:
    """Converts a tensor to float64, on the CPU if its device does not support float64."""
    return x.to(wide_device(x.device)).double()


def automatic_device() -> torch.device:
    """Returns an NVIDIA GPU if available, else the CPU."""
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")
