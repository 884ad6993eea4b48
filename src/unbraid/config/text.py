"""Configs as text: the grammar of metrics, objectives, schedules and all other configs on the command line.

A config is its name with its settings after colons.

- `field=value` sets a field: `dci:num_trees=50`, `beta-vae:beta=4`.
- A value alone sets the only field with this choice (`dci:boosted_trees`), else the first field that has no value yet:
  `linear:0:4`. Keyword-only fields need their name here too: `beta-tcvae:beta=4`.
- A value may be a config: `beta-vae:beta=linear:0:4`. A setting after it belongs to this config if it has such a field,
  and else to the config around it: `beta-tcvae:beta=linear:0:4:gamma=2`.
- The entries of a list are separated by commas, and by semicolons if they have commas in them: `mlp:hidden=128,64`.
- Round brackets keep a value together: `grouped:parts=(gaussian:3,concrete:5)`.

Numbers are written as in Python, booleans as `true` and `false`, None as `none`; dashes may replace underscores.
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
    short_name,
)
from unbraid.config.json_form import required_fields
from unbraid.errors import SpecError

_TRUTH = {"true": True, "false": False}


def parse(text: str, annotation: Any, where: str) -> Any:
    """Returns the value of a text in the annotated type. `where` is the place of the text in errors."""
    kinds = alternatives(annotation)
    # First, because "none" is a valid text too.
    if types.NoneType in kinds and text.lower() == "none":
        return None
    for kind in kinds:
        try:
            return _parse_as(text, kind, where)
        except ValueError:
            continue
    words = [str(word) for word in literals_of(annotation)]
    advice = suggestion(text, words) if words else f"expected {expected(annotation)}."
    raise SpecError(f"{where} is {text!r}{'. ' if words else '; '}{advice}")


def split(text: str, separator: str) -> list[str]:
    """Returns the parts of a text between separators that are not in brackets."""
    ends, depth = [-1], 0
    for place, character in enumerate(text):
        depth += (character == "(") - (character == ")")
        if character == separator and depth == 0:
            ends.append(place)
    return [text[start + 1 : end].strip() for start, end in pairwise([*ends, len(text)])]


def text_of(value: Any) -> str:
    """Returns a value as text that `parse` reads back."""
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


def expected(annotation: Any) -> str:
    """Returns a description of the texts that are valid."""
    entries = entries_of(annotation)
    if entries is not None:
        separators = "semicolons" if entries_of(entries) is not None else "commas"
        return f"{expected(entries)}, or several separated by {separators}"
    words = [
        f"one of {', '.join(choices(kind))} with its fields after colons" if is_kind(kind) else describe(kind)
        for kind in alternatives(annotation)
    ]
    return " or ".join(words).replace("None", "none")


def _parse_as(text: str, kind: Any, where: str) -> Any:
    """Returns the value in one alternative of an annotation. Raises a ValueError if the text is not of this kind."""
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
    # A semicolon can only separate lists, and configs of which some field holds commas.
    is_nested = entries_of(entries) is not None or (kinds_of(entries) and len(split(text, ";")) > 1)
    try:
        return tuple(parse(part, entries, where) for part in split(text, ";" if is_nested else ","))
    except SpecError:
        # The error of a config is more precise than "expected a config".
        if kinds_of(entries):
            raise
        raise ValueError from None


def _parse_config(text: str, kind: type, where: str) -> Any:
    """Returns the config with the name before the first colon and the settings after it."""
    name, *settings = split(text, ":")
    cls = choices(kind).get(_with_dashes(name))
    if cls is None:
        if not settings:
            raise ValueError
        raise SpecError(f"{where} is {text!r}. {suggestion(_with_dashes(name), choices(kind))}")
    whole, begun = f"{where} {text!r}", list[_Begun]()
    built = _built(cls, settings, whole, begun)
    if settings:
        raise _no_place(begun[-1], settings[0], whole)
    return built


_Begun = tuple[type, dict[str, Any]]
"""The class of a config whose settings are being read, and the values of its fields so far."""


def _built(cls: type, settings: list[str], whole: str, begun: list[_Begun]) -> Any:
    """Returns the config of the settings that belong to it, which are removed from the front of the list.

    The rest belongs to the config around it. `whole` is the place and the text of the outermost config, for errors.
    """
    hints, given = hints_of(cls), dict[str, Any]()
    begun.append((cls, given))
    while settings and (name := _field_of(cls, settings[0], given)):
        _, value = _name_and_value(settings.pop(0))
        classes = {short: each for kind in kinds_of(hints[name]) for short, each in choices(kind).items()}
        if inner := classes.get(_with_dashes(value)):
            given[name] = _built(inner, settings, whole, begun)
        else:
            given[name] = parse(_unwrapped(value), hints[name], f"{name} in {whole}")
    if missing := [name for name in required_fields(cls) if name not in given]:
        if settings and "=" not in settings[0]:
            raise _no_place((cls, given), settings[0], whole)
        raise SpecError(f"{whole}: {cls.__name__} lacks {', '.join(missing)}. Its fields are {', '.join(hints)}.")
    return cls(**given)


def _field_of(cls: type, setting: str, given: Collection[str]) -> str | None:
    """Returns the field of a setting: named in it, the only one with this choice, or the next one without a value."""
    hints = hints_of(cls)
    name, value = _name_and_value(setting)
    name = name or _fields_by_choice(cls).get(_with_underscores(setting), "")
    if name:
        return name if name in hints and name not in given else None
    following = _next_field(cls, given)
    return following if following and _parses(value, hints[following]) else None


def _next_field(cls: type, given: Collection[str]) -> str | None:
    by_place = (field.name for field in dataclasses.fields(cls) if not field.kw_only)
    return next((name for name in by_place if name not in given), None)


def _no_place(begun: _Begun, setting: str, whole: str) -> SpecError:
    """Returns the error for a setting that belongs to no field, or for a value that its field does not allow."""
    cls, given = begun
    hints, words, (name, value) = hints_of(cls), _fields_by_choice(cls), _name_and_value(setting)
    if name in given:
        return SpecError(f"{whole}: {name} is set twice. Give it once.")
    if name:
        return SpecError(f"{whole}: {cls.__name__} has no setting {name!r}. {suggestion(name, hints)}")
    if (following := _next_field(cls, given)) and not words:
        parse(value, hints[following], f"{following} in {whole}")
    advice = f"{suggestion(_with_underscores(setting), words)} " if words else ""
    return SpecError(
        f"{whole}: {cls.__name__} has no place for {setting!r}. {advice}Set a field by its name: "
        f"{', '.join(hints) or 'none'}."
    )


def _parses(value: str, annotation: Any) -> bool:
    try:
        parse(_unwrapped(value), annotation, "")
    except SpecError:
        return False
    return True


def _fields_by_choice(cls: type) -> dict[str, str]:
    """Returns the field of each choice (a literal or the name of a config) that only one field has."""
    found: dict[str, list[str]] = {}
    for name, hint in hints_of(cls).items():
        configs = [_with_underscores(each) for kind in kinds_of(hint) for each in choices(kind)]
        for word in {*map(str, literals_of(hint)), *configs}:
            found.setdefault(word, []).append(name)
    return {word: names[0] for word, names in found.items() if len(names) == 1}


def _text_of_config(config: Any) -> str:
    """Returns the name and the fields that differ from their default.

    The last config among them comes at the end, because settings after it would belong to it.
    """
    cls, required = type(config), required_fields(type(config))
    values = {
        of_class.name: value
        for of_class in dataclasses.fields(cls)
        if (value := getattr(config, of_class.name)) != default_of(of_class)
    }
    configs = [name for name, value in values.items() if dataclasses.is_dataclass(value)]
    parts = [short_name(config)]
    for name in sorted(values, key=lambda name: name in configs):
        text = text_of(values[name])
        if set(text) & set(":,;()=") and name not in configs[-1:]:
            text = f"({text})"
        by_itself = _fields_by_choice(cls).get(_with_underscores(text.partition(":")[0]))
        is_number_in_place = by_itself is None and name in required and isinstance(values[name], (int, float))
        parts.append(text if by_itself == name or is_number_in_place else f"{name}={text}")
    return ":".join(parts)


def _name_and_value(setting: str) -> tuple[str, str]:
    """Returns the field and the value of `field=value`; of a value alone, an empty name and the value."""
    match = re.fullmatch(r"([A-Za-z][\w-]*)\s*=\s*(.*)", setting, re.DOTALL)
    return (_with_underscores(match[1]), match[2]) if match else ("", setting)


def _with_dashes(name: str) -> str:
    return name.strip().lower().replace("_", "-")


def _with_underscores(word: str) -> str:
    return word.strip().replace("-", "_")


def _unwrapped(text: str) -> str:
    """Returns a text without the brackets around all of it."""
    inside, depth = text[1:-1], 0
    for character in inside:
        depth += (character == "(") - (character == ")")
        if depth < 0:
            return text
    return inside if text[:1] == "(" and text[-1:] == ")" else text
