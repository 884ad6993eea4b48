"""Devices: the CPU, or a GPU of this machine."""

import re

import torch

from unbraid.errors import SpecError


def resolve_device(device: torch.device | str) -> torch.device:
    """Returns the device of this name. Raises if it is not available. "auto" is a GPU if available, else the CPU."""
    name = str(device)
    if name == "auto":
        return automatic_device()
    if not re.fullmatch(r"cpu(:0)?|cuda(:[0-9]{1,2})?", name):
        raise SpecError(f"device is {name!r}; expected 'auto', 'cpu' or 'cuda' ('cuda:1' is the second GPU).")
    found = torch.device(name)
    if found.type == "cuda" and (found.index or 0) >= torch.cuda.device_count():
        raise SpecError(
            f"device is {name!r}, and torch finds {torch.cuda.device_count()} GPUs on this machine. Use 'auto' or "
            "'cpu', or one of these GPUs."
        )
    return found


def automatic_device() -> torch.device:
    """Returns a GPU if available, else the CPU."""
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")
