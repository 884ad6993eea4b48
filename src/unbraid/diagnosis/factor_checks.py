"""Checks of who holds which factor: none, one latent, or two; and latents that hold two factors."""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import torch
from jaxtyping import Float64
from sklearn.model_selection import cross_val_predict
from sklearn.neighbors import KNeighborsClassifier
from torch import Tensor

from unbraid import sampling
from unbraid.codes import Codes, Labels
from unbraid.diagnosis.diagnosis import Finding
from unbraid.diagnosis.words import listed, percent
from unbraid.errors import CodesError
from unbraid.evaluation.latent_readings import LEAST_SHARE, factor_shares
from unbraid.metrics import MIG
from unbraid.metrics.estimators import Exact, MeansHistogram
from unbraid.metrics.metric import Score

Shares = Mapping[str, list[float]]
"""By factor, the share of its entropy that each latent knows, above what it seems to know of shuffled labels."""

_NAMES = ("factors without a latent", "factors of two latents", "latents of two factors")
_NUM_BINS = 10
_NUM_NEIGHBOURS = 10
# Together, latents know a factor if they predict it by so much of the way from guessing to certainty.
_KNOWN_TOGETHER = 0.5
# Where a latent seems to know this share of labels that were shuffled, there are too few images to tell.
_TOO_FEW = 0.5
_MOST_SHUFFLES, _MANY_IMAGES = 8, 4000


def check_factors(codes: Codes, used: list[int]) -> list[Finding]:
    """Returns which factors no latent holds, which two latents share, and which latents hold two."""
    if not codes.factors:
        says = "The factors of these images are not known."
        return [Finding(name, "unknown", says) for name in _NAMES]
    binned = codes.with_binned_factors(_NUM_BINS)
    try:
        mig = _information(binned)
    except CodesError as error:
        return [Finding(name, "unknown", str(error)) for name in _NAMES]
    table, chance = factor_shares(mig), _by_chance(binned)
    varying = {name: place for place, name in enumerate(mig.per_factor) if not table[:, place].isnan().any()}
    by_chance = {name: float(chance[:, place].max()) for name, place in varying.items()}
    unclear = {name: share for name, share in by_chance.items() if not share < _TOO_FEW}
    if unclear and len(unclear) == len(varying):
        return [Finding(name, "unknown", _too_few(unclear), {"by_chance": by_chance}) for name in _NAMES]
    above = ((table - chance) / (1 - chance)).clamp(min=0)
    shares: dict[str, list[float]] = {
        name: above[:, place].tolist() for name, place in varying.items() if name not in unclear
    }
    return [
        replace(
            finding,
            sentence=f"{finding.sentence} {_too_few(unclear)}".strip() if unclear else finding.sentence,
            numbers={**finding.numbers, "by_chance": by_chance},
        )
        for finding in (_unheld(binned, shares, used), _shared(shares), _mixed(shares))
    ]


