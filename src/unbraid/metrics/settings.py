"""The settings of a metric by name, and their sizes."""

from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

from unbraid.config import Config
from unbraid.config.annotations import short_name
from unbraid.config.digest import source_digest
from unbraid.errors import SpecError

# The least and the most of each count: with less there is nothing to measure, with more a metric would run for days or
# out of memory, a slip of the hand.
SIZES: dict[str, tuple[int, int]] = {
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


def check_sizes(config: Config) -> None:
    """Raises if a seed is out of range, or a count is too small or too large."""
    name = type(config).__name__
    for field in fields(config):
        value = getattr(config, field.name)
        if field.name == "seed":
            check_seed(f"{name}: seed", value)
        elif field.name in SIZES and value is not None:
            least, most = SIZES[field.name]
            if not least <= value <= most:
                usual = "" if field.default is None else f" (the default is {field.default:,})"
                raise SpecError(f"{name}: {field.name} is {value}; expected {least:,} to {most:,}{usual}.")


def settings_of(config: Config) -> dict[str, Any]:
    """Returns every setting by name. A config among them is told by its name, and its own settings follow. Of classes
    that are not of unbraid, `source` tells how they were written: scores of two states of them are two scores.
    """
    source = source_digest(config)
    values = {field.name: getattr(config, field.name) for field in fields(config)}
    configs = {name: value for name, value in values.items() if is_dataclass(value)}
    return (
        {name: value for name, value in values.items() if name not in configs}
        | {
            key: setting
            for name, inner in configs.items()
            for key, setting in ({name: short_name(inner).replace("-", "_")} | vars(inner)).items()
        }
        | ({} if source is None else {"source": source})
    )


def check_seed(where: str, seed: Any) -> None:
    """Raises if this cannot start the draws."""
    if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or not 0 <= seed <= 2**63 - 1:
        raise SpecError(f"{where} is {seed!r}; expected a whole number from 0 to 2**63 - 1.")


def sklearn_seed(seed: int) -> int:
    """Returns the seed in 32 bits, which is all that scikit-learn takes."""
    return seed % 2**32
