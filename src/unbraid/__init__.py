"""unbraid learns, measures and shows disentangled representations."""

import importlib
import importlib.util
import pkgutil
from types import ModuleType
from typing import TYPE_CHECKING, Any

from unbraid._internal.cpu import choose_waiting
from unbraid._internal.version import __version__ as __version__

choose_waiting()

if TYPE_CHECKING:
    from unbraid.codes import Codes as Codes
    from unbraid.datasets import DSprites as DSprites
    from unbraid.datasets import FromArrays as FromArrays
    from unbraid.metrics import *  # noqa: F403 (every name)
    from unbraid.metrics.evaluate import evaluate as evaluate
    from unbraid.metrics.scorecard import Scorecard as Scorecard
    from unbraid.metrics.scoring import Scoring as Scoring
    from unbraid.models import MLP as MLP
    from unbraid.models import Autoencoder as Autoencoder
    from unbraid.models import Conv as Conv
    from unbraid.models import wrap as wrap
    from unbraid.models.trained.traverse import traverse as traverse
    from unbraid.objectives import *  # noqa: F403 (every name)
    from unbraid.show.report import write_report as write_report
    from unbraid.training.runs import Run as Run
    from unbraid.training.runs import RunSpec as RunSpec
    from unbraid.training.runs.grid import grid as grid
    from unbraid.training.runs.grid import zipped as zipped
    from unbraid.training.runs.runs_in import runs_in as runs_in
    from unbraid.training.train import train as train


# Imported at first use, so that `import unbraid` is fast and needs only the core dependencies.
_HOMES = {
    "Codes": "unbraid.codes",
    "DSprites": "unbraid.datasets",
    "FromArrays": "unbraid.datasets",
    "evaluate": "unbraid.metrics.evaluate",
    "Scorecard": "unbraid.metrics.scorecard",
    "Scoring": "unbraid.metrics.scoring",
    "MLP": "unbraid.models",
    "Autoencoder": "unbraid.models",
    "Conv": "unbraid.models",
    "wrap": "unbraid.models",
    "traverse": "unbraid.models.trained.traverse",
    "write_report": "unbraid.show.report",
    "Run": "unbraid.training.runs",
    "RunSpec": "unbraid.training.runs",
    "grid": "unbraid.training.runs.grid",
    "zipped": "unbraid.training.runs.grid",
    "runs_in": "unbraid.training.runs.runs_in",
    "train": "unbraid.training",
}
_WHOLE = ("unbraid.metrics", "unbraid.objectives")
"""Modules of which every name is also a name of the package."""
__all__ = [*_HOMES, "__version__"]  # noqa: PLE0604 (names, all of them)


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(importlib.import_module(_HOMES[name]), name)
    if name.isidentifier() and not name.startswith("_") and importlib.util.find_spec(f"unbraid.{name}"):
        return importlib.import_module(f"unbraid.{name}")
    if name.startswith("_"):
        raise AttributeError(f"module 'unbraid' has no attribute {name!r}")
    for module in _WHOLE:
        if name in (found := _exports(module)):
            return found[name]
    from unbraid._internal.names import suggestion

    raise AttributeError(f"module 'unbraid' has no attribute {name!r}. {suggestion(name, __dir__())}")


def __dir__() -> list[str]:
    """Returns every public name and every public module."""
    modules = {
        module.name for module in pkgutil.iter_modules(__spec__.submodule_search_locations) if module.name[0] != "_"
    }
    return sorted({*__all__, *modules}.union(*map(_exports, _WHOLE)))


def _exports(module: str) -> dict[str, Any]:
    """Returns the public names of a module, except its submodules."""
    named = vars(importlib.import_module(module))
    return {name: value for name, value in named.items() if name[0] != "_" and not isinstance(value, ModuleType)}
