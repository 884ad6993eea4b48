"""Which weights of an objective to move, in words, and what a loss tells of the price of its rate."""

from dataclasses import dataclass
from typing import final

import torch

from unbraid.diagnosis.remedies import Remedy
from unbraid.diagnosis.words import listed, short
from unbraid.distributions.posteriors.latents import Latents
from unbraid.distributions.posteriors.posterior import Posterior
from unbraid.objectives import (
    AAE,
    DIPVAE,
    HFVAE,
    VAE,
    AnchorVAE,
    AnnealedVAE,
    BetaSVAE,
    BetaTCVAE,
    BetaVAE,
    Composite,
    DecomposedELBO,
    FactorVAE,
    InfoGAN,
    InformationDropout,
    InfoVAE,
    Objective,
)
from unbraid.schedule import Schedule

_PENALISE_TC = "BetaTCVAE or FactorVAE, which penalise the total correlation"
_NO_WEIGHT = "longer training (the rate costs nothing already)"
_PARTS = {
    "mutual_information": "mutual information",
    "total_correlation": "total correlation",
    "total_correlation_within": "total correlation within groups",
    "dimension_wise_kl": "dimension-wise KL",
}


@final
@dataclass(frozen=True)
class Levers:
    """Says in words how to weigh the rate less (so that more latents are used) or more, and how to ask for latents that
    depend less on each other; with an empty text where there is no such way. `is_diagonal` says whether the noise of a
    posterior is independent between latents.
    """

    less_rate: str = ""
    more_rate: str = ""
    independence: str = ""
    is_diagonal: bool = True


OF_CODES = Levers("a smaller weight of the rate", "a larger weight of the rate", _PENALISE_TC)
"""Those of a model of which nothing is known."""


def depend_less(levers: Levers, why: str) -> Remedy:
    """Returns the remedy for latents that depend on each other; without such a lever, other seeds are what is left."""
    if not levers.independence:
        return Remedy("look", f"{why}: train several seeds, and keep the one whose latents are most independent.")
    return Remedy("independence", f"{why}. To have latents depend less on each other: {levers.independence}.")


def levers_of(objective: Objective, latents: Latents) -> Levers:
    """Returns what can be moved in this objective, for a model with these latents."""
    less, more, independence = _levers(objective)
    is_diagonal = _a_posterior(latents).with_true_density().covariance is None
    return Levers(less, more, independence if latents.num_latents > 1 else "", is_diagonal)


def _levers(objective: Objective) -> tuple[str, str, str]:
    """Returns what weighs the rate less, what weighs it more, and what asks for independent latents."""
    match objective:
        case VAE():
            below = "BetaVAE with a beta below 1, such as 0.25, or with a warm-up (beta=linear:0:1)"
            return below, "BetaVAE with a beta above 1, such as 4", _PENALISE_TC
        case BetaVAE() | BetaSVAE():
            return _less(objective, "beta"), _moved(objective, "beta", 2), _PENALISE_TC
        case BetaTCVAE() | HFVAE():
            return _less(objective, "beta"), "", _moved(objective, "beta", 2)
        case InformationDropout():
            return _less(objective, "beta"), _moved(objective, "beta", 2), _moved(objective, "gamma", 2)
        case DecomposedELBO() | Composite():
            return _of_parts(objective)
    return _beyond_the_elbo(objective)


def _beyond_the_elbo(objective: Objective) -> tuple[str, str, str]:
    match objective:
        case FactorVAE():
            return _less(objective, "gamma"), "", _moved(objective, "gamma", 2)
        case AnnealedVAE():
            return _moved(objective, "capacity", 2), _moved(objective, "capacity", 0.5), _PENALISE_TC
        case DIPVAE():
            less = "Composite with the same covariance and a rate below 1, such as 0.25 (DIPVAE has no weight of it)"
            return less, "", _moved(objective, "off_diagonal", 2)
        case AnchorVAE():
            return _moved(objective, "weight", 2, "of what anchors tell"), "", _PENALISE_TC
        case InfoVAE():
            nearer = "an alpha nearer to 1, which leaves more of the rate out"
            less = _NO_WEIGHT if objective.alpha == 1 else nearer
            return less, "", _moved(objective, "weight", 2, "of the MMD")
        case AAE():
            what = "of passing for draws from the prior"
            return _moved(objective, "weight", 0.25, what), "", _moved(objective, "weight", 2, what)
        case InfoGAN():
            return _moved(objective, "weight", 4, "of reading codes back"), "", ""
    return "a smaller weight of what the objective asks of codes", "", ""


