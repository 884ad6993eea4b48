"""Finds every class that a user can choose, so that one conformance test covers those that are still to be written."""

import dataclasses
import functools
import importlib
import importlib.util
import inspect
import pkgutil
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import yaml

import unbraid
from unbraid._internal.names import kebab_case

ROOT = Path(__file__).parent.parent
# Modules that import a package which unbraid itself does not need, by the package.
_NEEDING = {
    "ray": "unbraid.studies.cluster.ray_workers",
    "torchmetrics": "unbraid.integrations.codes_metric",
    "triton": "unbraid.information.gaussian_mixture_kernels",
}


@functools.cache
def every_module() -> tuple[ModuleType, ...]:
    """Every module of the package, imported. A module that cannot be imported is an error, not a gap in the tests."""

    def refuse(name: str) -> None:
        raise ImportError(f"{name} could not be imported, so what it defines would go untested.")

    apart = {"unbraid.__main__"}  # importing it runs the command line
    apart |= {module for package, module in _NEEDING.items() if importlib.util.find_spec(package) is None}
    found = pkgutil.walk_packages(unbraid.__path__, "unbraid.", onerror=refuse)
    return tuple(importlib.import_module(each.name) for each in found if each.name not in apart)


def concrete_subclasses(base: type) -> list[type]:
    """Every class of the package that is a `base` and can be constructed, by name."""
    every_module()
    found = {cls for cls in _descendants(base) if _is_offered(cls) and not inspect.isabstract(cls)}
    return sorted(found, key=lambda cls: cls.__qualname__)


def _is_offered(cls: type) -> bool:
    return cls.__module__.startswith("unbraid.")


def _descendants(base: type) -> Iterator[type]:
    for child in base.__subclasses__():
        yield child
        yield from _descendants(child)


def check_conforms(cls: type, *, docs: str, short_file: bool = False) -> None:
    """What is asked of every dataset, metric and objective, whatever it computes.

    `docs` is the folder of its page under docs/. With `short_file` the file may be named after the last word:
    FromArrays in arrays.py.
    """
    _, folder, *inside, stem = cls.__module__.split(".")
    name = kebab_case(cls)

    exported = importlib.import_module(f"unbraid.{folder}")
    assert getattr(exported, cls.__name__, None) is cls, (
        f"add `from {cls.__module__} import {cls.__name__} as {cls.__name__}` to {folder}/__init__.py"
    )

    assert dataclasses.is_dataclass(cls), f"make {cls.__name__} a dataclass: its settings are its fields"
    assert _params(cls).frozen, f"make {cls.__name__} frozen: a changed copy is made with dataclasses.replace"
    # A dataclass without a docstring gets its own signature as one.
    assert not (inspect.getdoc(cls) or f"{cls.__name__}(").startswith(f"{cls.__name__}("), (
        f"say in a docstring what {cls.__name__} is"
    )

    short, file = name.replace("-", ""), stem.removesuffix("_variants").replace("_", "")
    assert file == short or (short_file and short.endswith(file)), (
        f"{cls.__name__} is looked for in {name.replace('-', '_')}.py, not in {stem}.py"
    )
    mirror = ROOT.joinpath("tests", folder, *inside, f"test_{stem}.py")
    assert mirror.is_file(), f"{cls.__name__} needs its tests in {mirror.relative_to(ROOT)}"

    page = f"{docs}/{name}.md"
    assert (ROOT / "docs" / page).is_file(), f"{cls.__name__} needs its page, docs/{page}"


def _params(cls: Any) -> Any:
    return cls.__dataclass_params__


def pages_in_nav() -> set[str]:
    def leaves(node: Any) -> Iterator[str]:
        if isinstance(node, str):
            yield node
        else:
            for child in node if isinstance(node, list) else node.values():
                yield from leaves(child)

    return set(leaves(yaml.safe_load((ROOT / "mkdocs.yml").read_text())["nav"]))
