"""The area under the ROC curve, with what each row adds to it."""

import math
from dataclasses import dataclass
from typing import final

import torch
from jaxtyping import Bool, Float64
from torch import Tensor


@final
@dataclass(frozen=True)
class ROCAUC:
    """Holds the `area`, P(a positive scores above a negative), ties counting half. `influence` is what each row adds to
    it, of mean zero: the variance of the area is the mean of its square over the number of rows (DeLong, DeLong &
    Clarke-Pearson, Biometrics 1988).
    """

    area: float
    influence: Float64[Tensor, " row"]


def roc_auc(scores: Float64[Tensor, " row"], positive: Bool[Tensor, " row"]) -> ROCAUC:
    """Returns the area by ranks, in n log n. It is NaN where all rows are positive, or none."""
    num_positive = int(positive.sum())
    num_negative = len(positive) - num_positive
    if num_positive == 0 or num_negative == 0:
        return ROCAUC(math.nan, torch.zeros_like(scores))
    above_negatives = _share_below(scores, scores[~positive])
    above_positives = _share_below(scores, scores[positive])
    area = above_negatives[positive].mean()
    influence = torch.where(
        positive,
        (above_negatives - area) * len(positive) / num_positive,
        (1 - above_positives - area) * len(positive) / num_negative,
    )
    return ROCAUC(float(area), influence)


def _share_below(scores: Float64[Tensor, " row"], others: Float64[Tensor, " other"]) -> Float64[Tensor, " row"]:
    """Returns the share of the others that lie below each score, those equal to it counting half."""
    ranked = others.sort().values
    scores = scores.contiguous()
    below, not_above = (torch.searchsorted(ranked, scores, right=right) for right in (False, True))
    return (below + not_above).double() / (2 * len(others))
