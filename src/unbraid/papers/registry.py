"""Every paper and every item by its id."""

import functools
import importlib
from collections.abc import Iterable

from unbraid.errors import SpecError
from unbraid.names import suggestion
from unbraid.papers.item import Item, Paper

# Of papers and of their modules, in the order of pages.
_NAMES = ("chen2018", "kumar2017", "split2020", "esmaeili2018", "do2020")


@functools.cache
def paper(name: str) -> Paper:
    """Returns the paper of this id. No other is imported."""
    found: Paper = importlib.import_module(f"unbraid.papers.{name}").PAPER
    return found


def papers() -> dict[str, Paper]:
    """Returns every paper by its id."""
    return {name: paper(name) for name in _NAMES}


def items() -> dict[str, Item]:
    """Returns every item by its id, paper after paper."""
    return {item.id: item for each in papers().values() for item in each.items}


def find_items(names: Iterable[str]) -> list[Item]:
    """Returns the items of these names, each once: the id of an item, or that of a paper, which is all of it. Papers
    that are not named are not imported.
    """
    found: dict[str, Item] = {}
    for name in names:
        of = name.partition("/")[0]
        known = {item.id: item for item in paper(of).items} if of in _NAMES else {}
        if name in known:
            found[name] = known[name]
        elif name == of and known:
            found |= known
        else:
            raise SpecError(f"There is no paper or item {name!r}. {suggestion(name, [*_NAMES, *items()])}")
    return list(found.values())
