"""Checks for unused latents and for redundant latents."""

from itertools import combinations

import torch
from jaxtyping import Float64
from torch import Tensor

from unbraid._internal.amounts import listed, percent
from unbraid.codes import Codes
from unbraid.diagnose.diagnosis import OF_CODES, Finding, Remedy, depend_less, latents_named
from unbraid.errors import CodesError
from unbraid.metrics.unused_latents import UNUSED, informativeness, is_collapsed, unused_latents
from unbraid.objectives.weight_advice import WeightAdvice

COLLAPSE, REDUNDANCY = "collapsed latents", "redundant latents"
REDUNDANT = 0.5
"""The share of explained variance from which a pair of latents counts as redundant."""
_NUM_GROUPS = 20
_MAX_PAIRS_LISTED = 3


def used_latents(codes: Codes) -> list[int]:
    """Returns the indices of the informative latents."""
    return [latent for latent, unused in enumerate(unused_latents(codes).tolist()) if not unused]


def check_collapse(codes: Codes, used: list[int], num_factors: int, advice: WeightAdvice = OF_CODES) -> Finding:
    """Checks whether the code has collapsed, and whether the used latents suffice for this number of factors."""
    unused = [latent for latent in range(codes.num_latents) if latent not in used]
    try:
        each = informativeness(codes).tolist()
    except CodesError:  # codes without std: the std of the means determines the unused latents
        each = []
    numbers = {"used": used, "unused": unused, "nats": each, "num_factors": num_factors}
    total = codes.num_latents
    if not unused:
        sentence = "The only latent is used" if total == 1 else f"All {total} latents are used"
        if num_factors <= total:
            return Finding(COLLAPSE, "fine", f"{sentence}.", numbers)
        text = f"Use at least {num_factors} latents, because the data have {num_factors} factors."
        sentence = f"{sentence}, but the data have {num_factors} factors."
        return Finding(COLLAPSE, "look", sentence, numbers, (Remedy("more latents", text),))
    why = f"less than {UNUSED} nats about the image" if each else "means that are almost constant"
    sentence = f"{len(unused)} of {total} latents are unused ({why}): {listed(unused)}."
    if total == 1:
        sentence = f"The only latent is unused ({why})."
    if is_collapsed(len(unused), total) and not (used and num_factors == 1):
        left = f"only {latents_named(used)} is used, so scores are not meaningful" if used else "no latent is used"
        text = f"To use more latents: {advice.less_rate}; or train with another seed, because some collapse early."
        sentence = f"{sentence} The code has collapsed: {left}."
        return Finding(COLLAPSE, "look", sentence, numbers, (Remedy("use latents", text),))
    if num_factors > len(used):
        text = f"To use more latents: {advice.less_rate}."
        sentence = f"{sentence} The data have {num_factors} factors, but only {len(used)} latents are used."
        return Finding(COLLAPSE, "look", sentence, numbers, (Remedy("use latents", text),))
    factors = f", factors: {num_factors}" if num_factors else ""
    return Finding(COLLAPSE, "fine", f"{sentence} Used latents: {len(used)}{factors}.", numbers)


def check_redundancy(codes: Codes, used: list[int], advice: WeightAdvice = OF_CODES) -> Finding:
    """Checks whether a used latent can be predicted from another used latent."""
    continuous = [latent for latent in used if latent < codes.mean.shape[1]]
    if len(continuous) < 2:
        return Finding(REDUNDANCY, "unknown", "Fewer than two continuous latents are used.")
    explained = explained_variance(codes.mean[:, continuous].double())
    # The better direction of each pair: the share, the predictor and the predicted latent.
    pairs: list[tuple[float, int, int]] = []
    for i, j in combinations(range(len(continuous)), 2):
        forward, back = float(explained[i, j]), float(explained[j, i])
        by, of = (i, j) if forward >= back else (j, i)
        pairs.append((max(forward, back), continuous[by], continuous[of]))
    most, first, second = max(pairs, key=lambda pair: pair[0])
    numbers = {
        "explained": {f"{min(a, b)},{max(a, b)}": share for share, a, b in pairs},
        "largest": most,
        "pair": sorted((first, second)),
    }
    redundant = sorted((pair for pair in pairs if pair[0] >= REDUNDANT), key=lambda pair: -pair[0])
    if not redundant:
        sentence = (
            f"No latent can be predicted from another. The largest share of explained variance is {percent(most)}, of "
            f"latent {second} by latent {first}."
        )
        return Finding(REDUNDANCY, "fine", sentence, numbers)
    worst = [
        f"latent {by} explains {percent(share)} of the variance of latent {of}"
        for share, by, of in redundant[:_MAX_PAIRS_LISTED]
    ]
    more = len(redundant) - len(worst)
    sentence = "; ".join(worst) + (f"; likewise {more} more pair{'s' * (more > 1)} of latents" if more else "")
    remedy = depend_less(advice, f"Latents {min(first, second)} and {max(first, second)} are redundant")
    return Finding(REDUNDANCY, "look", f"{sentence[0].upper()}{sentence[1:]}.", numbers, (remedy,))


def explained_variance(means: Float64[Tensor, "image latent"]) -> Float64[Tensor, "latent latent"]:
    """Returns the share of the variance of latent j (column) that latent i (row) explains: the correlation ratio.

    The images are divided into 20 groups of about equal size by the value of latent i. The share is corrected for the
    expected share of random groups. It detects monotone and other dependences.
    """
    num_images, num_latents = means.shape
    num_groups = min(_NUM_GROUPS, max(2, num_images // 5))
    away = means - means.mean(dim=0)
    total = away.square().sum(dim=0).clamp(min=1e-300)
    found = away.new_ones(num_latents, num_latents)
    first_of_group = torch.arange(1, num_groups, device=means.device) * num_images // num_groups
    for latent in range(num_latents):
        column = means[:, latent].contiguous()
        # Equal values are in one group, so the order of images does not matter.
        place = torch.searchsorted(column.sort().values[first_of_group], column, right=True)
        sums = away.new_zeros(num_groups, num_latents).index_add_(0, place, away)
        counts = torch.bincount(place, minlength=num_groups).double()
        share = (sums.square() / counts.clamp(min=1)[:, None]).sum(dim=0) / total
        by_chance = (int((counts > 0).sum()) - 1) / (num_images - 1)
        found[latent] = ((share - by_chance) / (1 - by_chance)).clamp(min=0)
    return found
