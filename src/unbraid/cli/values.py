"""What is typed after a flag, turned into what the field of a dataclass wants.

A recipe inside a value, such as a schedule in place of a number, is its name with its fields after colons, in their
order: `linear:0:4`. A field that is left empty or out has its default. Entries of a list are separated by commas; lists
in a list, and recipes with lists in them, by semicolons.
"""

import dataclasses
import inspect
import types
import typing
from collections.abc import Iterable, Sequence
from typing import Any

from unbraid.errors import SpecError
from unbraid.names import suggestion
from unbraid.runs.recipes import alternatives, choices, describe, short_name

_WORDS = {int: "INTEGER", float: "NUMBER", str: "TEXT", bool: "true|false"}
_TRUTH = {"true": True, "false": False}


def parse_each(text: str, annotation: Any, flag: str) -> list[Any]:
    """The values to try: one, or, where a number is wanted, as many as there are between commas."""
    texts = [part.strip() for part in text.split(",")] if float in alternatives(annotation) else [text]
    values = [parse(part, annotation, flag) for part in texts]
    if len(set(map(repr, values))) < len(values):
        raise SpecError(f"{flag} is {text!r}, which names a value twice. Give each once.")
    return values


def parse(text: str, annotation: Any, flag: str) -> Any:
    """One value of the annotated type, or an error that says what was expected."""
    kinds = alternatives(annotation)
    # First: a text could be anything, "none" included.
    if types.NoneType in kinds and text.lower() == "none":
        return None
    for kind in kinds:
        try:
            return _parse_as(text, kind, flag)
        except ValueError:
            continue
    literals = [
        str(value) for kind in kinds if typing.get_origin(kind) is typing.Literal for value in typing.get_args(kind)
    ]
    raise SpecError(
        f"{flag} is {text!r}. {suggestion(text, literals)}"
        if literals
        else f"{flag} is {text!r}; expected {expected(annotation)}."
    )


def placeholder(annotation: Any) -> str:
    """What stands for the value in the help: NUMBER, or the words to choose from."""
    kinds = [kind for kind in alternatives(annotation) if kind is not types.NoneType]
    return "|".join(_placeholder(kind) for kind in kinds)


def expected(annotation: Any) -> str:
    """What may be typed, in words."""
    for kind in alternatives(annotation):
        if typing.get_origin(kind) is tuple:
            item = typing.get_args(kind)[0]
            return (
                f"{expected(item)}, or several separated by "
                f"{'semicolons' if typing.get_origin(item) is tuple else 'commas'}"
            )
    words = [_recipe_in_words(kind) if is_recipe_kind(kind) else describe(kind) for kind in alternatives(annotation)]
    return " or ".join(words).replace("nothing (null)", "none")


def is_recipe_kind(kind: Any) -> bool:
    """Whether recipes of this kind are chosen by name."""
    return inspect.isclass(kind) and inspect.isabstract(kind)


def shown(value: Any) -> str:
    """A value as one would type it."""
    if isinstance(value, (tuple, list)):
        entries = [shown(item) for item in value]
        is_nested = any(isinstance(item, (tuple, list)) for item in value) or any("," in entry for entry in entries)
        return (";" if is_nested else ",").join(entries)
    if dataclasses.is_dataclass(value):
        return _shown_recipe(value)
    if value is None or isinstance(value, bool):
        return str(value).lower()
    return f"{value:g}" if isinstance(value, float) else str(value)


def _parse_as(text: str, kind: Any, flag: str) -> Any:
    if typing.get_origin(kind) is typing.Literal:
        # A word of several parts may be typed with dashes, as flags are.
        return _only(value for value in typing.get_args(kind) if str(value) in (text, text.replace("-", "_")))
    if is_recipe_kind(kind):
        return _parse_recipe(text, kind, flag)
    if typing.get_origin(kind) is tuple:
        item = typing.get_args(kind)[0]
        # A semicolon can only separate recipes, of which some field holds commas.
        is_nested = typing.get_origin(item) is tuple or (is_recipe_kind(item) and ";" in text)
        parts = [part.strip() for part in text.split(";" if is_nested else ",")]
        try:
            return tuple(parse(part, item, flag) for part in parts)
        except SpecError:
            # What is wrong with a recipe is more than that it was expected.
            if is_recipe_kind(item):
                raise
            raise ValueError from None
    if kind is bool:
        return _only(value for word, value in _TRUTH.items() if word == text.lower())
    if kind in (int, float, str) and text:
        return kind(text)
    raise ValueError


def _parse_recipe(text: str, kind: type, flag: str) -> Any:
    """The recipe that is named before the first colon, with the fields that follow."""
    typed, *texts = text.split(":")
    name, valid = typed.lower().replace("_", "-"), choices(kind)
    if name not in valid:
        if not texts:
            raise ValueError
        raise SpecError(f"{flag} is {text!r}. {suggestion(name, valid)}")
    cls = valid[name]
    fields, hints = dataclasses.fields(cls), typing.get_type_hints(cls)
    required = [field.name for field in fields if field.default is field.default_factory is dataclasses.MISSING]
    given = {field.name: part.strip() for field, part in zip(fields, texts, strict=False) if part.strip()}
    if len(texts) > len(fields) or not given.keys() >= set(required):
        takes = ":".join([name, *(field.name.upper() for field in fields)])
        raise SpecError(
            f"{flag} is {text!r}; expected {takes}"
            + (f", of which {', '.join(required)} must be given." if required else ".")
        )
    return cls(**{field: parse(part, hints[field], f"{field} in {flag} {text}") for field, part in given.items()})


def _recipe_in_words(kind: type) -> str:
    return f"one of {', '.join(choices(kind))} with its fields after colons"


def _shown_recipe(recipe: Any) -> str:
    """Its name, and its fields up to the last that is not at its default."""
    values = [(getattr(recipe, field.name), _default(field)) for field in dataclasses.fields(recipe)]
    telling = max((place for place, (value, default) in enumerate(values, start=1) if value != default), default=0)
    return ":".join([short_name(recipe), *(shown(value) for value, _ in values[:telling])])


def _default(field: dataclasses.Field[Any]) -> Any:
    return field.default if field.default_factory is dataclasses.MISSING else field.default_factory()


def _only(found: Iterable[Any]) -> Any:
    values: Sequence[Any] = list(found)
    if len(values) != 1:
        raise ValueError
    return values[0]


def _placeholder(kind: Any) -> str:
    if typing.get_origin(kind) is typing.Literal:
        return "|".join(map(str, typing.get_args(kind)))
    if typing.get_origin(kind) is tuple:
        item = typing.get_args(kind)[0]
        return _placeholder(item) + (";..." if typing.get_origin(item) is tuple else ",...")
    if is_recipe_kind(kind):
        return str(kind.__name__).upper()
    return _WORDS.get(kind, "VALUE")
