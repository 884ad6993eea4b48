"""Adapters to other libraries: scikit-learn, torchmetrics, TensorBoard, ONNX and the Hugging Face Hub.

Each adapter is imported on first use.
"""

import importlib
from typing import TYPE_CHECKING, Any

from unbraid.errors import SpecError

if TYPE_CHECKING:
    from unbraid.integrations.codes_metric import CodesMetric as CodesMetric
    from unbraid.integrations.codes_scorer import CodesScorer as CodesScorer
    from unbraid.integrations.export import export_onnx as export_onnx
    from unbraid.integrations.export import export_torch as export_torch
    from unbraid.integrations.onnx_encoder import OnnxEncoder as OnnxEncoder
    from unbraid.integrations.tensorboard_run import TensorBoardListener as TensorBoardListener
    from unbraid.integrations.tensorboard_run import write_tensorboard as write_tensorboard

_FILES = {
    "CodesMetric": "codes_metric",
    "CodesScorer": "codes_scorer",
    "OnnxEncoder": "onnx_encoder",
    "TensorBoardListener": "tensorboard_run",
    "export_onnx": "export",
    "export_torch": "export",
    "write_tensorboard": "tensorboard_run",
}
__all__ = [
    "CodesMetric",
    "CodesScorer",
    "OnnxEncoder",
    "TensorBoardListener",
    "export_onnx",
    "export_torch",
    "write_tensorboard",
]


def __getattr__(name: str) -> Any:
    if name not in _FILES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        return getattr(importlib.import_module(f"{__name__}.{_FILES[name]}"), name)
    except ImportError as error:
        raise SpecError(
            f"{name} requires torchmetrics ({error}). Install it: pip install 'unbraid[torchmetrics]'."
        ) from None
