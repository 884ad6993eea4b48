"""What is typed after a flag, turned into what the field of a dataclass wants."""

import types
import typing
from collections.abc import Iterable, Sequence
from typing import Any

from unbraid.errors import SpecError
from unbraid.names import suggestion
from unbraid.runs.recipes import alternatives, describe

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
    literals = [str(value) for kind in kinds if typing.get_origin(kind) is typing.Literal for value in typing.get_args(kind)]
    raise SpecError(
        f"{flag} is {text!r}. {suggestion(text, literals)}" if literals else f"{flag} is {text!r}; expected {expected(annotation)}."
    )


def placeholder(annotation: Any) -> str:
    """What stands for the value in the help: NUMBER, or the words to choose from."""
    kinds = [kind for kind in alternatives(annotation) if kind is not types.NoneType]
    return "|".join(_placeholder(kind) for kind in kinds)


def expected(annotation: Any) -> str:
    """What may be typed, in words."""
    for kind in alternatives(annotation):
        if typing.get_origin(kind) is tuple:
            return f"{describe(typing.get_args(kind)[0])}, or several separated by commas"
    return describe(annotation).replace("nothing (null)", "none")


def shown(value: Any) -> str:
    """A value as one would type it."""
    if isinstance(value, (tuple, list)):
        return ",".join(map(shown, value))
    if value is None or isinstance(value, bool):
        return str(value).lower()
    return f"{value:g}" if isinstance(value, float) else str(value)


def _parse_as(text: str, kind: Any, flag: str) -> Any:
    if typing.get_origin(kind) is typing.Literal:
        # A word of several parts may be typed with dashes, as flags are.
        return _only(value for value in typing.get_args(kind) if str(value) in (text, text.replace("-", "_")))
    if typing.get_origin(kind) is tuple:
        item = typing.get_args(kind)[0]
        try:
            return tuple(parse(part.strip(), item, flag) for part in text.split(","))
        except SpecError:
            raise ValueError from None
    if kind is bool:
        return _only(value for word, value in _TRUTH.items() if word == text.lower())
    if kind in (int, float, str) and text:
        return kind(text)
    raise ValueError


def _only(found: Iterable[Any]) -> Any:
    values: Sequence[Any] = list(found)
    if len(values) != 1:
        raise ValueError
    return values[0]


def _placeholder(kind: Any) -> str:
    if typing.get_origin(kind) is typing.Literal:
        return "|".join(map(str, typing.get_args(kind)))
    if typing.get_origin(kind) is tuple:
        return f"{_placeholder(typing.get_args(kind)[0])},..."
    return _WORDS.get(kind, "VALUE")
