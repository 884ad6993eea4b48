"""Checks of the encoding of factors: factors without a latent, factors in two latents, and latents with two factors."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from sklearn.model_selection import cross_val_predict
from sklearn.neighbors import KNeighborsClassifier

from unbraid._internal import row_draws
from unbraid._internal.amounts import listed, percent
from unbraid.codes import Codes, Labels
from unbraid.diagnose.diagnosis import OF_CODES, Finding, Remedy, depend_less, latents_named
from unbraid.errors import CodesError
from unbraid.metrics import MIG
from unbraid.metrics.latent_readings import (
    LEAST_SHARE,
    above_chance,
    estimator_for,
    factor_shares,
    shares_by_chance,
    varying,
)
from unbraid.objectives.weight_advice import WeightAdvice

Shares = Mapping[str, list[float]]
"""The share of the entropy of each factor that each latent has, minus the share for shuffled labels."""

_NAMES = ("factors without a latent", "factors of two latents", "latents of two factors")
_NUM_BINS = 10
_NUM_NEIGHBORS = 10
# The rescaled accuracy (`joint_accuracy`) from which a factor counts as predictable.
_PREDICTABLE = 0.5
# The share for shuffled labels from which there are too few images.
_TOO_FEW = 0.5


def diagnose_factors(codes: Codes, used: list[int], advice: WeightAdvice = OF_CODES) -> list[Finding]:
    """Checks for factors without a latent, factors of two latents, and latents of two factors."""
    if not codes.factors:
        return _unknown("The codes have no factors.")
    binned = varying(codes.with_binned_factors(_NUM_BINS))
    estimator = estimator_for(binned)
    try:
        mig = MIG(estimator)(binned)
    except CodesError as error:
        return _unknown(str(error))
    table, chance = factor_shares(mig), shares_by_chance(binned, estimator)
    places = {name: place for place, name in enumerate(mig.per_factor) if not table[:, place].isnan().any()}
    by_chance = {name: float(chance[:, place].max()) for name, place in places.items()}
    unclear = {name: share for name, share in by_chance.items() if not share < _TOO_FEW}
    each = listed(f"{name} ({percent(share)})" for name, share in unclear.items()) if unclear else ""
    too_few = f"There are too few images to find the latents of {each}: shuffled labels are similarly informative."
    if unclear and len(unclear) == len(places):
        return _unknown(too_few, {"by_chance": by_chance})
    above = above_chance(table, chance)
    shares: Shares = {name: above[:, place].tolist() for name, place in places.items() if name not in unclear}
    vacuous = ""  # the reason why no factor can be shared or mixed
    if not used:
        vacuous = "No latent is used."
    elif not any(share >= LEAST_SHARE for row in shares.values() for share in row):
        vacuous = "No latent encodes a factor."
    findings = (
        _unheld(binned, shares, used, advice),
        _shared(shares, advice, vacuous or ("Only one latent is used." if len(used) == 1 else "")),
        _mixed(shares, advice, vacuous or (f"Only {next(iter(shares))} varies." if len(shares) == 1 else "")),
    )
    return [
        replace(
            finding,
            sentence=f"{finding.sentence} {too_few}".strip() if unclear else finding.sentence,
            numbers={**finding.numbers, "by_chance": by_chance},
        )
        for finding in findings
    ]


def _unknown(sentence: str, numbers: Mapping[str, Any] | None = None) -> list[Finding]:
    return [Finding(name, "unknown", sentence, numbers or {}) for name in _NAMES]


def _unheld(codes: Codes, shares: Shares, used: list[int], advice: WeightAdvice) -> Finding:
    best = {name: max(row) for name, row in shares.items()}
    missing = {name: share for name, share in best.items() if share < LEAST_SHARE}
    labels = {each.name: each for each in codes.factors if each.name in missing}
    together = {name: joint_accuracy(codes, labels[name], used) for name in missing}
    best_latent = {name: max(range(len(row)), key=row.__getitem__) for name, row in shares.items()}
    numbers = {"best_share": best, "best_latent": best_latent, "together": together}
    if not missing:
        lowest = min(best, key=lambda name: best[name], default="")
        least = f" The lowest share is {percent(best[lowest])}, of {lowest}." if lowest else ""
        return Finding(_NAMES[0], "fine", f"Every factor is encoded in a latent.{least}", numbers)
    if not used:
        sentence = f"No latent is used, so no latent encodes {listed(missing)}."
        return Finding(_NAMES[0], "look", sentence, numbers)
    in_code = [name for name, accuracy in together.items() if accuracy >= _PREDICTABLE]
    # Factors that the mean of a single latent predicts, although its noise is too wide.
    hidden = {}
    for name in in_code:
        accuracy, latent = max((joint_accuracy(codes, labels[name], [latent]), -latent) for latent in used)
        if accuracy >= _PREDICTABLE:
            hidden[name] = -latent
    spread = [name for name in in_code if name not in hidden]
    absent = [name for name in missing if name not in in_code]
    each = listed(f"{name} (largest share: {percent(share)})" for name, share in missing.items())
    sentence, remedies = f"No latent encodes {each}.", list[Remedy]()
    for name, latent in hidden.items():
        sentence += f" The mean of latent {latent} predicts {name}, but its noise is too wide."
    if spread:
        sentence += f" All latents together predict {listed(spread)}, which is spread over several latents."
        remedies.append(depend_less(advice, f"Information about {listed(spread)} is spread over latents"))
    if absent:
        sentence += f" All latents together do not predict {listed(absent)}."
        text = f"The code does not contain {listed(absent)}: try a larger net, and check the reconstructions."
        remedies.append(Remedy("keep factors", text))
    if absent or hidden:
        text = f"To encode {listed([*hidden, *absent])}: {advice.less_rate}."
        remedies.append(Remedy("less rate", text))
    return Finding(_NAMES[0], "look", sentence, numbers, tuple(remedies))


def _shared(shares: Shares, advice: WeightAdvice, vacuous: str) -> Finding:
    pairs = {name: top for name, row in shares.items() if (top := _top_two(row)) is not None}
    numbers = {
        "second_latent": {name: second for name, (_, second) in pairs.items()},
        "shares": {name: [shares[name][a], shares[name][b]] for name, (a, b) in pairs.items()},
    }
    if vacuous:
        return Finding(_NAMES[1], "unknown", vacuous, numbers)
    if not pairs:
        return Finding(_NAMES[1], "fine", "No factor has a second latent with half the share of the first.", numbers)
    each = listed(
        f"{name} (latent {a}: {percent(shares[name][a])}, latent {b}: {percent(shares[name][b])})"
        for name, (a, b) in pairs.items()
    )
    periodic = f"Check whether {listed(pairs)} is periodic, such as an angle: a Gaussian code needs two latents for it."
    remedies = (depend_less(advice, f"Two latents share {listed(pairs)}"), Remedy("look", periodic))
    return Finding(_NAMES[1], "look", f"Two latents share {each}.", numbers, remedies)


def _mixed(shares: Shares, advice: WeightAdvice, vacuous: str) -> Finding:
    names, mixed = list(shares), dict[int, dict[str, float]]()
    for latent, row in enumerate(zip(*shares.values(), strict=True)):
        if (pair := _top_two(list(row))) is not None:
            mixed[latent] = {names[factor]: row[factor] for factor in pair}
    numbers = {"shares": {str(latent): pair for latent, pair in mixed.items()}}
    if vacuous:
        return Finding(_NAMES[2], "unknown", vacuous, numbers)
    if not mixed:
        return Finding(
            _NAMES[2], "fine", "No latent has a second factor with half the share of its first factor.", numbers
        )
    each = listed(
        f"latent {latent} encodes {listed(f'{name} ({percent(share)})' for name, share in pair.items())}"
        for latent, pair in mixed.items()
    )
    remedies = (
        depend_less(advice, f"Factors are mixed in {latents_named(mixed)}"),
        Remedy("look", "Train several seeds and keep the best; check whether factors are dependent in the data."),
    )
    return Finding(_NAMES[2], "look", f"Factors are mixed: {each}.", numbers, remedies)


def _top_two(row: list[float]) -> tuple[int, int] | None:
    """Returns the indices of the two largest shares, or None if the second is below a limit or half of the first."""
    ranked = sorted(range(len(row)), key=lambda place: -row[place])
    if len(ranked) < 2 or row[ranked[1]] < max(LEAST_SHARE, row[ranked[0]] / 2):
        return None
    return ranked[0], ranked[1]


def joint_accuracy(codes: Codes, labels: Labels, latents: list[int], max_images: int = 4000) -> float:
    """Returns the accuracy of a nearest-neighbor classifier that predicts a factor from the means of these latents.

    The accuracy is rescaled: 0 is the accuracy of always predicting the most frequent value, and 1 is always correct.
    Training and test images are disjoint.
    """
    if not latents or labels.is_soft:
        return 0.0
    seen = replace(codes, factors=(labels,)).with_latents(latents).with_discrete_as_columns()
    known = torch.ones(len(codes), dtype=torch.bool) if labels.known is None else labels.known.cpu()
    rows = known.nonzero()[:max_images, 0]
    means, values = seen.mean.cpu()[rows].double().numpy(), labels.values.cpu()[rows].numpy()
    counts = np.bincount(values)
    if len(rows) < 2 * _NUM_NEIGHBORS or np.count_nonzero(counts) < 2:
        return 0.0
    means = (means - means.mean(axis=0)) / np.maximum(means.std(axis=0), 1e-12)
    shuffled = row_draws.permuted_rows(len(rows), 0, "neighbours of codes").numpy()  # a stream of draws keeps its name
    first, second = np.array_split(np.arange(len(rows)), 2)
    found = cross_val_predict(
        KNeighborsClassifier(_NUM_NEIGHBORS), means[shuffled], values[shuffled], cv=[(first, second), (second, first)]
    )
    guessed = counts.max() / counts.sum()
    return float(max(0.0, ((found == values[shuffled]).mean() - guessed) / (1 - guessed)))
