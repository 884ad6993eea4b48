"""Round numbers for axes."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import final


@final
@dataclass(frozen=True)
class Axis:
    """A scale with round numbers, its `ticks`. It ends on the first and the last of them, or at `ends`."""

    ticks: tuple[float, ...]
    ends: tuple[float, float] | None = None

    @classmethod
    def over(cls, values: Sequence[float], *, steps: int = 4) -> "Axis":
        """Returns the shortest axis of about this many round steps that holds all values.

        A step is 1, 2, 2.5 or 5 times a power of ten.

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

    @classmethod
    def until(cls, last: float, *, steps: int = 4) -> "Axis":
        """Returns an axis from 0 that ends where the values do, with a tick there instead of one that is near."""
        step = round_step(last / steps)
        round_numbers = [round(step * k, 12) for k in range(math.ceil(last / step))]
        ticks = [tick for tick in round_numbers if last - tick > 0.4 * step]
        return cls((*ticks, last), (0.0, last))

    def share(self, value: float) -> float:
        """Returns where the value lies: 0 at the beginning of the axis, 1 at its end."""
        low, high = self.ends or (self.ticks[0], self.ticks[-1])
        return (value - low) / (high - low)


def tick_text(value: float) -> str:
    """Returns the number as text: `1000` is "1k", `-0.5` is "−0.5"."""
    text = f"{value / 1000:g}k" if abs(value) >= 1000 else f"{value:g}"
    return text.replace("-", "−")


def round_step(rough: float) -> float:
    """Returns the least of 1, 2, 2.5 and 5 times a power of ten that is not below this."""
    power = 10.0 ** math.floor(math.log10(rough))
    return power * next(multiple for multiple in (1, 2, 2.5, 5, 10) if rough <= multiple * power * (1 + 1e-9))
