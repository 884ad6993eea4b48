"""Ways into other libraries: scikit-learn, torchmetrics and TensorBoard. Each is imported when it is asked for."""

from typing import TYPE_CHECKING, Any

from unbraid.errors import SpecError
from unbraid.interop.codes_scorer import CodesScorer as CodesScorer
from unbraid.interop.tensorboard_run import write_tensorboard as write_tensorboard

if TYPE_CHECKING:
    from unbraid.interop.codes_metric import CodesMetric as CodesMetric

__all__ = ["CodesMetric", "CodesScorer", "write_tensorboard"]


def __getattr__(name: str) -> Any:
    if name != "CodesMetric":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        from unbraid.interop.codes_metric import CodesMetric
    except ImportError as error:
        raise SpecError(
            f"CodesMetric needs torchmetrics ({error}). Install it: pip install 'unbraid[torchmetrics]'."
        ) from None
    return CodesMetric
