"""How a noisy curve ends: what its last tenth brought, and whether that is more than noise."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

import numpy as np
from scipy import stats

FEWEST = 20
"""With fewer numbers no trend is reported."""
# A slope that noise has less often than this is clear.
_BY_CHANCE = 0.001
# A move over the last tenth is next to nothing if it is less than this share of all moves since the first tenth, or
# less than this share of what the curve has come to.
_OF_ALL, _OF_LEVEL = 0.005, 0.0005
# So much of a third lies between the middle of the last third and that of the last tenth.
_TO_THE_END = 0.35
_MOST_ALIKE = 0.9


@final
@dataclass(frozen=True)
class LineTrend:
    """Holds how a curve ended.

    `first`, `before` and `last` are its means over the first tenth, the last but one and the last. `gained` is what it
    fell by over the last tenth: the slope of a line through the last third, made smaller where that third fell more
    slowly than the one before. `moved` is the range of its tenths after the first, and `clarity` the slope in units of
    its standard error, of which `needed` is clear. Tenths that differ by more than `clear_rise` differ by more than
    noise.
    """

    first: float
    before: float
    last: float
    gained: float
    moved: float
    clarity: float
    needed: float
    clear_rise: float

    @property
    def has_slope(self) -> bool:
        """Returns whether the slope is more than noise."""
        return abs(self.clarity) > self.needed

    @property
    def is_falling(self) -> bool:
        return self.has_slope and self.gained > self._next_to_nothing

    @property
    def is_rising(self) -> bool:
        return (self.has_slope and -self.gained > self._next_to_nothing) or self.last - self.before > self.clear_rise

    @property
    def has_risen(self) -> bool:
        """Returns whether it ended higher than it began."""
        return self.last - self.first > self.clear_rise

    @property
    def _next_to_nothing(self) -> float:
        return max(_OF_ALL * self.moved, _OF_LEVEL * abs(self.last))


def trend(steps: Sequence[float], values: Sequence[float]) -> LineTrend | None:
    """Returns how the curve ends; None where it has too few numbers to say."""
    at, curve = np.asarray(steps, dtype=float), np.asarray(values, dtype=float)
    if len(curve) < FEWEST or at[-1] <= at[0]:
        return None
    moments = (at - at[0]) / (at[-1] - at[0])
    thirds = [(moments > 1 / 3) & (moments <= 2 / 3), moments > 2 / 3]
    tenths = [curve[(moments >= n / 10) & ((moments < (n + 1) / 10) | (n == 9))] for n in range(10)]
    if min(part.sum() for part in thirds) < 5 or min(map(len, tenths)) < 1:
        return None
    earlier, later = (_line(moments[part], curve[part]) for part in thirds)
    slowing = min(1.0, later.slope / earlier.slope) if later.slope * earlier.slope > 0 else 1.0
    means = [float(part.mean()) for part in tenths]
    return LineTrend(
        first=means[0],
        before=means[-2],
        last=means[-1],
        gained=-later.slope / 10 * slowing**_TO_THE_END,
        moved=max(means[1:]) - min(means[1:]),
        clarity=later.clarity,
        needed=float(stats.t.isf(_BY_CHANCE, int(thirds[1].sum()) - 2)),
        clear_rise=_clear_rise(moments, curve, means, len(tenths[-1])),
    )


def _clear_rise(moments: np.ndarray, curve: np.ndarray, means: Sequence[float], num_last: int) -> float:
    """Returns how much higher one tenth must be than another to be clearly so.

    The noise is that of the second half without the last tenth, which may be what went wrong.
    """
    half = (moments >= 0.5) & (moments < 0.9)
    noise = _line(moments[half], curve[half]).noise * math.sqrt(2 / num_last)
    clear = float(stats.t.isf(_BY_CHANCE, int(half.sum()) - 2)) * noise
    moved = max(means[1:-1]) - min(means[1:-1])
    return max(clear, _OF_ALL * moved, _OF_LEVEL * abs(means[-2]))


@final
@dataclass(frozen=True)
class _Line:
    slope: float
    noise: float
    clarity: float


def _line(moments: np.ndarray, values: np.ndarray) -> _Line:
    """Returns the line of least squares: its slope, the deviation of the rest, and the slope in standard errors.

    Where the rest is alike from one row to the next, it counts as fewer rows.
    """
    away = moments - moments.mean()
    slope = float(away @ values / (away @ away))
    left = values - values.mean() - slope * away
    total = float(left @ left)
    alike = float(left[1:] @ left[:-1]) / total if total > 0 else 0.0
    alike = min(max(alike, 0.0), _MOST_ALIKE)
    noise = math.sqrt(total / (len(values) - 2) * (1 + alike) / (1 - alike))
    error = noise / math.sqrt(float(away @ away))
    return _Line(slope, noise, slope / error if error > 0 else math.copysign(math.inf, slope) if slope else 0.0)
