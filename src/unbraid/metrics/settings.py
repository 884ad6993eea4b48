"""Settings of a metric by name, and ranges of counts and seeds."""

import sys
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

from unbraid.config import Config
from unbraid.config.annotations import short_name
from unbraid.config.digest import source_digest
from unbraid.errors import SpecError

# Smallest and largest value of each count. Larger values would take days or exceed the memory.
SIZES: dict[str, tuple[float, float]] = {
    "num_bins": (2, 100_000),
    "normalize_bins": (2, 100_000),
    "num_samples": (2, 10**8),
    "num_draws": (1, 10**6),
    "k": (1, 10**6),
    "num_train": (1, 10**8),
    "num_test": (1, 10**8),
    "num_trees": (1, 10**5),
    "max_depth": (1, 10**4),
    "num_top": (1, 10**8),
    "pairs_per_point": (1, 10**6),
    "batch_size": (2, 10**6),
}
NOT_NEGATIVE = (0.0, sys.float_info.max)
"""Range of finite numbers >= 0."""


def check_sizes(config: Config, ranges: Mapping[str, tuple[float, float]] | None = None) -> None:
    """Raises SpecError if a seed, a count, or a setting in `ranges` is outside its range."""
    name, limits = type(config).__name__, SIZES | dict(ranges or {})
    for field in fields(config):
        value = getattr(config, field.name)
        if field.name == "seed":
            check_seed(f"{name}: seed", value)
        elif field.name in limits and value is not None:
            least, most = limits[field.name]
            if not least <= value <= most:
                usual = "" if field.default is None else f" (the default is {field.default:,})"
                expected = f"{least:g} or more" if most == sys.float_info.max else f"{least:,} to {most:,}"
                raise SpecError(f"{name}: {field.name} is {value}; expected {expected}{usual}. Change {field.name}.")


def settings_of(config: Config) -> dict[str, Any]:
    """Returns all settings by name. A nested config is replaced by its name and its settings.

    For classes outside unbraid, the setting `source` is a digest of the source code, so that different versions have
    different settings.
    """
    found: dict[str, Any] = {}
    nested: dict[str, Any] = {}
    for field in fields(config):
        value = getattr(config, field.name)
        if is_dataclass(value):
            nested |= {field.name: short_name(value).replace("-", "_")} | vars(value)
        else:
            found[field.name] = value
    source = source_digest(config)
    return found | nested | ({} if source is None else {"source": source})


def check_seed(where: str, seed: Any) -> None:
    """Raises SpecError unless the seed is an integer from 0 to 2**63 - 1."""
    if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or not 0 <= seed <= 2**63 - 1:
        raise SpecError(f"{where} is {seed!r}; expected an integer from 0 to 2**63 - 1. Pass e.g. 0.")


def sklearn_seed(seed: int) -> int:
    """Returns the seed modulo 2^32, because scikit-learn does not support larger seeds."""
    return seed % 2**32
