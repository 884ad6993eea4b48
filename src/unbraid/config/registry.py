"""Names of config classes: the exports of a folder are its registry."""

import dataclasses
import inspect
import sys
from typing import Any

from unbraid._internal.names import kebab_case
from unbraid.config.annotations import kinds_of


def choices(base: type) -> dict[str, Any]:
    """Returns every concrete config of this kind that its folder exports, by its name on the command line."""
    folder = sys.modules[public_path(base).rpartition(".")[0]]
    found = {cls for cls in vars(folder).values() if is_config_class(cls, base)}
    return {kebab_case(cls, base): cls for cls in sorted(found, key=lambda cls: cls.__name__)}


def short_name(config: Any) -> str:
    """Returns the name of a config within its kind: `gaussian` for GaussianLatents.

    The kind is its topmost abstract base class.
    """
    kinds = [base for base in type(config).__mro__[1:] if inspect.isabstract(base)]
    return kebab_case(type(config), kinds[-1] if kinds else None)


def public_path(cls: type) -> str:
    """Returns the import path of the class in the folder that exports it.

    This is `unbraid.objectives.VAE`, not `unbraid.objectives.vae.VAE`, and not `unbraid.VAE`: digests must not change
    with the names that the top of the package exports.
    """
    parts = cls.__module__.split(".")
    for depth in range(min(2, len(parts)), len(parts) + 1):
        module = sys.modules.get(".".join(parts[:depth]))
        if module is not None and vars(module).get(cls.__name__) is cls:
            return ".".join([*parts[:depth], cls.__name__])
    return f"{cls.__module__}.{cls.__qualname__}"


def is_config_class(cls: Any, annotation: Any) -> bool:
    """Returns whether this is a concrete class of configs that the annotation allows."""
    is_allowed = inspect.isclass(cls) and issubclass(cls, kinds_of(annotation))
    return is_allowed and dataclasses.is_dataclass(cls) and not inspect.isabstract(cls)
