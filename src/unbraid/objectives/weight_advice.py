"""Advice on the weights of an objective, and the weight of the rate in its loss."""

from dataclasses import dataclass
from typing import Any, final

from unbraid._internal.amounts import short
from unbraid.config.schedule import Schedule

PENALIZE_TC = "BetaTCVAE or FactorVAE, which penalize the total correlation"
NO_WEIGHT = "longer training (the rate costs nothing already)"


@final
@dataclass(frozen=True)
class WeightAdvice:
    """Advice on the weights of an objective. An empty string means no advice.

    `less_rate` advises on using more latents, `more_rate` on using fewer latents, and `independence` on making latents
    less dependent. `is_diagonal` is False if the noise of latents is correlated.
    """

    less_rate: str = ""
    more_rate: str = ""
    independence: str = ""
    is_diagonal: bool = True


@final
@dataclass(frozen=True)
class RateWeight:
    """Weight of the rate in a loss.

    `reason` explains why the loss implies no beta; it is empty otherwise. `parts` lists the weights of the terms of the
    rate if the weights differ.
    """

    reason: str = ""
    weight: float | None = None
    parts: str = ""

    @classmethod
    def beside(cls, others: str, weight: float) -> "RateWeight":
        """Returns the weight of the rate in a loss that also penalizes other terms, `others`."""
        own = f"The weight of the rate is {short(weight)}."
        return cls(f"This objective also penalizes {others}, so its loss implies no beta. {own}", weight)


def suggest_less(objective: Any, name: str) -> str:
    """Returns advice to reduce a weight or to use a warm-up, unless the weight is 0 or negative."""
    value = getattr(objective, name)
    if isinstance(value, Schedule):
        return suggest(objective, name, 0.25)
    return (
        f"{suggest(objective, name, 0.25)}, or a warm-up of it ({name}=linear:0:{value:g})" if value > 0 else NO_WEIGHT
    )


def suggest(objective: Any, name: str, times: float, of: str = "") -> str:
    """Returns advice to multiply a weight by `times`; `of` describes the term of the weight.

    The advice for weights of 0 or less is a positive weight if `times` is above 1, and empty otherwise.
    """
    value, word = getattr(objective, name), "larger" if times > 1 else "smaller"
    called = f"{name} {of}".rstrip()
    if isinstance(value, Schedule):
        return f"a {word} {called} ({short(times)} times its schedule)"
    if value <= 0:
        return f"a {called} above 0" if times > 1 else ""
    return f"a {word} {called} ({short(times * value)} instead of {short(value)})"
