"""Round numbers for axes."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import final


@final
@dataclass(frozen=True)
class Axis:
    """A scale that ends on round numbers, which are its `ticks`."""

    ticks: tuple[float, ...]

    @classmethod
    def over(cls, values: Sequence[float], *, steps: int = 4) -> "Axis":
        """Returns the shortest axis of about this many steps of 1, 2, 2.5 or 5 times a power of ten that holds all
        values.

        It begins at zero where that costs little: where the least value is below a third of the greatest.
        """
        low, high = min(values), max(values)
        if 0 < low < high / 3:
            low = 0.0
        if high - low <= 1e-9 * max(abs(low), abs(high)):
            low, high = low - (abs(low) / 10 or 0.5), high + (abs(high) / 10 or 0.5)
        step = round_step((high - low) / steps)
        first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
        return cls(tuple(round(step * k, 12) for k in range(first, last + 1)))

    def share(self, value: float) -> float:
        """Returns where the value lies: 0 at the first tick, 1 at the last."""
        return (value - self.ticks[0]) / (self.ticks[-1] - self.ticks[0])


def tick_text(value: float) -> str:
    """Returns the number as text: `1000` is "1k", `-0.5` is "−0.5"."""
    text = f"{value / 1000:g}k" if abs(value) >= 1000 else f"{value:g}"
    return text.replace("-", "−")


def round_step(rough: float) -> float:
    """Returns the least of 1, 2, 2.5 and 5 times a power of ten that is not below this."""
    power = 10.0 ** math.floor(math.log10(rough))
    return power * next(multiple for multiple in (1, 2, 2.5, 5, 10) if rough <= multiple * power * (1 + 1e-9))
