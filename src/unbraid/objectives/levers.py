"""Advice on the weights of an objective, and the weight of the rate in its loss."""

from dataclasses import dataclass
from typing import Any, final

from unbraid._internal.amounts import short
from unbraid.config.schedule import Schedule

PENALIZE_TC = "BetaTCVAE or FactorVAE, which penalize the total correlation"
NO_WEIGHT = "longer training (the rate costs nothing already)"


@final
@dataclass(frozen=True)
class Levers:
    """Advice on the weights of an objective; empty strings for no advice.

    `less_rate` is advice to use more latents, `more_rate` to use fewer, and `independence` to make latents less
    dependent. `is_diagonal` is False where the noise of latents is correlated.
    """

    less_rate: str = ""
    more_rate: str = ""
    independence: str = ""
    is_diagonal: bool = True


@final
@dataclass(frozen=True)
class RatePrice:
    """The weight of the rate in a loss.

    With a `reason`, the loss implies no beta. `parts` lists the weights of the terms of the rate, if they differ.
    """

    reason: str = ""
    weight: float | None = None
    parts: str = ""

    @classmethod
    def beside(cls, what: str, weight: float) -> "RatePrice":
        """Returns the price for a loss that also penalizes `what`."""
        own = f"The rate itself has the weight {short(weight)}."
        return cls(f"This objective also penalizes {what}, so its loss implies no beta. {own}", weight)


def smaller(objective: Any, name: str) -> str:
    """Suggests a smaller weight or a warm-up, unless the weight is 0 or negative."""
    value = getattr(objective, name)
    if isinstance(value, Schedule):
        return moved(objective, name, 0.25)
    return f"{moved(objective, name, 0.25)}, or a warm-up of it ({name}=linear:0:{value:g})" if value > 0 else NO_WEIGHT


def moved(objective: Any, name: str, times: float, of: str = "") -> str:
    """Suggests to multiply a weight; `of` describes its term. Weights of 0 or less can only be increased."""
    value, word = getattr(objective, name), "larger" if times > 1 else "smaller"
    called = f"{name} {of}".rstrip()
    if isinstance(value, Schedule):
        return f"a {word} {called} ({short(times)} times its schedule)"
    if value <= 0:
        return f"a {called} above 0" if times > 1 else ""
    return f"a {word} {called} ({short(times * value)} instead of {short(value)})"
