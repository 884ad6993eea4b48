"""Flags from the fields of dataclasses."""

import dataclasses
import inspect
import itertools
import re
from collections.abc import Iterable, Mapping
from dataclasses import MISSING, fields
from typing import Any

from unbraid._internal.names import kebab_case
from unbraid.cli.flags import Flag, Holder
from unbraid.cli.values import placeholder
from unbraid.config import text_of
from unbraid.config.annotations import alternatives, choices, default_of, field_docs, hints_of, kinds_of


def flags_of(cls: type, prefix: str = "", name: str = "", start: Any = None, at: str = "") -> dict[str, Flag]:
    """Returns every flag that the dataclass and the configs it may hold give rise to, by path.

    Defaults are those of `start`, if there is one. A class that no flag names goes with the one around it, which is
    named at the path `at`.
    """
    found: dict[str, Flag] = {}
    hints, docs = hints_of(cls), field_docs(cls)
    for of_class in fields(cls):
        path, annotation = prefix + of_class.name, hints[of_class.name]
        default = getattr(start, of_class.name) if type(start) is cls else default_of(of_class)
        found |= flags_of_kind(annotation, path, default, name, docs.get(of_class.name, ""), at)
    return found


def flags_of_kind(
    annotation: Any, path: str, default: Any = MISSING, name: str = "", meaning: str = "", at: str = ""
) -> dict[str, Flag]:
    """Returns the flags of one field: its own, and those below it."""
    kind = kind_of(annotation)
    if kind is None:
        return {path: Flag(path, (Holder(name, placeholder(annotation), _default_text(default), meaning, at=at),))}
    if not inspect.isabstract(kind):
        return flags_of(kind, f"{path}.", name, default, (at or path.rpartition(".")[0]) if name else "")
    named = choices(kind)
    taken = _default_text(default) if default in (MISSING, None) else kebab_case(type(default), kind)
    lines = {each: first_sentence(cls) for each, cls in named.items()}
    return _merged(
        [
            {path: Flag(path, (Holder(name, "NAME", taken, meaning, lines, at),))},
            *(flags_of(cls, f"{path}.", each, default) for each, cls in named.items()),
        ]
    )


def kind_of(annotation: Any) -> type | None:
    """Returns the kind of config that the field holds, if it holds one.

    A number that may follow a schedule is a number.
    """
    return None if float in alternatives(annotation) else next(iter(kinds_of(annotation)), None)


def first_sentence(cls: type) -> str:
    """Returns the first sentence of the docstring, which describes the class."""
    words = " ".join((inspect.getdoc(cls) or "").split())
    sentence = re.match(r".+?(?:(?<!et al)\.|\?)(?= [A-Z`]|$)", words)
    return sentence[0] if sentence else words


def _default_text(default: Any) -> str | None:
    """Returns the default as one would type it; empty where it is nothing, None where the field has no default."""
    if default is MISSING:
        return None
    return "" if default in ("", (), None) else text_of(default)


def _merged(tables: Iterable[Mapping[str, Flag]]) -> dict[str, Flag]:
    """Returns all flags; those of one path become one, held by all classes that have the field."""
    merged: dict[str, Flag] = {}
    for path, flag in itertools.chain.from_iterable(table.items() for table in tables):
        before = merged.get(path)
        if before is not None:
            new = tuple(holder for holder in flag.holders if holder not in before.holders)
            flag = dataclasses.replace(before, holders=before.holders + new)
        merged[path] = flag
    return merged
