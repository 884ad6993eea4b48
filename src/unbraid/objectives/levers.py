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
    """Advice on the weights of an objective; empty where there is none.

    `less_rate` has more latents used, `more_rate` fewer, and `independence` has latents depend less on each other.
    `is_diagonal` is False where the noise of latents is correlated.
    """

    less_rate: str = ""
    more_rate: str = ""
    independence: str = ""
    is_diagonal: bool = True


@final
@dataclass(frozen=True)
class RatePrice:
    """The weight of the rate in a loss.

    With a `reason`, the loss implies no beta. `parts` lists the weights of the parts of the rate, where they differ.
    """

    reason: str = ""
    weight: float | None = None
    parts: str = ""

    @classmethod
    def beside(cls, what: str, weight: float) -> "RatePrice":
        """Returns the price in a loss that also penalizes something else."""
        own = f"The rate itself has the weight {short(weight)}."
        return cls(f"This objective also penalizes {what}, so its loss implies no beta. {own}", weight)


def smaller(objective: Any, name: str) -> str:
    """Suggests a smaller weight, or a warm-up. A weight that is not above 0 keeps no latent from being used."""
    value = getattr(objective, name)
    if isinstance(value, Schedule):
        return moved(objective, name, 0.25)
    return f"{moved(objective, name, 0.25)}, or a warm-up of it ({name}=linear:0:{value:g})" if value > 0 else NO_WEIGHT


def moved(objective: Any, name: str, times: float, of: str = "") -> str:
    """Suggests to multiply a weight; `of` describes what it weighs. One that is not above 0 can only be larger."""
    value, word = getattr(objective, name), "larger" if times > 1 else "smaller"
    called = f"{name} {of}".rstrip()
    if isinstance(value, Schedule):
        return f"a {word} {called} ({short(times)} times its schedule)"
    if value <= 0:
        return f"a {called} above 0" if times > 1 else ""
    return f"a {word} {called} ({short(times * value)} instead of {short(value)})"
