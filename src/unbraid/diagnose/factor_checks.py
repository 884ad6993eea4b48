"""Checks of who holds which factor: none, one latent, or two; and latents that hold two factors."""

from collections.abc import Collection, Mapping
from dataclasses import replace

from unbraid._internal.amounts import listed, percent
from unbraid.codes import Codes, Labels
from unbraid.diagnose.diagnosis import Finding
from unbraid.diagnose.levers import OF_CODES, depend_less
from unbraid.diagnose.neighbors import known_together
from unbraid.diagnose.remedies import Remedy
from unbraid.errors import CodesError
from unbraid.metrics import MIG
from unbraid.metrics.chance_shares import (
    above_chance,
    estimator_for,
    factor_shares,
    shares_by_chance,
    varying,
)
from unbraid.metrics.latent_readings import LEAST_SHARE
from unbraid.objectives.levers import Levers

Shares = Mapping[str, list[float]]
"""By factor, the share of its entropy that each latent holds, above the share for shuffled labels."""

_NAMES = ("factors without a latent", "factors of two latents", "latents of two factors")
_NUM_BINS = 10
# Together, latents know a factor if they predict it by so much of the way from guessing to certainty.
_KNOWN_TOGETHER = 0.5
# Where a latent seems to know this share of labels that were shuffled, there are too few images to tell.
_TOO_FEW = 0.5


def diagnose_factors(codes: Codes, used: list[int], levers: Levers = OF_CODES) -> list[Finding]:
    """Returns which factors no latent holds, which two latents share, and which latents hold two."""
    if not codes.factors:
        says = "The factors of these images are not known."
        return [Finding(name, "unknown", says) for name in _NAMES]
    binned = varying(codes.with_binned_factors(_NUM_BINS))
    estimator = estimator_for(binned)
    try:
        mig = MIG(estimator)(binned)
    except CodesError as error:
        return [Finding(name, "unknown", str(error)) for name in _NAMES]
    table, chance = factor_shares(mig), shares_by_chance(binned, estimator)
    places = {name: place for place, name in enumerate(mig.per_factor) if not table[:, place].isnan().any()}
    by_chance = {name: float(chance[:, place].max()) for name, place in places.items()}
    unclear = {name: share for name, share in by_chance.items() if not share < _TOO_FEW}
    if unclear and len(unclear) == len(places):
        return [Finding(name, "unknown", _too_few(unclear), {"by_chance": by_chance}) for name in _NAMES]
    above = above_chance(table, chance)
    shares: dict[str, list[float]] = {
        name: above[:, place].tolist() for name, place in places.items() if name not in unclear
    }
    return [
        replace(
            finding,
            sentence=f"{finding.sentence} {_too_few(unclear)}".strip() if unclear else finding.sentence,
            numbers={**finding.numbers, "by_chance": by_chance},
        )
        for finding in (
            _unheld(binned, shares, used, levers),
            _shared(shares, used, levers),
            _mixed(shares, used, levers),
        )
    ]


def _too_few(unclear: Mapping[str, float]) -> str:
    each = listed(f"{name} ({percent(share)})" for name, share in unclear.items())
    return f"There are too few images to find the latents that hold {each}: shuffled labels seem as informative."


def _unheld(codes: Codes, shares: Shares, used: list[int], levers: Levers) -> Finding:
    best = {name: max(row) for name, row in shares.items()}
    missing = {name: share for name, share in best.items() if share < LEAST_SHARE}
    labels = {each.name: each for each in codes.factors if each.name in missing}
    told = {name: known_together(codes, labels[name], used) for name in missing}
    numbers = {"best_share": best, "best_latent": {name: _best(row) for name, row in shares.items()}, "together": told}
    if not missing:
        lowest = min(best, key=lambda name: best[name], default="")
        least = f"; least of {lowest}, of which the best knows {percent(best[lowest])}" if lowest else ""
        return Finding(_NAMES[0], "fine", f"Every factor has a latent that is informative about it{least}.", numbers)
    if not used:
        says = f"No latent is in use, so {listed(missing)} {_are(missing)} lost."
        return Finding(_NAMES[0], "look", says, numbers)
    in_code = [name for name, share in told.items() if share >= _KNOWN_TOGETHER]
    hidden = {name: by for name in in_code if (by := _by_its_mean(codes, labels[name], used)) is not None}
    spread = [name for name in in_code if name not in hidden]
    absent = [name for name in missing if name not in in_code]
    each = listed(f"{name} (the best latent knows {percent(share)} of it)" for name, share in missing.items())
    says, remedies = f"No latent holds {each}.", list[Remedy]()
    for name, latent in hidden.items():
        says += f" The mean of latent {latent} predicts {name}, but its noise is too wide to tell."
    if spread:
        says += f" All latents together predict {listed(spread)}, so {_they(spread)} in the code but spread over them."
        remedies.append(depend_less(levers, f"{_start(spread)} {_are(spread)} spread over latents"))
    if absent:
        joint = "all latents together" if len(used) > 1 else f"the mean of latent {used[0]}"
        says += f" Nor {'do' if len(used) > 1 else 'does'} {joint} predict {listed(absent)}: {_they(absent)} lost."
        text = f"{_start(absent)} {_are(absent)} lost: try a larger net, and see whether reconstructions show"
        remedies.append(Remedy("keep factors", f"{text} {'it' if len(absent) == 1 else 'them'}."))
    if absent or hidden:
        text = f"To have {listed([*hidden, *absent])} in the code: {levers.less_rate}."
        remedies.append(Remedy("less rate", text))
    return Finding(_NAMES[0], "look", says, numbers, tuple(remedies))


