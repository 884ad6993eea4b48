"""Remedies: advice with an aim, so that a list of remedies has no contradictions or repetitions."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal, final, get_args

import torch

from unbraid.models.distributions.distribution import Posterior
from unbraid.models.distributions.posteriors.latents import Latents
from unbraid.objectives.levers import PENALIZE_TC, Levers, RatePrice
from unbraid.objectives.objective import Objective

OF_CODES = Levers("a smaller weight of the rate", "a larger weight of the rate", PENALIZE_TC)
"""Advice for codes without a known objective."""

Aim = Literal[
    "train again",
    "calibrate",
    "lower price",
    "train longer",
    "use latents",
    "more latents",
    "less rate",
    "keep factors",
    "fix decoder",
    "independence",
    "more rate",
    "look",
]
"""Aims of remedies, the most urgent first.

Three reduce the weight of the rate: "lower price" if it explains that a code has collapsed, "use latents" if latents
are unused, and "less rate" if factors are lost.
"""
_ORDER: tuple[Aim, ...] = get_args(Aim)
_SEVERAL: tuple[Aim, ...] = ("keep factors", "fix decoder", "look")

# A remedy with one of these aims replaces remedies with the listed aims: they would change the same weights, or may not
# be needed after longer training.
_BEFORE: dict[Aim, tuple[Aim, ...]] = {
    "train again": ("train longer", "less rate", "more rate"),
    "train longer": ("less rate", "more rate"),
    "calibrate": ("lower price", "use latents", "less rate", "more rate"),
    "lower price": ("use latents", "less rate", "independence", "more rate"),
    "use latents": ("less rate", "independence", "more rate"),
    "independence": ("less rate", "more rate"),
    "less rate": ("more rate",),
}


@final
@dataclass(frozen=True)
class Remedy:
    """Advice in a sentence, and its aim."""

    aim: Aim
    text: str


def kept_aims(aims: Iterable[Aim]) -> set[Aim]:
    """Returns the aims that no more urgent aim replaces."""
    wanted, kept = set(aims), set[Aim]()
    # Independence of the used latents is more urgent than a weight of the rate that is not ideal.
    for aim in sorted(wanted, key=lambda each: (each in ("less rate", "more rate"), _ORDER.index(each))):
        if not any(aim in _BEFORE.get(other, ()) for other in kept):
            kept.add(aim)
    return kept


def without_conflicts(remedies: Sequence[Sequence[Remedy]]) -> list[tuple[Remedy, ...]]:
    """Returns the remedies of each finding without contradictions and repetitions.

    If all remedies with an aim change the same weight, only the first is kept.
    """
    kept = kept_aims(remedy.aim for each in remedies for remedy in each)
    seen, left = set[object](), list[tuple[Remedy, ...]]()
    for each in remedies:
        own = []
        for remedy in each:
            key = remedy.text if remedy.aim in _SEVERAL else remedy.aim
            if remedy.aim in kept and key not in seen:
                seen.add(key)
                own.append(remedy)
        left.append(tuple(own))
    return left


def by_urgency(remedies: Iterable[Remedy]) -> list[str]:
    """Returns the texts, the most urgent first."""
    return [remedy.text for remedy in sorted(remedies, key=lambda each: _ORDER.index(each.aim))]


def depend_less(levers: Levers, why: str) -> Remedy:
    """Returns the remedy for dependent latents: a weight of the objective if there is one, else other seeds."""
    if not levers.independence:
        return Remedy("look", f"{why}: train several seeds, and keep the one whose latents are most independent.")
    return Remedy("independence", f"{why}. To have latents depend less on each other: {levers.independence}.")


def levers_of(objective: Objective, latents: Latents) -> Levers:
    """Returns the advice of this objective for a model with these latents."""
    levers = objective.levers()
    is_diagonal = _a_posterior(latents).with_true_density().covariance is None
    return replace(levers, independence=levers.independence if latents.num_latents > 1 else "", is_diagonal=is_diagonal)


def rate_price(objective: Objective, latents: Latents) -> RatePrice:
    """Returns the weight of the rate at the end of training, where schedules have their last value."""
    price, posterior = objective.at(torch.tensor(1.0)).rate_price(), _a_posterior(latents)
    if not price.reason and posterior.with_true_density() is not posterior:
        why = "The loss uses the rate of independent latents, but the noise of these is correlated, so it"
        return RatePrice(f"{why} implies no beta.", price.weight)
    return price


def _a_posterior(latents: Latents) -> Posterior:
    return latents.posterior(torch.zeros(1, latents.num_parameters), torch.tensor(1.0))
