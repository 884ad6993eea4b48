"""Labels as numbers to compute with."""

import torch
from jaxtyping import Float64, Int64
from torch import Tensor

from unbraid.codes import Labels


def label_numbers(labels: Labels) -> Int64[Tensor, " image"] | Float64[Tensor, " image"]:
    """Returns measurements as they are, and whole numbers counted from the least known one, so that large ones keep
    their digits as floats.

    Whole numbers farther apart than 64 bits can say stay as they are.
    """
    if labels.is_continuous:
        return labels.values.double()
    values = labels.values.long()
    known = values if labels.known is None else values[labels.known]
    if len(known) == 0 or int(known.max()) - int(known.min()) > torch.iinfo(torch.int64).max:
        return values
    return values - known.min()
