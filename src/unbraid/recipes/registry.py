"""The namespace is the registry: what a folder of the package exports can be named."""

import dataclasses
import inspect
import sys
from typing import Any

from unbraid.names import kebab_case
from unbraid.recipes.annotations import kinds_of
from unbraid.source.kept_modules import split_name


def choices(base: type) -> dict[str, Any]:
    """Returns every concrete recipe of this kind that the folder of the kind exports, by the name that one types."""
    folder = sys.modules[public_path(base).rpartition(".")[0]]
    found = {cls for cls in vars(folder).values() if is_recipe_class(cls, base)}
    return {kebab_case(cls, base): cls for cls in sorted(found, key=lambda cls: cls.__name__)}


def short_name(recipe: Any) -> str:
    """Returns what a recipe is called among those of its kind: `gaussian` for GaussianLatents. The kind is the abstract
    class furthest up.
    """
    kinds = [base for base in type(recipe).__mro__[1:] if inspect.isabstract(base)]
    return kebab_case(type(recipe), kinds[-1] if kinds else None)


def public_path(cls: type) -> str:
    """Returns the import path under which the folder of its kind exports the class: `unbraid.objectives.VAE`, not
    `unbraid.objectives.vae.VAE`.

    Nor `unbraid.VAE`: which names the top of the package repeats may change, and digests must not change with them.
    """
    folder, name = split_name(cls.__module__)
    parts = name.split(".")
    for depth in range(min(2, len(parts)), len(parts) + 1):
        module = sys.modules.get(".".join(([folder] if folder else []) + parts[:depth]))
        if module is not None and vars(module).get(cls.__name__) is cls:
            return ".".join([*parts[:depth], cls.__name__])
    return f"{name}.{cls.__qualname__}"


def is_recipe_class(cls: Any, annotation: Any) -> bool:
    """Returns whether this is a concrete class of recipes that the annotation allows."""
    is_allowed = inspect.isclass(cls) and issubclass(cls, kinds_of(annotation))
    return is_allowed and dataclasses.is_dataclass(cls) and not inspect.isabstract(cls)
