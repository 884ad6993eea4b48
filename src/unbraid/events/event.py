"""What long work tells those who listen: one type for data, training, scoring and whatever is made of them."""

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from math import isfinite
from statistics import median
from typing import final

from unbraid.amounts import amount_text, capitalised, duration


@final
@dataclass(frozen=True)
class Event:
    """Says how far a piece of work is: `done` of `total` (0 if that is not known), counted in `unit`.

    `about` names the work, `text` says what else there is to say. Events are plain numbers and words, so that they can
    be kept, sent and printed: `str(event)` is one line.
    """

    about: str
    done: int = 0
    total: int = 0
    unit: str = ""
    text: str = ""
    _: KW_ONLY
    runs: tuple[str, ...] = ()
    """The names of the runs that it is about, if any."""
    values: Mapping[str, Sequence[float]] = field(default_factory=dict)
    """Numbers by name, one for each of the runs: the loss and its parts. Those of a run that has failed are NaN."""
    per_second: float = 0.0
    """How many units are done in a second; 0 until that was measured."""
    seconds_left: float | None = None
    """None where the work does not say; infinite until it was measured."""
    within: tuple["Event", ...] = ()
    """The work that this is a part of, the outermost first. `part_of` fills it in."""

    @property
    def is_over(self) -> bool:
        return 0 < self.total <= self.done

    @property
    def share(self) -> float:
        """Returns how much is done of the outermost work, from 0 to 1: what is inside counts as one unit of what is
        around it.
        """
        share = 0.0
        for event in (self, *reversed(self.within)):
            share = min(1.0, (event.done + share) / event.total) if event.total else 0.0
        return share

    @property
    def amount(self) -> str:
        """Returns for instance "12,000 of 202,599 images"; nothing where nothing is counted."""
        return amount_text(self.done, self.total, self.unit) if self.unit else ""

    @property
    def pace(self) -> str:
        """Returns how fast the work goes, how long it still takes and what else is to be said, as far as is known."""
        speed = f"{self.per_second:.3g} {self.unit}/s" if self.per_second > 0 else ""
        is_known = self.seconds_left is not None and isfinite(self.seconds_left) and self.seconds_left > 0
        left = f"{duration(self.seconds_left)} left" if is_known and self.seconds_left is not None else ""
        return ", ".join(words for words in (speed, left, self.text) if words)

    @property
    def means(self) -> dict[str, float]:
        """Returns the median over runs of each of the values, leaving out those that are not finite."""
        finite = {name: [value for value in values if isfinite(value)] for name, values in self.values.items()}
        return {name: median(values) for name, values in finite.items() if values}

    def __str__(self) -> str:
        return "; ".join(event._alone() for event in (*self.within, self))

    def _alone(self) -> str:
        runs = {0: "", 1: f" ({', '.join(self.runs)})"}.get(len(self.runs), f" ({len(self.runs)} runs)")
        numbers = ", ".join(f"{name.replace('_', ' ')} {value:z.4g}" for name, value in self.means.items())
        details = ", ".join(words for words in (self.amount, self.pace, numbers) if words)
        return capitalised(self.about) + runs + (f": {details}" if details else "")
