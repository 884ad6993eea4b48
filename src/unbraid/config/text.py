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
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Literal, final

from unbraid._internal.names import suggestion
from unbraid.config.annotations import (
    alternatives,
    default_of,
    describe,
    entries_of,
    hints_of,
    is_kind,
    kinds_of,
    words_of,
)
from unbraid.config.json_form import required_fields
from unbraid.config.registry import choices, short_name
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
    words = [str(word) for word in words_of(annotation)]
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
    if typing.get_origin(kind) is Literal:
        return _only(word for word in typing.get_args(kind) if str(word) in (text, _with_underscores(text)))
    if is_kind(kind):
        return _parse_config(_unwrapped(text), kind, where)
    if typing.get_origin(kind) is tuple:
        return _parse_list(_unwrapped(text), typing.get_args(kind)[0], where)
    if kind is bool:
        return _only(value for word, value in _TRUTH.items() if word == text.lower())
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
    cls = _named(name, kind)
    if cls is None:
        if not settings:
            raise ValueError
        raise SpecError(f"{where} is {text!r}. {suggestion(_with_dashes(name), choices(kind))}")
    # The innermost is last: each is a value of the one before it.
    nested = [_Unfinished(cls, f"{where} is {text!r}")]
    for setting in settings:
        place, of_field, value = _belongs_to(nested, setting)
        _close(nested, down_to=place)
        hint = nested[-1].hints[of_field]
        inner = _config_class(value, hint)
        if inner is None:
            nested[-1].given[of_field] = parse(_unwrapped(value), hint, f"{of_field} in {where} {text!r}")
        else:
            nested.append(_Unfinished(inner, nested[-1].whole, of_field))
    _close(nested, down_to=0)
    return nested[0].finished()


def _close(nested: "list[_Unfinished]", down_to: int) -> None:
    """Builds the inner configs, which have all their settings, as values of the ones around them."""
    while len(nested) > down_to + 1:
        inner = nested.pop()
        nested[-1].given[inner.of_field] = inner.finished()


@final
@dataclass
class _Unfinished:
    """A config with settings still to come, and its field in the config around it."""

    cls: type
    whole: str
    of_field: str = ""
    given: dict[str, Any] = field(default_factory=dict)

    @property
    def hints(self) -> dict[str, Any]:
        return hints_of(self.cls)

    def finished(self) -> Any:
        if missing := [name for name in required_fields(self.cls) if name not in self.given]:
            raise SpecError(
                f"{self.whole}: {self.cls.__name__} lacks {', '.join(missing)}. Its fields are {', '.join(self.hints)}."
            )
        return self.cls(**self.given)

    def field_of(self, setting: str) -> str | None:
        """Returns the field of a setting, from `field=` or from one of its choices."""
        name, _ = _name_and_value(setting)
        if name:
            return name if name in self.hints and name not in self.given else None
        named = _fields_by_choice(self.cls).get(_with_underscores(setting))
        return named if named not in self.given else None

    def next_field(self) -> str | None:
        by_place = (field.name for field in dataclasses.fields(self.cls) if not field.kw_only)
        return next((name for name in by_place if name not in self.given), None)


def _belongs_to(nested: list[_Unfinished], setting: str) -> tuple[int, str, str]:
    """Returns the index of the nested config that a setting belongs to, its field, and the value."""
    name, value = _name_and_value(setting)
    for place in reversed(range(len(nested))):
        if found := nested[place].field_of(setting):
            return place, found, value
    for place in reversed(range(len(nested))):
        if not name and (found := nested[place].next_field()) and _suits(value, nested[place].hints[found]):
            return place, found, value
    innermost = nested[-1]
    if name in innermost.given:
        raise SpecError(f"{innermost.whole}, which sets {name} twice. Give it once.")
    if name:
        raise SpecError(
            f"{innermost.whole}: {innermost.cls.__name__} has no setting {name!r}. {suggestion(name, innermost.hints)}"
        )
    unset = {name: hint for name, hint in innermost.hints.items() if name not in innermost.given}
    if named := [f"{name}={setting}" for name, hint in unset.items() if _parses(setting, hint)]:
        raise SpecError(
            f"{innermost.whole}: {innermost.cls.__name__} has no place for {setting!r} without the name of its field. "
            f"Write {' or '.join(named)}."
        )
    words = _fields_by_choice(innermost.cls)
    raise SpecError(
        f"{innermost.whole}: {innermost.cls.__name__} has no place for {setting!r}. "
        + (f"{suggestion(_with_underscores(setting), words)} " if words else "")
        + f"Its fields ({', '.join(innermost.hints) or 'none'}) are set by field=value."
    )


def _suits(value: str, annotation: Any) -> bool:
    """Returns whether the value is valid, or may be a misspelled choice of a field with choices."""
    if (not words_of(annotation) and not kinds_of(annotation)) or _config_class(value, annotation):
        return True
    return _parses(value, annotation)


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
        for word in {*map(str, words_of(hint)), *configs}:
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


def _named(name: str, kind: type) -> type | None:
    return choices(kind).get(_with_dashes(name))


def _config_class(name: str, annotation: Any) -> type | None:
    """Returns the config class of this name that the annotation allows."""
    return next((cls for kind in kinds_of(annotation) if (cls := _named(name, kind))), None)


def _only(found: Iterable[Any]) -> Any:
    values = list(found)
    if len(values) != 1:
        raise ValueError
    return values[0]


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
