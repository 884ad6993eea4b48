"""Progress of long work: events, which go to the callbacks of `watch=` and to one display."""

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import KW_ONLY, dataclass, field, replace
from math import isfinite
from statistics import median
from typing import Any, final

from unbraid._internal.amounts import amount_text, capitalised, duration


@final
@dataclass(frozen=True)
class Event:
    """How far a piece of work is: `done` of `total` units, where a total of 0 is unknown. `str(event)` is one line.

    `values` are numbers by name, one for each of the `runs`: the loss and its parts, NaN for a run that has failed.
    `within` is the work that this is a part of, the outermost first; `part_of` fills it in.
    """

    about: str
    done: int = 0
    total: int = 0
    unit: str = ""
    text: str = ""
    _: KW_ONLY
    runs: tuple[str, ...] = ()
    values: Mapping[str, Sequence[float]] = field(default_factory=dict)
    per_second: float = 0.0
    seconds_left: float | None = None
    within: tuple["Event", ...] = ()

    @property
    def outermost(self) -> "Event":
        return self.within[0] if self.within else self

    @property
    def is_over(self) -> bool:
        return 0 < self.total <= self.done

    @property
    def share(self) -> float:
        """The share of the outermost work that is done, from 0 to 1. What is inside counts as one unit of it."""
        share = 0.0
        for event in (self, *reversed(self.within)):
            share = min(1.0, (event.done + share) / event.total) if event.total else 0.0
        return share

    @property
    def pace(self) -> str:
        speed = f"{self.per_second:.3g} {self.unit}/s" if self.per_second > 0 else ""
        left = self.seconds_left or 0.0
        return _joined(speed, f"{duration(left)} left" if 0 < left < float("inf") else "")

    @property
    def medians(self) -> dict[str, float]:
        """The median over runs of each of the values, without those that are not finite."""
        finite = {name: [value for value in values if isfinite(value)] for name, values in self.values.items()}
        return {name: median(values) for name, values in finite.items() if values}

    @property
    def summary(self) -> str:
        """What fits beside the name of the outermost work: where in it this is, how much, how fast, and the loss."""
        where = ": ".join(each.text or each.about for each in (*self.within, self)) if self.within else ""
        loss = [f"{name} {value:z.1f}" for name, value in self.medians.items()][:1]
        return _joined(where, self._amount, self.pace, "" if self.within else self.text, *loss)

    def __str__(self) -> str:
        return "; ".join(event._alone() for event in (*self.within, self))

    @property
    def _amount(self) -> str:
        return amount_text(self.done, self.total, self.unit) if self.unit else ""

    def _alone(self) -> str:
        runs = {0: "", 1: f" ({', '.join(self.runs)})"}.get(len(self.runs), f" ({len(self.runs)} runs)")
        numbers = (f"{name.replace('_', ' ')} {value:z.4g}" for name, value in self.medians.items())
        details = _joined(self._amount, self.pace, self.text, *numbers)
        return capitalised(self.about) + runs + (f": {details}" if details else "")


Listener = Callable[[Event], None]

# Context variables, so that two threads with a bar each do not show each other's work.
_listeners: ContextVar[tuple[Listener, ...]] = ContextVar("listeners", default=())
_display: ContextVar[Listener | None] = ContextVar("display", default=None)
_within: ContextVar[tuple[Event, ...]] = ContextVar("within", default=())


def emit(event: Event) -> None:
    """Passes an event to all callbacks, then to the display. Events that these emit themselves are dropped."""
    display = _display.get()
    called = (*_listeners.get(), *([display] if display else []))
    if not called:
        return
    event = replace(event, within=(*_within.get(), *event.within))
    with _set(_listeners, ()), showing(None):
        for listener in called:
            listener(event)


def listening(*listeners: Listener | None) -> contextlib.AbstractContextManager[None]:
    """Calls these with every event inside the block."""
    return _set(_listeners, (*_listeners.get(), *(each for each in listeners if each is not None)))


def showing(display: Listener | None) -> contextlib.AbstractContextManager[None]:
    """Shows events inside the block with this display in place of any other; None shows nothing."""
    return _set(_display, display or (lambda event: None))


def is_shown() -> bool:
    """Returns whether there is a display already, or none is wanted."""
    return _display.get() is not None


@contextlib.contextmanager
def part_of(event: Event) -> Iterator[None]:
    """Emits an event, and makes events inside the block parts of it: one of its units."""
    emit(event)
    with _set(_within, (*_within.get(), event)):
        yield


@contextlib.contextmanager
def _set(variable: ContextVar[Any], value: Any) -> Iterator[None]:
    token = variable.set(value)
    try:
        yield
    finally:
        variable.reset(token)


def _joined(*texts: str) -> str:
    return ", ".join(text for text in texts if text)
