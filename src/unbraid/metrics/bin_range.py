"""Whether the codes lie where the bins are."""

import math
from dataclasses import replace

import torch
from jaxtyping import Float64
from torch import Tensor

from unbraid.information.quantised import Bins
from unbraid.metrics.metric import Score
from unbraid.metrics.statistics import Statistics

# Of N(0, 1), 6e-5 lies beyond 4: more than this beyond the range is not a tail.
MAX_SHARE_BEYOND = 0.01


def with_range_checked(score: Score, statistics: Statistics, bins: Bins) -> Score:
    """The score of quantised latents; if more than 1 % of a latent lies beyond the bins, with a note that says so, and
    not settled.
    """
    share = mass_beyond(statistics, bins)
    latents = (share > MAX_SHARE_BEYOND).nonzero()[:, 0].tolist()
    if not latents:
        return score
    named = ", ".join(f"{i} ({100 * float(share[i]):.3g} %)" for i in latents)
    note = (
        f"Beyond the bins, which span [{bins.low:g}, {bins.high:g}], lies part of latents {named}: what they say "
        "there is lost. "
        "Give low and high that hold the codes."
    )
    return replace(score, settled=None if math.isnan(score.value) else False, notes=(*score.notes, note))


def mass_beyond(statistics: Statistics, bins: Bins) -> Float64[Tensor, " latent"]:
    """The share of the aggregate posterior below `low` or above `high`, for each continuous latent; from the images
    whose influences are known.
    """
    rows, weights, codes = statistics.influence_rows, statistics.influence_sample.weights, statistics.codes
    p = weights / weights.sum()
    if codes.marginal_std is None and codes.samples is not None:
        draws = codes.samples[:, rows]
        return p @ ((draws < bins.low) | (draws > bins.high)).double().mean(dim=0)
    mean, std = codes.mean[rows].double(), statistics.std[rows].double()
    # A std of 0 is taken for the least there is: all or nothing lies beyond.
    scale = math.sqrt(2) * std.clamp(min=torch.finfo(torch.float64).tiny)
    below, above = torch.erfc((mean - bins.low) / scale) / 2, torch.erfc((bins.high - mean) / scale) / 2
    return p @ torch.where(std > 0, below + above, ((mean < bins.low) | (mean > bins.high)).double())
