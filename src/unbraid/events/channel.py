"""The one channel that events go through: no signature on the way carries a callback."""

import contextlib
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from dataclasses import dataclass, replace
from typing import ParamSpec, TypeVar, final

from unbraid.events.event import Event

Listener = Callable[[Event], None]
"""What hears of events: a function of one."""

_Parameters = ParamSpec("_Parameters")
_Result = TypeVar("_Result")


@final
@dataclass(frozen=True)
class _Channel:
    """Holds the listeners that hear events, and what these are a part of."""

    listeners: tuple[Listener, ...] = ()
    display: Listener | None = None
    within: tuple[Event, ...] = ()


def _nowhere(event: Event) -> None:
    """Shows nothing."""


_SILENCE, _UNHEARD = _Channel(), _Channel(display=_nowhere)
# A context variable and no global: two threads, each with a bar of its own, do not see each other's work.
_channel: ContextVar[_Channel] = ContextVar("channel", default=_SILENCE)


def tell(event: Event) -> None:
    """Gives an event to all who listen: listeners first, in the order in which they came, then what shows it. Of what
    they do themselves nothing is told.
    """
    channel = _channel.get()
    if not channel.listeners and channel.display is None:
        return
    event = replace(event, within=(*channel.within, *event.within)) if channel.within else event
    token = _channel.set(_UNHEARD)
    try:
        for listener in (*channel.listeners, *([channel.display] if channel.display else [])):
            listener(event)
    finally:
        _channel.reset(token)


@contextlib.contextmanager
def listening(*listeners: Listener) -> Iterator[None]:
    """Lets these hear every event inside the block, beside those that listen already."""
    with _changed(listeners=(*_channel.get().listeners, *listeners)):
        yield


@contextlib.contextmanager
def showing(display: Listener | None) -> Iterator[None]:
    """Shows events inside the block here and, since a screen has one last line, nowhere else. None shows nothing.
    Listeners hear all the same.
    """
    with _changed(display=display or _nowhere):
        yield


def is_shown() -> bool:
    """Returns whether events are shown already, or were asked not to be."""
    return _channel.get().display is not None


@contextlib.contextmanager
def part_of(event: Event) -> Iterator[None]:
    """Tells an event, and inside the block every event is a part of it: one of its units."""
    tell(event)
    with _changed(within=(*_channel.get().within, event)):
        yield


def for_thread(work: Callable[_Parameters, _Result]) -> Callable[_Parameters, _Result]:
    """Returns the same work, to be given to another thread, where it is heard by those who hear it here."""
    channel = _channel.get()

    def heard_work(*args: _Parameters.args, **kwargs: _Parameters.kwargs) -> _Result:
        token = _channel.set(channel)
        try:
            return work(*args, **kwargs)
        finally:
            _channel.reset(token)

    return heard_work


@contextlib.contextmanager
def _changed(**changes: object) -> Iterator[None]:
    token = _channel.set(replace(_channel.get(), **changes))  # type: ignore[arg-type]
    try:
        yield
    finally:
        _channel.reset(token)
