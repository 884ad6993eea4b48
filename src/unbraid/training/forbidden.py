"""Errors for operations that an objective or a net must not use in a fleet, with the line of code.

`vmap` maps the formula of one model over all models. Each scalar is then a tensor with a value for each model.
"""

import contextlib
import linecache
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from unbraid.errors import SpecError
from unbraid.objectives.objective import Loss, Objective

_BRANCHES = (
    "turns a number into one of Python's, or branches on it",
    """The tensor has a different value for each trained model, so no single branch is right for all. Compute both
    branches and choose with torch.where(condition, this, that). Remove float(), int() and .item(). Replace min() and
    max() with torch.minimum and torch.maximum. A field that selects a branch must not be a float: use a bool, an int
    or a Literal.""",
)
_DRAWS = (
    "draws random numbers",
    """Random numbers are drawn outside, so that a model does not depend on the other models of the fleet. An objective
    requests standard normal numbers by draw_shapes(), and reads them from step.draws. A net cannot draw random numbers:
    remove Dropout, and noise in forward().""",
)
_READS = (
    "reads the values of a tensor",
    """The tensor has values for each trained model, and gradients are computed through it. Use torch instead of NumPy,
    and remove .numpy(), .tolist() and print().""",
)
_SIZES = (
    "makes a tensor whose size depends on values",
    """The size may differ between the trained models. Keep all entries, and set excluded entries to 0:
    torch.where(mask, values, 0).sum().""",
)
_IN_PLACE = (
    "changes a tensor in place",
    """The tensor is shared by all trained models. Create a new tensor with torch.stack, torch.cat or torch.where.""",
)
# By the message of torch: what was done, and what to do instead.
_FORBIDDEN = {
    "data-dependent control flow": _BRANCHES,
    "randomness error mode": _DRAWS,
    "access data pointer of Tensor": _READS,
    "dynamic shape": _SIZES,
    "inplace arithmetic": _IN_PLACE,
}
_OF_OTHERS = (Path(torch.__file__).parent, Path(__file__).parents[1], Path(contextlib.__file__).parent)


@contextlib.contextmanager
def explained() -> Iterator[None]:
    """Converts errors of vmap within the block to a SpecError with the line of user code and advice.

    Other errors, and errors from unbraid's own code, are not changed.
    """
    try:
        yield
    except RuntimeError as error:
        found = next((found for message, found in _FORBIDDEN.items() if message in str(error)), None)
        place = None if found is None else _place(error)
        if found is None or place is None:
            raise
        what, advice = found
        raise SpecError(
            f"{place} {what}, which cannot be done where models are trained side by side. {' '.join(advice.split())}"
        ) from error


def checked(loss: Any, objective: Objective) -> Loss:
    """Returns the loss of an objective. Raises if the total or a part is not a tensor of one number."""
    where = f"{type(objective).__name__}.__call__"
    if not isinstance(loss, Loss):
        raise SpecError(
            f"{where} returns a {type(loss).__name__}; expected a Loss: what to minimize, and its parts by name, such "
            'as Loss(total, {"distortion": distortion, "rate": rate}), from unbraid.objectives.'
        )
    numbers: dict[str, Any] = {"total": loss.total} | {f"part {name!r}": part for name, part in loss.parts.items()}
    for name, number in numbers.items():
        if not isinstance(number, Tensor) or number.dim() != 0:
            found = f"a tensor of shape {tuple(number.shape)}" if isinstance(number, Tensor) else repr(number)
            raise SpecError(
                f"{where} returns a Loss whose {name} is {found}; expected a tensor of one number, such as the average "
                "over the images of the batch: .mean()."
            )
    return loss


def _place(error: BaseException) -> str | None:
    """Returns the line of user code that raised an error, or None if user code did not raise it."""
    for frame, number in reversed(list(traceback.walk_tb(error.__traceback__))):
        file = frame.f_code.co_filename
        if file.startswith("<frozen") or any(Path(file).is_relative_to(folder) for folder in _OF_OTHERS):
            continue
        text = linecache.getline(file, number).strip()
        code = f" (`{text}`)" if text else ""
        return f"{Path(file).name}, line {number}{code}, in {frame.f_code.co_qualname},"
    return None
