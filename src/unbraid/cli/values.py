"""What is typed after a flag: one value or several, and the word that stands for it in the help."""

import types
import typing
from typing import Any

from unbraid.errors import SpecError
from unbraid.recipes.annotations import alternatives, is_kind
from unbraid.recipes.text import parse, split

_WORDS = {int: "INTEGER", float: "NUMBER", str: "TEXT", bool: "true|false"}


def parse_each(text: str, annotation: Any, flag: str) -> list[Any]:
    """Returns the values to try: one, or, where a number is wanted, as many as there are between commas."""
    texts = split(text, ",") if float in alternatives(annotation) else [text]
    values = [parse(part, annotation, flag) for part in texts]
    if len(set(map(repr, values))) < len(values):
        raise SpecError(f"{flag} is {text!r}, which names a value twice. Give each once.")
    return values


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
