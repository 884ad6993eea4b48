"""Marks as slow what `make test` leaves out; CI runs all."""

from collections.abc import Iterable
from typing import Any

import pytest


def slow_but(fast: list[Any], values: Iterable[Any]) -> list[Any]:
    """The values to parametrize with: those that are not in `fast` are marked slow."""
    return [
        value
        if value in fast
        else pytest.param(*(value if isinstance(value, tuple) else [value]), marks=pytest.mark.slow)
        for value in values
    ]
