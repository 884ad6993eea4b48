"""The settings of a metric, checked and brought into one form."""

import types
import typing
from dataclasses import fields
from typing import Any

import numpy as np

from unbraid.errors import SpecError

# Beyond these a metric would run for days or out of memory: a slip of the hand, to be told at once.
LARGEST: dict[str, int] = {
    "seed": 2**63 - 1,
    "num_bins": 100_000,
    "normalise_bins": 100_000,
    "num_samples": 10**8,
    "num_train": 10**8,
    "num_test": 10**8,
    "num_trees": 10**5,
    "max_depth": 10**4,
    "pairs_per_point": 10**6,
    "batch_size": 10**6,
}

_KINDS: dict[Any, str] = {int: "a whole number", float: "a number", bool: "True or False", types.NoneType: "None"}


def check_settings(metric: Any) -> None:
    """Refuse a field of the wrong type, a seed out of range and an absurd size. numpy's numbers are stored as Python's,
    whole ones as floats where due.

    Choices among words are left to the metric, which knows what to say of them.
    """
    name, hints = type(metric).__name__, typing.get_type_hints(type(metric))
    for field in fields(metric):
        value = setting_of(f"{name}: {field.name}", getattr(metric, field.name), hints[field.name])
        check_size(name, field.name, value)
        object.__setattr__(metric, field.name, value)


def check_size(name: str, setting: str, value: Any) -> None:
    """Refuse a seed out of range, and more of anything than there can be."""
    if not isinstance(value, int) or setting not in LARGEST:
        return
    if setting == "seed":
        check_seed(f"{name}: seed", value)
    elif value > LARGEST[setting]:
        raise SpecError(f"{name}: {setting} is {value}; expected at most {LARGEST[setting]:,}.")


def check_seed(where: str, seed: Any) -> None:
    """Refuse what cannot start the draws."""
    if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or not 0 <= seed <= LARGEST["seed"]:
        raise SpecError(f"{where} is {seed!r}; expected a whole number from 0 to 2**63 - 1.")


def setting_of(where: str, value: Any, hint: Any) -> Any:
    """The value as a plain Python one of the type that the hint names; hints that hold choices among words take
    everything.
    """
    kinds = typing.get_args(hint) if typing.get_origin(hint) in (typing.Union, types.UnionType) else (hint,)
    if not all(kind in _KINDS for kind in kinds):
        return value
    plain = value.item() if isinstance(value, np.generic) else value
    if type(plain) in kinds:
        return plain
    if float in kinds and type(plain) is int:
        try:
            return float(plain)
        except OverflowError:
            pass
    raise SpecError(f"{where} is {value!r}; expected {' or '.join(_KINDS[kind] for kind in kinds)}.")


def sklearn_seed(seed: int) -> int:
    """The seed in 32 bits, which is all that scikit-learn takes."""
    return seed % 2**32
