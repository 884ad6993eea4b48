"""Training, evaluation and visualization of disentangled representations."""

import importlib
import importlib.util
import pkgutil
import re
from typing import TYPE_CHECKING, Any

from unbraid._internal.cpu import choose_waiting
from unbraid._internal.version import __version__ as __version__

choose_waiting()

if TYPE_CHECKING:  # imported at first use, so that `import unbraid` is fast and needs only the core dependencies
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
    from unbraid.models.trained.traverse import traverse as traverse
    from unbraid.objectives import *  # noqa: F403 (every name)
    from unbraid.show.report import write_report as write_report
    from unbraid.training.runs import Run as Run
    from unbraid.training.runs import RunSpec as RunSpec
    from unbraid.training.runs.grid import grid as grid
    from unbraid.training.runs.grid import zipped as zipped
    from unbraid.training.runs.runs_in import runs_in as runs_in
    from unbraid.training.train import train as train


def _homes(module: str) -> dict[str, str]:
    """Maps each name exported by a module's `__init__.py` to its module, without executing the file."""
    found: dict[str, str] = {}
    for home, name in re.findall(r"^ *from (unbraid[\w.]*) import (\*|\w+)", _source(module), re.MULTILINE):
        found |= _homes(home) if name == "*" else {name: home}
    return found


def _source(module: str) -> str:
    spec = importlib.util.find_spec(module) if module != __name__ else __spec__
    loader: Any = spec and spec.loader
    return str(loader.get_source(module))


_HOMES = {name: home for name, home in _homes(__name__).items() if "._internal" not in home}
__all__ = [*_HOMES, "__version__"]  # noqa: PLE0604 (all entries are strings)


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(importlib.import_module(_HOMES[name]), name)
    if name.isidentifier() and not name.startswith("_") and importlib.util.find_spec(f"unbraid.{name}"):
        return importlib.import_module(f"unbraid.{name}")
    if name.startswith("_"):
        raise AttributeError(f"module 'unbraid' has no attribute {name!r}")
    from unbraid._internal.names import suggestion

    raise AttributeError(f"module 'unbraid' has no attribute {name!r}. {suggestion(name, __dir__())}")


def __dir__() -> list[str]:
    """Returns all public names and public modules."""
    folders = pkgutil.iter_modules(__spec__.submodule_search_locations)
    return sorted({*__all__, *(folder.name for folder in folders if folder.name[0] != "_")})
