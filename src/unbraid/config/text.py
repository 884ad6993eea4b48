"""Configs as text: the grammar of metrics, objectives, schedules and all other configs on the command line.

A config is written as its name, followed by its settings after colons.

- `field=value` sets a field: `dci:num_trees=50`, `beta-vae:beta=4`.
- A value without a field name sets the only field that allows this choice (`dci:boosted_trees`), else the first field
  without a value: `linear:0:4`. Keyword-only fields always need their name: `beta-tcvae:beta=4`.
- A value may be a config. All later settings belong to this config: `beta-vae:beta=linear:0:4`.
- Commas separate the entries of a list: `mlp:hidden=128,64`. Semicolons separate entries that contain commas.
- Parentheses enclose a value: `beta-tcvae:beta=(linear:0:4):gamma=2`, `grouped:parts=(gaussian:3,concrete:5)`.

Numbers are written as in Python, booleans as `true` and `false`, None as `none`. Dashes may replace underscores.
"""

import dataclasses
import re
import types
import typing
from collections.abc import Collection
from itertools import pairwise
from typing import Any, Literal

from unbraid._internal.names import suggestion
from unbraid.config.annotations import (
    alternatives,
    choices,
    default_of,
    describe,
    entries_of,
    hints_of,
    is_kind,
    kinds_of,
    literals_of,
    required_fields,
    short_name,
)
from unbraid.errors import SpecError

_TRUTH = {"true": True, "false": False}


def parse(text: str, annotation: Any, where: str) -> Any:
    """Parses text as the annotated type. `where` names the source of the text in error messages."""
    kinds = alternatives(annotation)
    # None comes first, because "none" is also a valid string.
    if types.NoneType in kinds and text.lower() == "none":
        return None
    for kind in kinds:
        try:
            return _parse_as(text, kind, where)
        except ValueError:
            continue
    configs = kinds_of(annotation) or kinds_of(entries_of(annotation))
    words = [*map(str, literals_of(annotation)), *(name for kind in configs for name in choices(kind))]
    others = [describe(kind) for kind in alternatives(annotation) if not (literals_of(kind) or is_kind(kind))]
    expected = " or ".join([*others, *(["a name"] if words else [])]).replace("None", "none")
    advice = f" {suggestion(text, words)}" if words else ""
    raise SpecError(f"{where} is {text!r}; expected {expected}.{advice}")


def split(text: str, separator: str) -> list[str]:
    """Splits a text at the separators outside parentheses."""
    ends, depth = [-1], 0
    for place, character in enumerate(text):
        depth += (character == "(") - (character == ")")
        if character == separator and depth == 0:
            ends.append(place)
    return [text[start + 1 : end].strip() for start, end in pairwise([*ends, len(text)])]


def text_of(value: Any) -> str:
    """Converts a value to text that `parse` converts back."""
    if isinstance(value, (tuple, list)):
        entries = [text_of(item) for item in value]
        is_nested = any(isinstance(item, (tuple, list)) for item in value) or any("," in entry for entry in entries)
        return (";" if is_nested else ",").join(entries)
    if dataclasses.is_dataclass(value):
        return _text_of_config(value)
    if value is None or isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return short if float(short := f"{value:g}") == value else repr(value)
    return str(value)


def _parse_as(text: str, kind: Any, where: str) -> Any:
    """Parses text as one alternative of an annotation. Raises a ValueError for text of another type."""
    if is_kind(kind):
        return _parse_config(_unwrapped(text), kind, where)
    if typing.get_origin(kind) is tuple:
        return _parse_list(_unwrapped(text), typing.get_args(kind)[0], where)
    if typing.get_origin(kind) is Literal:
        for word in typing.get_args(kind):
            if str(word) in (text, _with_underscores(text)):
                return word
    if kind is bool and text.lower() in _TRUTH:
        return _TRUTH[text.lower()]
    if kind in (int, float, str) and text:
        return kind(text)
    raise ValueError


def _parse_list(text: str, entries: Any, where: str) -> tuple[Any, ...]:
    # A semicolon separates only lists, or configs with commas in a field.
    is_nested = entries_of(entries) is not None or (kinds_of(entries) and len(split(text, ";")) > 1)
    try:
        return tuple(parse(part, entries, where) for part in split(text, ";" if is_nested else ","))
    except SpecError:
        # The error of a config is more precise than "expected a config".
        if kinds_of(entries):
            raise
        raise ValueError from None


