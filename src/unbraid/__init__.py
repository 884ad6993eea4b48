"""unbraid learns, measures and shows disentangled representations."""

import importlib
from typing import TYPE_CHECKING, Any

from unbraid.codes import Codes as Codes
from unbraid.data import DSprites as DSprites
from unbraid.data import FromArrays as FromArrays
from unbraid.metrics import MIG as MIG
from unbraid.metrics.evaluate import evaluate as evaluate
from unbraid.metrics.scorecard import Scorecard as Scorecard
from unbraid.models import MLP as MLP
from unbraid.models import Autoencoder as Autoencoder
from unbraid.models import Conv as Conv
from unbraid.objectives import VAE as VAE
from unbraid.objectives import BetaTCVAE as BetaTCVAE
from unbraid.objectives import BetaVAE as BetaVAE
from unbraid.version import __version__ as __version__

if TYPE_CHECKING:
    from unbraid.report import write_report as write_report
    from unbraid.runs import Run as Run
    from unbraid.runs import RunSpec as RunSpec
    from unbraid.training.train import train as train

# Loaded at first use: they need more than the core does (safetensors, jinja2).
_LOADED_LATER = {
    "Run": "unbraid.runs",
    "RunSpec": "unbraid.runs",
    "train": "unbraid.training",
    "write_report": "unbraid.report",
}


def __getattr__(name: str) -> Any:
    if name in _LOADED_LATER:
        return getattr(importlib.import_module(_LOADED_LATER[name]), name)
    raise AttributeError(f"module 'unbraid' has no attribute {name!r}")
