"""Short reprs of records with tensors, long tuples or long texts."""

import dataclasses
from collections.abc import Mapping
from typing import Any

_MOST_ENTRIES, _MOST_LETTERS, _MOST_BYTES = 4, 160, 1_900


def short_repr(record: Any) -> str:
    """Returns the name and the fields of a dataclass, with shapes of tensors and the first entries of long values."""
    fields = (field for field in dataclasses.fields(record) if field.repr)
    inner = ", ".join(f"{field.name}={_short(getattr(record, field.name))}" for field in fields)
    return _cut(f"{type(record).__name__}({inner})", _MOST_BYTES)


def _short(value: Any) -> str:
    if hasattr(value, "shape") and hasattr(value, "dtype"):
        return f"{type(value).__name__}(shape={tuple(value.shape)}, dtype={value.dtype})"
    if isinstance(value, Mapping):
        return (
            f"{{{_entries([f'{key!r}: {_short(each)}' for key, each in list(value.items())[:_MOST_ENTRIES]], value)}}}"
        )
    if isinstance(value, list | tuple | set | frozenset) and len(value) > _MOST_ENTRIES:
        return f"({_entries([_short(each) for each in list(value)[:_MOST_ENTRIES]], value)})"
    if isinstance(value, list | tuple) and value:
        return f"({', '.join(map(_short, value))}{',' * (len(value) == 1)})"
    return _cut(repr(value), _MOST_LETTERS)


def _entries(shown: list[str], value: Any) -> str:
    return ", ".join([*shown, *([f"... {len(value) - len(shown)} more"] if len(value) > len(shown) else [])])


def _cut(text: str, most: int) -> str:
    content = text.encode()
    return text if len(content) <= most else content[: most - 4].decode(errors="ignore") + " ..."
