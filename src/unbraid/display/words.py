"""An event in the few words that one line has room for."""

from unbraid.events import Event


def outermost(event: Event) -> Event:
    """Returns the work that the event is a part of, or the event itself."""
    return event.within[0] if event.within else event


def detail(event: Event) -> str:
    """Returns what stands beside the name of the outermost work: where in it the event is, how much is done, how fast,
    and the loss.
    """
    names = [each.text or each.about for each in (*event.within, event)] if event.within else []
    speed = f"{event.per_second:.3g} {event.unit}/s" if event.per_second > 0 else ""
    text = "" if event.within else event.text
    loss = [f"{name} {value:z.1f}" for name, value in event.means.items()][:1]
    return ", ".join(words for words in (": ".join(names), event.amount, speed, text, *loss) if words)