def _parse_config(text: str, kind: type, where: str) -> Any:
    """Creates a config from text: the name before the first colon, and settings separated by colons."""
    name, *settings = split(text, ":")
    cls = choices(kind).get(_with_dashes(name))
    if cls is None:
        if not settings:
            raise ValueError
        raise SpecError(f"{where} is {text!r}. {suggestion(_with_dashes(name), choices(kind))}")
    whole, given = f"{where} {text!r}", dict[str, Any]()
    while settings:
        field, value = _field_and_value(cls, settings.pop(0), given, whole)
        annotation = hints_of(cls)[field]
        if any(_with_dashes(value) in choices(each) for each in kinds_of(annotation)):
            given[field] = parse(":".join([value, *settings]), annotation, f"{field} in {where}")
            break
        given[field] = parse(_unwrapped(value), annotation, f"{field} in {whole}")
    if missing := [field for field in required_fields(cls) if field not in given]:
        fields = ", ".join(hints_of(cls))
        raise SpecError(f"{whole}: {cls.__name__} lacks {', '.join(missing)}. Add {missing[0]}=... (fields: {fields}).")
    return cls(**given)


def _field_and_value(cls: type, setting: str, given: Collection[str], whole: str) -> tuple[str, str]:
    """Returns the field name of a setting, and the value of the setting as text.

    A setting without a field name sets the only field that allows this choice, else the next field without a value.
    """
    hints, words = hints_of(cls), _fields_by_choice(cls)
    by_place = [field.name for field in dataclasses.fields(cls) if not field.kw_only and field.name not in given]
    if match := re.fullmatch(r"([A-Za-z][\w-]*)\s*=\s*(.*)", setting, re.DOTALL):
        name, value = _with_underscores(match[1]), match[2]
    else:
        value, word = setting, _with_underscores(_unwrapped(setting).partition(":")[0])
        if word not in words and not by_place:
            advice = f"{suggestion(word, words)} " if words else ""
            raise SpecError(
                f"{whole}: {cls.__name__} has no field for {setting!r}. {advice}Set a field by its name: "
                f"{', '.join(hints) or 'none'}. Put a nested config in parentheses."
            )
        name = words.get(word) or by_place[0]
    if name not in hints:
        raise SpecError(
            f"{whole}: {cls.__name__} has no field {name!r}. {suggestion(name, hints)} Put a nested config in "
            "parentheses."
        )
    if name in given:
        raise SpecError(f"{whole}: {name} is set twice. Set it once.")
    return name, value


def _fields_by_choice(cls: type) -> dict[str, str]:
    """Maps each choice (a literal or the name of a config) that only one field allows to this field."""
    found: dict[str, list[str]] = {}
    for name, hint in hints_of(cls).items():
        configs = [_with_underscores(each) for kind in kinds_of(hint) for each in choices(kind)]
        for word in {*map(str, literals_of(hint)), *configs}:
            found.setdefault(word, []).append(name)
    return {word: names[0] for word, names in found.items() if len(names) == 1}


def _text_of_config(config: Any) -> str:
    """Converts a config to its name and the fields that differ from their default.

    A field with a config comes last, because later settings would belong to that config.
    """
    cls, required = type(config), required_fields(type(config))
    values = {
        field.name: value
        for field in dataclasses.fields(cls)
        if (value := getattr(config, field.name)) != default_of(field)
    }
    configs = [name for name, value in values.items() if dataclasses.is_dataclass(value)]
    parts = [short_name(config)]
    for name in sorted(values, key=lambda name: name in configs):
        text = text_of(values[name])
        if set(text) & set(":,;()=") and name not in configs[-1:]:
            text = f"({text})"
        only_field = _fields_by_choice(cls).get(_with_underscores(text.partition(":")[0]))
        is_positional = only_field is None and name in required and isinstance(values[name], (int, float))
        parts.append(text if only_field == name or is_positional else f"{name}={text}")
    return ":".join(parts)


def _with_dashes(name: str) -> str:
    return name.strip().lower().replace("_", "-")


def _with_underscores(word: str) -> str:
    return word.strip().replace("-", "_")


def _unwrapped(text: str) -> str:
    """Removes enclosing parentheses from a text."""
    inside, depth = text[1:-1], 0
    for character in inside:
        depth += (character == "(") - (character == ")")
        if depth < 0:
            return text
    return inside if text[:1] == "(" and text[-1:] == ")" else text
