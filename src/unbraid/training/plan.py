"""The plan of a training as text."""

from collections.abc import Sequence

import torch

from unbraid._internal.amounts import size_text
from unbraid.training.sizing import Memory


def plan_text(sizes: Sequence[int], num_steps: int, device: torch.device, memory: Memory | None, num_later: int) -> str:
    """Returns how many models in how many fleets, for how many steps, with how much memory, if that was measured.

    `num_later` models are trained after these.
    """
    count = "1 model" if sum(sizes) == 1 else f"{sum(sizes)} models"
    fleets = "" if len(sizes) == 1 else f" in {len(sizes)} fleets, one after the other ({' + '.join(map(str, sizes))})"
    text = f"{count}{fleets}, {num_steps} steps each, on {device}."
    if memory is not None:
        text += f" A model takes at most {size_text(memory.per_member)}, and {size_text(memory.free)} are free."
    return text + (f" Then {others(num_later)}." if num_later else "")


def others(count: int) -> str:
    """Returns `1 other model`, `2 other models` and so on."""
    return f"{count} other {'model' if count == 1 else 'models'}"