def _by_its_mean(codes: Codes, labels: Labels, used: list[int]) -> int | None:
    """Returns the latent whose mean alone predicts a factor, if there is one."""
    alone = {latent: known_together(codes, labels, [latent]) for latent in used}
    best = max(alone, key=lambda latent: alone[latent])
    return best if alone[best] >= _KNOWN_TOGETHER else None


def _they(names: Collection[str]) -> str:
    return "it is" if len(names) == 1 else "they are"


def _are(names: Collection[str]) -> str:
    return "is" if len(names) == 1 else "are"


def _start(names: Collection[str]) -> str:
    """Returns names at the beginning of a sentence. They are as they are written in the data."""
    return f"The factor{'s' if len(names) > 1 else ''} {listed(names)}"


def _vacuous(shares: Shares, used: list[int]) -> str:
    """Returns why nothing can be shared or mixed; an empty text if it can."""
    if not used:
        return "No latent is in use."
    if not any(share >= LEAST_SHARE for row in shares.values() for share in row):
        return "No latent holds a factor."
    return ""


def _shared(shares: Shares, used: list[int], levers: Levers) -> Finding:
    pairs = {name: top for name, row in shares.items() if (top := _top_two(row)) is not None}
    numbers = {
        "second_latent": {name: second for name, (_, second) in pairs.items()},
        "shares": {name: [shares[name][a], shares[name][b]] for name, (a, b) in pairs.items()},
    }
    if why := _vacuous(shares, used) or ("Only one latent is in use." if len(used) == 1 else ""):
        return Finding(_NAMES[1], "unknown", why, numbers)
    if not pairs:
        return Finding(_NAMES[1], "fine", "For no factor is a second latent half as informative as the first.", numbers)
    each = listed(
        f"{name} (latent {a}: {percent(shares[name][a])}, latent {b}: {percent(shares[name][b])})"
        for name, (a, b) in pairs.items()
    )
    remedies = (
        depend_less(levers, f"{_start(pairs)} {_are(pairs)} in two latents"),
        Remedy(
            "look",
            f"See whether {listed(pairs)} {'goes' if len(pairs) == 1 else 'go'} round, as angles do: then two latents "
            "are what a Gaussian code needs.",
        ),
    )
    return Finding(_NAMES[1], "look", f"Two latents share {each}.", numbers, remedies)


def _mixed(shares: Shares, used: list[int], levers: Levers) -> Finding:
    names, mixed = list(shares), dict[int, dict[str, float]]()
    for latent, row in enumerate(zip(*shares.values(), strict=True)):
        if (pair := _top_two(list(row))) is not None:
            mixed[latent] = {names[factor]: row[factor] for factor in pair}
    numbers = {"shares": {str(latent): pair for latent, pair in mixed.items()}}
    if why := _vacuous(shares, used) or (f"Only {names[0]} varies." if len(names) == 1 else ""):
        return Finding(_NAMES[2], "unknown", why, numbers)
    if not mixed:
        return Finding(_NAMES[2], "fine", "No latent tells a second factor half as well as its first.", numbers)
    each = listed(
        f"latent {latent} tells {listed(f'{name} ({percent(share)})' for name, share in pair.items())}"
        for latent, pair in mixed.items()
    )
    remedies = (
        depend_less(levers, f"{_latents(mixed)} mix{'es' if len(mixed) == 1 else ''} factors"),
        Remedy("look", "Train several seeds and keep the best; see whether factors depend on each other in the data."),
    )
    return Finding(_NAMES[2], "look", f"Factors are mixed: {each}.", numbers, remedies)


def _latents(latents: Collection[int]) -> str:
    return f"Latent{'s' if len(latents) > 1 else ''} {listed(latents)}"


def _best(row: list[float]) -> int:
    return max(range(len(row)), key=lambda latent: row[latent])


def _top_two(row: list[float]) -> tuple[int, int] | None:
    """Returns the places of the largest two numbers, if the second is at least half of the first, and enough."""
    ranked = sorted(range(len(row)), key=lambda place: -row[place])
    if len(ranked) < 2 or row[ranked[1]] < max(LEAST_SHARE, row[ranked[0]] / 2):
        return None
    return ranked[0], ranked[1]
