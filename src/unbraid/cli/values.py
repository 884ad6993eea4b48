"""What is typed after a flag: one value or several, and the word that stands for it in the help."""

import types
import typing
from collections.abc import Sequence
from typing import Any

from unbraid.config.annotations import alternatives, entries_of, is_kind
from unbraid.config.text import parse, split
from unbraid.errors import SpecError

_WORDS = {int: "INTEGER", float: "NUMBER", str: "TEXT", bool: "true|false"}


def parse_each(text: str, annotation: Any, flag: str) -> list[Any]:
    """Returns the values to try: as many as there are between commas, or one where the value is a text or a list."""
    values = [parse(part, annotation, flag) for part in (split(text, ",") if sweeps(annotation) else [text])]
    refuse_twice(values, text, flag)
    return values


def sweeps(annotation: Any) -> bool:
    """Returns whether a comma separates values to try.

    In a text it may be a letter, and in a list it separates the entries.
    """
    return str not in alternatives(annotation) and entries_of(annotation) is None


def refuse_twice(values: Sequence[Any], text: str, flag: str) -> None:
    if len(set(map(repr, values))) < len(values):
        raise SpecError(f"{flag} is {text!r}, which names a value twice. Give each once.")


def placeholder(annotation: Any) -> str:
    """Returns what stands for the value in the help: NUMBER, or the words to choose from."""
    kinds = [kind for kind in alternatives(annotation) if kind is not types.NoneType]
    return "|".join(_placeholder(kind) for kind in kinds)


def _placeholder(kind: Any) -> str:
    if typing.get_origin(kind) is typing.Literal:
        return "|".join(map(str, typing.get_args(kind)))
    if typing.get_origin(kind) is tuple:
        item = typing.get_args(kind)[0]
        return _placeholder(item) + (";..." if typing.get_origin(item) is tuple else ",...")
    return str(kind.__name__).upper() if is_kind(kind) else _WORDS.get(kind, "VALUE")
