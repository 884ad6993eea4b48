"""Adapters to other libraries: scikit-learn, torchmetrics, TensorBoard, ONNX and the Hugging Face Hub.

Each is imported when it is used for the first time.
"""

from typing import TYPE_CHECKING, Any

from unbraid.errors import SpecError

if TYPE_CHECKING:
    from unbraid.integrations.codes_metric import CodesMetric as CodesMetric
    from unbraid.integrations.codes_scorer import CodesScorer as CodesScorer
    from unbraid.integrations.tensorboard_run import write_tensorboard as write_tensorboard

__all__ = ["CodesMetric", "CodesScorer", "write_tensorboard"]


def __getattr__(name: str) -> Any:
    if name == "CodesScorer":
        from unbraid.integrations.codes_scorer import CodesScorer

        return CodesScorer
    if name == "write_tensorboard":
        from unbraid.integrations.tensorboard_run import write_tensorboard

        return write_tensorboard
    if name != "CodesMetric":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        from unbraid.integrations.codes_metric import CodesMetric
    except ImportError as error:
        raise SpecError(
            f"CodesMetric needs torchmetrics ({error}). Install it: pip install 'unbraid[torchmetrics]'."
        ) from None
    return CodesMetric
