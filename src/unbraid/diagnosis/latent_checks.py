"""Checks of what latents say: those that say nothing, and those that say the same."""

from itertools import combinations

import torch
from jaxtyping import Float64
from torch import Tensor

from unbraid.codes import Codes
from unbraid.diagnosis.diagnosis import Finding
from unbraid.diagnosis.words import latents_named, listed, percent
from unbraid.errors import CodesError
from unbraid.evaluation.usage import UNUSED, informativeness, is_collapsed, unused_latents

REDUNDANT = 0.5
"""Two latents are redundant if one explains this share of the other's variance."""
_NUM_GROUPS = 20


def used_latents(codes: Codes) -> list[int]:
    """Returns the numbers of the latents that say anything of the image."""
    return [latent for latent, unused in enumerate(unused_latents(codes).tolist()) if not unused]


def check_collapse(codes: Codes, used: list[int], num_factors: int) -> Finding:
    """Returns how many latents are in use, and which are not."""
    unused = [latent for latent in range(codes.num_latents) if latent not in used]
    try:
        nats = informativeness(codes).tolist()
    except CodesError:  # means alone: which are unused is known from their spread
        nats = []
    numbers = {"used": used, "unused": unused, "nats": nats, "num_factors": num_factors}
    total = codes.num_latents
    if not unused:
        if num_factors <= total:
            return Finding("collapsed latents", "fine", f"All {total} latents are in use.", numbers)
        says = f"All {total} latents are in use, and the data have {num_factors} factors."
        more = f"Give the model at least {num_factors} latents: there are more factors than latents."
        return Finding("collapsed latents", "look", says, numbers, (more,))
    why = f" (less than {UNUSED} nats about the image)" if nats else " (their means hardly move)"
    says = f"{len(unused)} of {total} latents say nothing{why}: {listed(unused)}."
    if is_collapsed(len(unused), total) and not (used and num_factors == 1):
        left = "none is left" if not used else f"{latents_named(used)} alone is left, so scores describe it and noise"
        advice = (
            "Weigh the rate less: a quarter of the present beta, or a warm-up of it (beta=linear:0:1 over training).",
            "Train longer, or with another seed: early on a model may use no latents.",
        )
        return Finding("collapsed latents", "look", f"{says} The code has collapsed: {left}.", numbers, advice)
    if num_factors > len(used):
        short = f"{says} {_counted(used)} left for {num_factors} factors."
        less = "Weigh the rate less, so that latents that are unused now pay for themselves."
        return Finding("collapsed latents", "look", short, numbers, (less,))
    of_factors = f", and there {'is' if num_factors == 1 else 'are'} {num_factors} factor" if num_factors else ""
    plural = "s" * (num_factors > 1)
    return Finding("collapsed latents", "fine", f"{says} {_counted(used)} in use{of_factors}{plural}.", numbers)


def _counted(latents: list[int]) -> str:
    return f"{len(latents)} {'is' if len(latents) == 1 else 'are'}"


def check_redundancy(codes: Codes, used: list[int]) -> Finding:
    """Returns whether a latent that is used could be told from another."""
    continuous = [latent for latent in used if latent < codes.mean.shape[1]]
    if len(continuous) < 2:
        return Finding("redundant latents", "unknown", "Fewer than two continuous latents are in use.")
    explained = explained_variance(codes.mean[:, continuous].double())
    pairs = {
        (continuous[i], continuous[j]): max(float(explained[i, j]), float(explained[j, i]))
        for i, j in combinations(range(len(continuous)), 2)
    }
    (first, second), most = max(pairs.items(), key=lambda pair: pair[1])

    def told(one: int, other: int) -> float:
        return float(explained[continuous.index(one), continuous.index(other)])

    numbers = {
        "explained": {f"{a},{b}": share for (a, b), share in pairs.items()},  # the larger of both directions
        "largest": most,
        "pair": [first, second],
    }
    redundant = [pair for pair, share in pairs.items() if share >= REDUNDANT]
    if not redundant:
        one, other = (first, second) if told(first, second) >= told(second, first) else (second, first)
        says = (
            f"No latent can be told from another: at most, latent {one} explains {percent(most)} of the variance of "
            f"latent {other}."
        )
        return Finding("redundant latents", "fine", says, numbers)
    each = listed(
        f"latent {a} explains {percent(told(a, b))} of the variance of latent {b} (and {b} {percent(told(b, a))} of "
        f"that of {a})"
        for a, b in redundant
    )
    advice = (
        (
            "Weigh the total correlation more: BetaTCVAE with a larger beta, or FactorVAE with a larger gamma; or use "
            "fewer latents."
        ),
    )
    return Finding("redundant latents", "look", f"A latent can be told from another: {each}.", numbers, advice)


def explained_variance(means: Float64[Tensor, "image latent"]) -> Float64[Tensor, "latent latent"]:
    """Returns the share of the variance of latent j (column) that latent i (row) explains: the correlation ratio, with
    latent i in 20 groups of about equal size, less what groups of noise would explain. Any dependence of the mean
    counts, monotone or not.
    """
    num_images, num_latents = means.shape
    num_groups = min(_NUM_GROUPS, max(2, num_images // 5))
    away = means - means.mean(dim=0)
    total = away.square().sum(dim=0).clamp(min=1e-300)
    found = torch.ones(num_latents, num_latents, dtype=torch.float64)
    first_of_group = torch.arange(1, num_groups) * num_images // num_groups
    for latent in range(num_latents):
        column = means[:, latent].contiguous()
        # Equal numbers are in one group: how images are ordered must not count.
        place = torch.searchsorted(column.sort().values[first_of_group], column, right=True)
        sums = torch.zeros(num_groups, num_latents, dtype=torch.float64).index_add_(0, place, away)
        counts = torch.bincount(place, minlength=num_groups).double()
        share = (sums.square() / counts.clamp(min=1)[:, None]).sum(dim=0) / total
        by_chance = (int((counts > 0).sum()) - 1) / (num_images - 1)
        found[latent] = ((share - by_chance) / (1 - by_chance)).clamp(min=0)
    return found
