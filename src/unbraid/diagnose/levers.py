"""The levers of an objective for a model, and the remedies made of them."""

from dataclasses import replace

import torch

from unbraid.diagnose.remedies import Remedy
from unbraid.models.distributions.posteriors.latents import Latents
from unbraid.models.distributions.posteriors.posterior import Posterior
from unbraid.objectives.levers import PENALIZE_TC, Levers, RatePrice
from unbraid.objectives.objective import Objective

OF_CODES = Levers("a smaller weight of the rate", "a larger weight of the rate", PENALIZE_TC)
"""Those of a model that nothing is known of."""


def depend_less(levers: Levers, why: str) -> Remedy:
    """Returns the remedy for latents that depend on each other; without such a lever, other seeds remain."""
    if not levers.independence:
        return Remedy("look", f"{why}: train several seeds, and keep the one whose latents are most independent.")
    return Remedy("independence", f"{why}. To have latents depend less on each other: {levers.independence}.")


def levers_of(objective: Objective, latents: Latents) -> Levers:
    """Returns the levers of this objective for a model with these latents."""
    levers = objective.levers()
    is_diagonal = _a_posterior(latents).with_true_density().covariance is None
    return replace(levers, independence=levers.independence if latents.num_latents > 1 else "", is_diagonal=is_diagonal)


def rate_price(objective: Objective, latents: Latents) -> RatePrice:
    """Returns the price of the rate at the end of training, when schedules are where they end."""
    price, posterior = objective.at(torch.tensor(1.0)).rate_price(), _a_posterior(latents)
    if not price.reason and posterior.with_true_density() is not posterior:
        why = "The loss takes the rate of independent latents, and the noise of these is correlated, so it"
        return RatePrice(f"{why} implies no beta.", price.weight)
    return price


def _a_posterior(latents: Latents) -> Posterior:
    return latents.posterior(torch.zeros(1, latents.num_parameters), torch.tensor(1.0))
