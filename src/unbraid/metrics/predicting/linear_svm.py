"""Linear support vector machines, fitted one at a time."""

import threading
from typing import Any

from jaxtyping import Float64, Int64
from torch import Tensor

from unbraid.metrics.predicting.convergence import quietly
from unbraid.metrics.settings import sklearn_seed

# liblinear has one random number generator for the whole process, which every fit seeds, and fits without Python's
# lock: two fits at once would draw from each other's numbers.
_ONE_AT_A_TIME = threading.Lock()


def fitted_svm(
    features: Float64[Tensor, "row feature"], labels: Int64[Tensor, " row"], seed: int, **settings: Any
) -> Any:
    """Returns a linear SVM, fitted with C = 0.01 and these other settings of scikit-learn's LinearSVC."""
    from sklearn.svm import LinearSVC

    model = LinearSVC(C=0.01, random_state=sklearn_seed(seed), **settings)
    with _ONE_AT_A_TIME, quietly():
        return model.fit(features.numpy(), labels.numpy())
