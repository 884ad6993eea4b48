"""Errors for operations that objectives and nets must not use under `vmap`, with the line of user code.

A fleet maps the loss of one model over all models with `vmap`. Each scalar is then a tensor with one value per model.
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
    "converts a tensor to a Python number, or branches on its value",
    """The tensor has a different value for each trained model. Compute both branches and select with
    torch.where(condition, a, b). Remove float(), int() and .item(). Replace min() and max() with torch.minimum and
    torch.maximum. A field that selects a branch must not be a float: use a bool, an int or a Literal.""",
)
_DRAWS = (
    "draws random numbers",
    """Random numbers are drawn before the step, so that a model does not depend on the other models of the fleet. In an
    objective, declare standard normal numbers in draw_shapes() and read step.draws. In a net, remove Dropout and noise
    in forward().""",
)
_READS = (
    "reads the values of a tensor",
    """Under vmap and grad, the values of the tensor are not available. Use torch instead of NumPy, and remove .numpy(),
    .tolist() and print().""",
)
_SIZES = (
    "creates a tensor whose size depends on values",
    """The size may differ between the trained models. Keep all entries, and set excluded entries to 0:
    torch.where(mask, values, 0).sum().""",
)
_IN_PLACE = (
    "changes a tensor in place",
    """All trained models share the tensor. Create a new tensor with torch.stack, torch.cat or torch.where.""",
)
# Phrase in the error message of torch: description of the operation, and the fix.
_FORBIDDEN = {
    "data-dependent control flow": _BRANCHES,
    "randomness error mode": _DRAWS,
    "access data pointer of Tensor": _READS,
    "dynamic shape": _SIZES,
    "inplace arithmetic": _IN_PLACE,
}
_OF_OTHERS = (Path(torch.__file__).parent, Path(__file__).parents[1], Path(contextlib.__file__).parent)


@contextlib.contextmanager
def explain_vmap_errors() -> Iterator[None]:
    """Converts errors of vmap inside the block to a SpecError with the line of user code and the fix.

    Other errors, and errors in the code of unbraid, are not changed.
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
            f"{place} {what}, which is not supported in side-by-side training. {' '.join(advice.split())}"
        ) from error


def checked_loss(loss: Any, objective: Objective) -> Loss:
    """Checks that an objective returns a Loss whose total and parts are scalar tensors."""
    where = f"{type(objective).__name__}.__call__"
    if not isinstance(loss, Loss):
        raise SpecError(
            f"{where} returns a {type(loss).__name__}; expected an unbraid.objectives.Loss with the total and its "
            'parts. Return e.g. Loss(total, {"distortion": distortion, "rate": rate}).'
        )
    numbers: dict[str, Any] = {"total": loss.total} | {f"part {name!r}": part for name, part in loss.parts.items()}
    for name, number in numbers.items():
        if not isinstance(number, Tensor) or number.dim() != 0:
            found = f"a tensor of shape {tuple(number.shape)}" if isinstance(number, Tensor) else repr(number)
            raise SpecError(
                f"{where} returns a Loss whose {name} is {found}; expected a scalar tensor. Average over the images of "
                "the batch with .mean()."
            )
    return loss


def _place(error: BaseException) -> str | None:
    """Returns the line of user code that raised an error, or None for an error outside of user code."""
    for frame, number in reversed(list(traceback.walk_tb(error.__traceback__))):
        file = frame.f_code.co_filename
        if file.startswith("<frozen") or any(Path(file).is_relative_to(folder) for folder in _OF_OTHERS):
            continue
        text = linecache.getline(file, number).strip()
        code = f" (`{text}`)" if text else ""
        return f"{Path(file).name}, line {number}{code}, in {frame.f_code.co_qualname},"
    return None
