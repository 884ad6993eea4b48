"""unbraid learns, measures and shows disentangled representations."""

import importlib
import importlib.util
import pkgutil
from typing import TYPE_CHECKING, Any

from unbraid.version import __version__ as __version__

if TYPE_CHECKING:
    from unbraid.codes import Codes as Codes
    from unbraid.data import DSprites as DSprites
    from unbraid.data import FromArrays as FromArrays
    from unbraid.evaluation.evaluate import evaluate as evaluate
    from unbraid.evaluation.scorecard import Scorecard as Scorecard
    from unbraid.metrics import MIG as MIG
    from unbraid.models import MLP as MLP
    from unbraid.models import Autoencoder as Autoencoder
    from unbraid.models import Conv as Conv
    from unbraid.models.trained.traverse import traverse as traverse
    from unbraid.objectives import VAE as VAE
    from unbraid.objectives import BetaTCVAE as BetaTCVAE
    from unbraid.objectives import BetaVAE as BetaVAE
    from unbraid.report import write_report as write_report
    from unbraid.runs import Run as Run
    from unbraid.runs import RunSpec as RunSpec
    from unbraid.runs.grid import grid as grid
    from unbraid.runs.grid import zipped as zipped
    from unbraid.runs.runs_in import runs_in as runs_in
    from unbraid.training.train import train as train

# Loaded at first use: the command line says how threads wait before torch is loaded, and some need more than the core.
_HOMES = {
    "Codes": "unbraid.codes",
    "DSprites": "unbraid.data",
    "FromArrays": "unbraid.data",
    "MIG": "unbraid.metrics",
    "evaluate": "unbraid.evaluation.evaluate",
    "Scorecard": "unbraid.evaluation.scorecard",
    "MLP": "unbraid.models",
    "Autoencoder": "unbraid.models",
    "Conv": "unbraid.models",
    "traverse": "unbraid.models.trained.traverse",
    "VAE": "unbraid.objectives",
    "BetaTCVAE": "unbraid.objectives",
    "BetaVAE": "unbraid.objectives",
    "write_report": "unbraid.report",
    "Run": "unbraid.runs",
    "RunSpec": "unbraid.runs",
    "grid": "unbraid.runs.grid",
    "zipped": "unbraid.runs.grid",
    "runs_in": "unbraid.runs.runs_in",
    "train": "unbraid.training",
}
__all__ = [*_HOMES, "__version__"]  # noqa: PLE0604 (names, all of them)


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(importlib.import_module(_HOMES[name]), name)
    if not name.startswith("_") and importlib.util.find_spec(f"unbraid.{name}"):
        return importlib.import_module(f"unbraid.{name}")
    if name.startswith("_"):
        raise AttributeError(f"module 'unbraid' has no attribute {name!r}")
    from unbraid.names import suggestion

    raise AttributeError(f"module 'unbraid' has no attribute {name!r}. {suggestion(name, __dir__())}")


def __dir__() -> list[str]:
    """Returns every public name, and the modules that hold the others."""
    return sorted({*__all__, *(module.name for module in pkgutil.iter_modules(__path__) if module.name[0] != "_")})
