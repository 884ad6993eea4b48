"""Delta method: the standard error of a smooth function of averages.

A score is a function f of averages over rows, which are images or draws. To first order, the deviation of the score is
the average over rows of f'(averages) times the deviation of the row. The variance of the score is therefore the
variance of this product over the rows, divided by the number of rows.
"""

import math
from collections.abc import Callable, Mapping

import torch
from jaxtyping import Float64
from torch import Tensor

Averages = Mapping[str, Tensor]


def standard_error(
    function: Callable[[Averages], Float64[Tensor, "*outputs"]],
    averages: Averages,
    deviations: Averages,
    num_rows: float,
) -> Float64[Tensor, "*outputs"]:
    """Computes the standard error of `function(averages)` to first order.

    Args:
        function: A smooth function of the averages.
        averages: Averages by name.
        deviations: Deviations of the rows from the averages, by name, with a leading axis for rows. Averages without
            deviations are constants. Deviations may be NaN if an output does not depend on the average.
        num_rows: Number of averaged rows, which may be larger than the number of rows of `deviations`.
    """
    leaves = {name: average.detach().clone().requires_grad_() for name, average in averages.items()}
    with torch.enable_grad():
        outputs = function(leaves)
        each = outputs.reshape(-1).unbind()
    spreads = [_spread(output, leaves, deviations) for output in each]
    return torch.stack(spreads).reshape(outputs.shape) / math.sqrt(num_rows) if spreads else outputs.detach()


def _spread(output: Float64[Tensor, ""], leaves: Averages, deviations: Averages) -> Float64[Tensor, ""]:
    """Returns the root mean square over rows of gradient times deviation."""
    rows = next(iter(deviations.values()))
    linear = rows.new_zeros(len(rows))
    if output.requires_grad:
        gradients = torch.autograd.grad(
            output, tuple(leaves.values()), retain_graph=True, allow_unused=True, materialize_grads=True
        )
        for name, gradient in zip(leaves, gradients, strict=True):
            if name in deviations:
                used = gradient.flatten() != 0
                linear += deviations[name].flatten(1)[:, used] @ gradient.flatten()[used]
    return linear.square().mean().sqrt()
