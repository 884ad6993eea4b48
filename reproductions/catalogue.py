"""Reads the papers: a TOML file with what is data, and a module of the same name with what is code."""

import functools
import importlib
import tomllib
from collections.abc import Iterable
from dataclasses import fields
from pathlib import Path
from typing import Any

from reproductions.item import SCALES, Code, Data, Item, Paper, Printed
from unbraid.errors import SpecError

NAMES = ("chen2018", "kumar2017", "split2020", "esmaeili2018", "do2020")
_FIELDS = {field.name for field in fields(Item)} - {"code"} | {"like"}


@functools.cache
def paper(name: str) -> Paper:
    """Returns the paper of this id. No other is imported."""
    content = tomllib.loads(Path(__file__).with_name(f"{name}.toml").read_text(encoding="utf-8"))
    code: dict[str, Code] = dict(importlib.import_module(f"reproductions.{name}").CODE)
    known: dict[str, Any] = {}
    for key, given in content["item"].items():
        like = given.get("like", key)
        known[key] = {**known.get(like, {}), **given, "id": key}
        if like in code:
            code.setdefault(key, code[like])
    if set(known) != set(code):
        raise SpecError(f"{name}.toml and {name}.py have different items: {', '.join(sorted(set(known) ^ set(code)))}.")
    choices, names = content.get("choices", {}), content.get("names", {})
    items = tuple(_item(name, {**each, "names": names}, choices, code) for each in known.values())
    head = {key: content[key] for key in ("authors", "title", "reference")}
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


def _item(paper: str, content: dict[str, Any], choices: dict[str, str], code: dict[str, Code]) -> Item:
    if unknown := set(content) - _FIELDS:
        raise SpecError(f"{paper}/{content['id']} has the unknown fields {', '.join(sorted(unknown))}.")
    on = {
        key: Data(each["name"], {scale: float(each[scale]) for scale in SCALES if scale in each}, each.get("needs", ""), each.get("notes", ""))
        for key, each in content["on"].items()
    }
    made = {name: value for name, value in content.items() if name != "like"}
    for name in ("printed", "expected"):
        made[name] = tuple(Printed(*each) for each in content.get(name, ()))
    made["settings"] = tuple(choices.get(each, each) for each in content.get("settings", ()))
    for name in ("columns", "claims", "controls"):
        made[name] = tuple(content.get(name, ()))
    return Item(**{**made, "id": f"{paper}/{content['id']}", "on": on, "code": code[content["id"]]})
