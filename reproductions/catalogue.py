"""Reads the papers: a TOML file with what is data, and a module of the same name with what is code.

`[item.NAME]` has the fields of an item. What is trained on a dataset, the fields of `Data`, is looked up in four places:
`on.KEY` of the item, the item, `[data.KEY]` of the paper, and its `[defaults]`; settings of the paper and of the item
are joined. An item that is `like` another has the fields of that one which it lacks.
"""

import functools
import importlib
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

from reproductions.item import SCALES, Code, Data, Item, Paper, Printed
from reproductions.rows import filled
from unbraid import Scoring
from unbraid.errors import SpecError

NAMES = ("chen2018", "kumar2017", "split2020", "esmaeili2018", "do2020")
_OF_DATA = {field.name for field in fields(Data)} - {"seconds", "notes"}
_OF_ITEM = {field.name for field in fields(Item)} - {"code", "module"} | _OF_DATA | {"like"}
_OF_STUDY = ("keep", "best_by", "members_per_fleet")


@functools.cache
def paper(name: str) -> Paper:
    """Returns the paper of this id. No other is imported."""
    content = tomllib.loads(Path(__file__).with_name(f"{name}.toml").read_text(encoding="utf-8"))
    module = importlib.import_module(f"reproductions.{name}")
    code: dict[str, Code] = dict(module.CODE)
    known: dict[str, Any] = {}
    for key, given in content["item"].items():
        like = given.get("like", key)
        known[key] = {**known.get(like, {}), **given, "id": key}
        code.setdefault(key, code.get(like, Code()))
    if missing := code.keys() - known.keys():
        raise SpecError(f"{name}.py has code of {', '.join(sorted(missing))}, which {name}.toml has not.")
    head = {key: content[key] for key in ("authors", "title", "reference")}
    items = tuple(_item(name, each, content, code[key], module) for key, each in known.items())
    return Paper(name, **head, items=items, without_items=content.get("without_items", ""))


def papers() -> dict[str, Paper]:
    """Returns every paper by its id."""
    return {name: paper(name) for name in NAMES}


def items() -> dict[str, Item]:
    """Returns every item by its id."""
    return {item.id: item for each in papers().values() for item in each.items}


def find_items(names: Iterable[str]) -> list[Item]:
    """Returns the items of these names, each once: the id of an item, or that of a paper, which means all of it."""
    found: dict[str, Item] = {}
    for name in names:
        of = name.partition("/")[0]
        known = {item.id: item for item in paper(of).items} if of in NAMES else {}
        if name not in known and (name != of or not known):
            raise SpecError(f"There is no paper or item {name!r}. List them: python -m reproductions list")
        found |= {name: known[name]} if name in known else known
    return list(found.values())


def _item(paper: str, given: Mapping[str, Any], content: Mapping[str, Any], code: Code, module: Any) -> Item:
    if unknown := set(given) - _OF_ITEM - {*_OF_STUDY}:
        raise SpecError(f"{paper}/{given['id']} has the unknown fields {', '.join(sorted(unknown))}.")
    made = {name: value for name, value in given.items() if name in _OF_ITEM - _OF_DATA - {"like"}}
    for name in ("printed", "expected"):
        made[name] = tuple(Printed(*each) for each in given.get(name, ()))
    made |= {name: tuple(given.get(name, ())) for name in ("scores", "claims")}
    on = {key: _data(key, given, content, trains=code.compute is None) for key in given["on"]}
    return Item(**{**made, "id": f"{paper}/{given['id']}", "on": on, "code": code, "module": module})


def _data(key: str, item: Mapping[str, Any], content: Mapping[str, Any], *, trains: bool) -> Data:
    tables, on = content.get("data", {}), item["on"][key]
    of_paper = {name: value for name, value in tables.get(key, {}).items() if trains or name in ("name", "needs")}
    of_paper = {**{name: value for name, value in tables.get(of_paper.get("like"), {}).items() if name not in ("needs", "laptop")}, **of_paper}
    given = {**content.get("defaults", {}), **of_paper, **{name: value for name, value in item.items() if name != "notes"}, **on}
    settings = dict.fromkeys(name for each in (of_paper, item, on) for name in each.get("settings", ()))
    made = {name: value for name, value in given.items() if name in _OF_DATA | {"notes"}}
    made["names"] = {**content.get("names", {}), **of_paper.get("names", {})}
    made["scorings"] = tuple(Scoring(**{k: filled(v, made["names"], "quick") for k, v in each.items()}) for each in given.get("scorings", [{}]))
    made["study"] = {name: given[name] for name in _OF_STUDY if name in given}
    seconds = {scale: float(given[scale]) for scale in SCALES if given.get(scale)}
    return Data(**{**made, "seconds": seconds, "settings": tuple(content.get("choices", {}).get(each, each) for each in settings)})