def _by_chance(codes: Codes) -> Float64[Tensor, "latent factor"]:
    """Returns the share that latents seem to know of the labels of other images, as a mean over several shuffles where
    there are few images: with many values or narrow posteriors it is far from 0.
    """
    shuffles = max(1, min(_MOST_SHUFFLES, _MANY_IMAGES // len(codes)))
    orders = (sampling.permuted_rows(len(codes), seed, "shuffled labels") for seed in range(shuffles))
    shuffled = (replace(codes, factors=codes.rows(rows.to(codes.mean.device)).factors) for rows in orders)
    return torch.stack([factor_shares(_information(each)) for each in shuffled]).mean(dim=0)


def _too_few(unclear: Mapping[str, float]) -> str:
    each = listed(f"{name} ({percent(share)})" for name, share in unclear.items())
    return f"There are too few images to tell who holds {each}: so much a latent knows of shuffled labels."


def _information(codes: Codes) -> Score:
    std = codes.marginal_std
    has_width = codes.mean.shape[1] == 0 or (std is not None and bool((std > 0).all()))
    return MIG(Exact() if has_width else MeansHistogram())(codes)


def _unheld(codes: Codes, shares: Shares, used: list[int]) -> Finding:
    best = {name: max(row) for name, row in shares.items()}
    missing = {name: share for name, share in best.items() if share < LEAST_SHARE}
    told = {labels.name: known_together(codes, labels, used) for labels in codes.factors if labels.name in missing}
    numbers = {"best_share": best, "best_latent": {name: _best(row) for name, row in shares.items()}, "together": told}
    if not missing:
        lowest = min(best, key=lambda name: best[name], default="")
        least = f"; least of {lowest}, of which the best knows {percent(best[lowest])}" if lowest else ""
        return Finding(_NAMES[0], "fine", f"Every factor has a latent that knows of it{least}.", numbers)
    each = listed(f"{name} (the best latent knows {percent(share)} of it)" for name, share in missing.items())
    spread = [name for name, share in told.items() if share >= _KNOWN_TOGETHER]
    absent = [name for name in missing if name not in spread]
    says, advice = f"No latent holds {each}.", list[str]()
    if spread:
        says += (
            f" All latents together predict {listed(spread)}, so {_they(spread)} in the code but spread over latents."
        )
        advice.append(f"For {listed(spread)}: weigh the total correlation more, or choose another seed.")
    if absent:
        says += f" Nor do all latents together predict {listed(absent)}: {_they(absent)} lost."
        advice.append(
            f"For {listed(absent)}: weigh the rate less, train longer, or give more latents or a larger net; then see "
            "whether reconstructions show it."
        )
    return Finding(_NAMES[0], "look", says, numbers, tuple(advice))


def _they(names: list[str]) -> str:
    return "it is" if len(names) == 1 else "they are"


def _shared(shares: Shares) -> Finding:
    pairs = {name: top for name, row in shares.items() if (top := _top_two(row)) is not None}
    numbers = {
        "second_latent": {name: second for name, (_, second) in pairs.items()},
        "shares": {name: [shares[name][a], shares[name][b]] for name, (a, b) in pairs.items()},
    }
    if not pairs:
        return Finding(_NAMES[1], "fine", "No factor is told by a second latent half as well as by the first.", numbers)
    each = listed(
        f"{name} (latent {a}: {percent(shares[name][a])}, latent {b}: {percent(shares[name][b])})"
        for name, (a, b) in pairs.items()
    )
    advice = (
        (
            "Factors in two latents: if they go round, as angles do, two latents are what a Gaussian code needs; else "
            "weigh the total correlation more."
        ),
    )
    return Finding(_NAMES[1], "look", f"Two latents share {each}.", numbers, advice)


def _mixed(shares: Shares) -> Finding:
    names, mixed = list(shares), dict[int, dict[str, float]]()
    for latent, row in enumerate(zip(*shares.values(), strict=True)):
        if (pair := _top_two(list(row))) is not None:
            mixed[latent] = {names[factor]: row[factor] for factor in pair}
    numbers = {"shares": {str(latent): pair for latent, pair in mixed.items()}}
    if not mixed:
        return Finding(_NAMES[2], "fine", "No latent tells a second factor half as well as its first.", numbers)
    each = listed(
        f"latent {latent} tells {listed(f'{name} ({percent(share)})' for name, share in pair.items())}"
        for latent, pair in mixed.items()
    )
    advice = (
        (
            "Latents that mix factors: weigh the total correlation more (BetaTCVAE, FactorVAE), train several seeds "
            "and keep the best; see whether the factors depend on each other in the data."
        ),
    )
    return Finding(_NAMES[2], "look", f"Factors are mixed: {each}.", numbers, advice)


def _best(row: list[float]) -> int:
    return max(range(len(row)), key=lambda latent: row[latent])


def _top_two(row: list[float]) -> tuple[int, int] | None:
    """Returns the places of the largest two numbers, if the second is at least half of the first, and enough."""
    ranked = sorted(range(len(row)), key=lambda place: -row[place])
    if len(ranked) < 2 or row[ranked[1]] < max(LEAST_SHARE, row[ranked[0]] / 2):
        return None
    return ranked[0], ranked[1]


def known_together(codes: Codes, labels: Labels, latents: list[int], max_images: int = 4000) -> float:
    """Returns how well all of these latents together predict a factor by their nearest neighbours: 0 is guessing the
    most frequent value, 1 is always right. It is tested on images that are not among the neighbours.
    """
    if not latents or labels.is_soft:
        return 0.0
    seen = replace(codes, factors=(labels,)).with_latents(latents).with_discrete_as_columns()
    known = torch.ones(len(codes), dtype=torch.bool) if labels.known is None else labels.known.cpu()
    rows = known.nonzero()[:max_images, 0]
    means, values = seen.mean.cpu()[rows].double().numpy(), labels.values.cpu()[rows].numpy()
    counts = np.bincount(values)
    if len(rows) < 2 * _NUM_NEIGHBOURS or np.count_nonzero(counts) < 2:
        return 0.0
    means = (means - means.mean(axis=0)) / np.maximum(means.std(axis=0), 1e-12)
    shuffled = sampling.permuted_rows(len(rows), 0, "neighbours of codes").numpy()
    found = cross_val_predict(
        KNeighborsClassifier(_NUM_NEIGHBOURS), means[shuffled], values[shuffled], cv=_halves(rows)
    )
    guessed = counts.max() / counts.sum()
    return float(max(0.0, ((found == values[shuffled]).mean() - guessed) / (1 - guessed)))


def _halves(rows: torch.Tensor) -> list[tuple[np.ndarray, np.ndarray]]:
    first, second = np.array_split(np.arange(len(rows)), 2)
    return [(first, second), (second, first)]
