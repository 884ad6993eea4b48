"""Every paper and every item by its id."""

import functools
import importlib
from collections.abc import Iterable

from unbraid.errors import SpecError
from unbraid.names import suggestion
from unbraid.papers.item import Item, Paper

_MODULES = ("chen2018", "kumar2017", "split2020", "esmaeili2018", "do2020")  # in the order of pages


@functools.cache
def papers() -> dict[str, Paper]:
    """Returns every paper by its id."""
    found: dict[str, Paper] = {}
    for name in _MODULES:
        paper: Paper = importlib.import_module(f"unbraid.papers.{name}").PAPER
        found[paper.id] = paper
    return found


def items() -> dict[str, Item]:
    """Returns every item by its id, paper after paper."""
    return {item.id: item for paper in papers().values() for item in paper.items}


def find_items(names: Iterable[str]) -> list[Item]:
    """Returns the items of these names, each once: the id of an item, or that of a paper, which is all of it."""
    every, found = items(), dict[str, Item]()
    for name in names:
        if name in papers():
            found |= {item.id: item for item in papers()[name].items}
        elif name in every:
            found[name] = every[name]
        else:
            raise SpecError(f"There is no paper or item {name!r}. {suggestion(name, [*papers(), *every])}")
    return list(found.values())