def _of_parts(objective: DecomposedELBO | Composite) -> tuple[str, str, str]:
    name = "mutual_information" if objective.rate == 0 else "rate"
    less, more = _less(objective, name), _moved(objective, name, 2)
    if isinstance(objective, Composite) and objective.capacity is not None and objective.rate == 0:
        less, more = _moved(objective, "capacity", 2), _moved(objective, "capacity", 0.5)
    if isinstance(objective, Composite) and objective.critic:
        independence = "critic_total_correlation"
    elif isinstance(objective, Composite) and objective.covariance is not None:
        independence = "off_diagonal"
    else:
        independence = "total_correlation"
    return less, more, _moved(objective, independence, 2)


def _less(objective: Objective, name: str) -> str:
    """Returns that a weight should be smaller, and that it may grow over training if it does not yet. One that is not
    above 0 keeps no latent from being used.
    """
    value = getattr(objective, name)
    if isinstance(value, Schedule):
        return _moved(objective, name, 0.25)
    if value <= 0:
        return _NO_WEIGHT
    return f"{_moved(objective, name, 0.25)}, or a warm-up of it ({name}=linear:0:{value:g})"


def _moved(objective: Objective, name: str, times: float, of: str = "") -> str:
    """Returns that a weight should be so many times what it is; `of` says what it weighs, where its name does not. One
    that is not above 0 can only be larger.
    """
    value, word = getattr(objective, name), "larger" if times > 1 else "smaller"
    called = f"{name} {of}".rstrip()
    if isinstance(value, Schedule):
        return f"a {word} {called} ({short(times)} times its schedule)"
    if value <= 0:
        return f"a {called} above 0" if times > 1 else ""
    return f"a {word} {called} ({short(times * value)} in place of {short(value)})"


@final
@dataclass(frozen=True)
class RatePrice:
    """Says what the loss of an objective tells of the price of a nat of rate. With a `reason` it tells nothing, and
    `weight` is that of the rate in its formula, if it has one. `parts` are the weights of the parts of the rate, in
    words, where they are weighed one by one.
    """

    reason: str = ""
    weight: float | None = None
    parts: str = ""


def rate_price(objective: Objective, latents: Latents) -> RatePrice:
    """Returns what the loss tells at the end of training, when schedules are where they end."""
    ended = objective.at(torch.tensor(1.0))
    price = _price(ended)
    if not price.reason and _counts_as_independent(latents):
        why = "The loss takes the rate of independent latents, and the noise of these is correlated, so it"
        return RatePrice(f"{why} says nothing of a beta.", price.weight)
    return price


def _price(objective: Objective) -> RatePrice:
    general = objective.general()
    match general:
        case DecomposedELBO():
            return _price_of_parts(general)
        case AAE() | InfoGAN():
            return RatePrice("This objective has no rate, so there is no beta to tell.")
        case AnnealedVAE():
            held = f"penalises how far the rate is from a capacity ({short(_number(general.capacity))} nats at the end)"
            return RatePrice(f"This objective {held}, so its loss says nothing of a beta.")
        case DIPVAE():
            return _besides("the covariances of the latents", 1.0)
        case FactorVAE():
            return _besides("the total correlation that a critic tells", 1.0)
        case AnchorVAE():
            return _besides("anchors that say little of the image", 1.0)
        case InfoVAE():
            return _besides("the distance of all codes together from the prior (MMD)", 1 - _number(general.alpha))
        case Composite():
            others = _others(general)
            return _besides(listed(others), _number(general.rate)) if others else _price_of_parts(general)
    return RatePrice()


def _besides(what: str, weight: float) -> RatePrice:
    own = f"The rate itself has the weight {short(weight)}."
    return RatePrice(f"This objective also penalises {what}, so its loss says nothing of a beta. {own}", weight)


def _price_of_parts(objective: DecomposedELBO | Composite) -> RatePrice:
    rate = _number(objective.rate)
    weights = {name: rate + _number(getattr(objective, name)) for name in _PARTS}
    if objective.groups == "each":
        del weights["total_correlation_within"]
    if max(weights.values()) - min(weights.values()) < 1e-9:  # sums of weights have errors of rounding
        return RatePrice(weight=max(weights.values()))
    return RatePrice(parts=listed(f"{_PARTS[name]} {short(weight)}" for name, weight in weights.items()))


def _others(objective: Composite) -> list[str]:
    asked = {
        "anchors that say little of the image": objective.anchors != (),
        "how far the rate is from a capacity": objective.capacity is not None,
        "the covariances of the latents": objective.covariance is not None,
        "the total correlation that a critic tells": objective.critic,
    }
    return [words for words, is_there in asked.items() if is_there]


def _number(weight: object) -> float:
    """Returns a weight that `at` has made a number."""
    assert isinstance(weight, float | int)
    return float(weight)


def _counts_as_independent(latents: Latents) -> bool:
    """Returns whether the loss takes correlated noise for independent."""
    posterior = _a_posterior(latents)
    return posterior.with_true_density() is not posterior


def _a_posterior(latents: Latents) -> Posterior:
    return latents.posterior(torch.zeros(1, latents.num_parameters), torch.tensor(1.0))
